"""The candidates of one depth as a search ranks them: by probability, by a draw, or by perturbed probability.

Each function returns options best score first; of equals, the lowest beam, then the lowest token id.
Shapes: R open beams, V vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.beam.candidates import Candidates, extensions, likeliest
from decoding.beam.pruning import PruningRule, prune
from decoding.beam.stochastic import conditional_gumbels, gumbel_top_k
from decoding.samplers import gumbel_noise
from decoding.trace import Cut


@dataclass(frozen=True, slots=True)
class Option:
    """One candidate: `parent` the row of its beam, `local` and `logprob` in nats, `score` what it is ranked by.

    `cut`: what took it out before the ranking, a rule or the draw.
    """

    parent: int
    token: int
    local: float
    logprob: float
    score: float
    cut: Cut | None = None


def by_probability(
    law: Tensor,
    sums: Sequence[float],
    count: int,
    rules: Sequence[PruningRule] = (),
    taken: Counter[int] | None = None,
    penalty: float = 0.0,
) -> list[Option]:
    """The `count` best extensions of each beam by log-probability, those that a rule cuts marked.

    `taken` counts the tokens that earlier groups took at this depth: score = logprob - penalty * taken[token].
    Vijayakumar et al. 2016, Diverse Beam Search, arXiv:1610.02424, section 3 (Hamming diversity).
    """
    taken = taken or Counter()
    count += len(taken)  # each penalised token can make room for one more
    candidates = extensions(law, torch.tensor(sums, dtype=law.dtype), count)
    cuts = prune(candidates, rules) if rules else [None] * len(candidates.tokens)
    tokens, logprobs = candidates.tokens.tolist(), candidates.logprobs.tolist()
    scores = [logprob - penalty * taken[token] for token, logprob in zip(tokens, logprobs, strict=True)]
    return _ranked(candidates, scores, cuts)


def by_draw(
    law: Tensor, sums: Sequence[float], count: int, pool: int, rules: Sequence[PruningRule], uniforms: Tensor
) -> list[Option]:
    """`pool` extensions drawn without replacement in proportion to exp(logprob), and the `count` best of each beam.

    `uniforms` (m,) for the m extensions of probability above 0. An undrawn one is cut as `not_drawn`, by its
    perturbed score against the lowest drawn. The rules judge those drawn.
    """
    law = law.cpu()
    total = law + torch.tensor(sums, dtype=law.dtype)[:, None]
    places = (total.flatten() > -torch.inf).nonzero().squeeze(-1)
    alive = total.flatten()[places]
    drawn, scores = gumbel_top_k(alive, pool, uniforms)
    candidates, at = _with_best(law, total, count, places, drawn)
    perturbed = alive[at].double() + gumbel_noise(uniforms[at])
    lowest = float(scores[-1])
    cuts: list[Cut | None] = [Cut("not_drawn", value, lowest) for value in perturbed.tolist()]
    chosen = torch.isin(at, drawn)
    columns = (candidates.parents, candidates.tokens, candidates.logprobs, candidates.local)
    judged = prune(Candidates(*(column[chosen] for column in columns)), rules)
    for place, cut in zip(chosen.nonzero().squeeze(-1).tolist(), judged, strict=True):
        cuts[place] = cut
    return _ranked(candidates, candidates.logprobs.tolist(), cuts)


def _with_best(law: Tensor, total: Tensor, count: int, places: Tensor, drawn: Tensor) -> tuple[Candidates, Tensor]:
    """The extensions drawn and the `count` best of each row, and where they are among `places` (m,) of (R, V)."""
    local, ids = likeliest(law, count)
    size = law.shape[-1]
    best = (ids + size * torch.arange(len(ids))[:, None])[local > -torch.inf]
    flat = torch.cat((places[drawn], best)).unique()
    columns = (total.flatten()[flat].double(), law.flatten()[flat].double())
    return Candidates(flat // size, flat % size, *columns), torch.searchsorted(places, flat)


def by_gumbel(
    law: Tensor, sums: Sequence[float], parents: Sequence[float], count: int, uniforms: Tensor
) -> list[Option]:
    """The `count` best extensions of each beam by perturbed log-probability, whose maximum is the beam's own.

    `parents` (R,): the beams' perturbed scores; `uniforms` (R, V). Kool et al. 2019, arXiv:1903.06059, algorithm 1.
    """
    local = law.cpu().double()
    logprobs = local + torch.tensor(sums, dtype=torch.float64)[:, None]
    rows = zip(logprobs, parents, uniforms, strict=True)
    perturbed = torch.stack([conditional_gumbels(row, parent, noise) for row, parent, noise in rows])
    scores, ids = likeliest(perturbed, count)
    possible = scores > -torch.inf
    where = torch.arange(len(ids))[:, None].expand_as(ids)
    columns = (where, ids, logprobs.gather(-1, ids), local.gather(-1, ids))
    candidates = Candidates(*(column[possible] for column in columns))
    return _ranked(candidates, scores[possible].tolist(), [None] * len(candidates.tokens))


def _ranked(candidates: Candidates, scores: Sequence[float], cuts: Sequence[Cut | None]) -> list[Option]:
    columns = (candidates.parents, candidates.tokens, candidates.local, candidates.logprobs)
    rows = zip(*(column.tolist() for column in columns), scores, cuts, strict=True)
    return sorted((Option(*row) for row in rows), key=lambda option: (-option.score, option.parent, option.token))

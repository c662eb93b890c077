"""Which verifiers keep the target's law: one token drawn many thousand times by each, all draws at once.

p is the target's law of the next token, q the draft's, both processed. n draws, V vocabulary. Every function gives,
from the same uniforms, what `decoding.speculative.verification` gives for one draft of one token.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from decoding import observe
from decoding.effects import expected_variation
from decoding.experiments import batch
from decoding.models.protocol import LanguageModel
from decoding.observe import Law
from decoding.samplers import cumulate
from decoding.sampling import Uniforms, logits_after
from decoding.speculative.drafters import DRAFT, Drafter
from decoding.speculative.values import EmittedLaw, Excess, LawTest
from decoding.speculative.verification import COIN, TARGET, ExactMatch, Lossless, TopK, Typical, Verifier
from decoding.speculative_settings import SpeculativeSettings
from decoding.trace import Token

LEVEL = 0.99
"""How sure it is that fair draws stay below the upper end of the noise."""
ROUNDING = 1e-12
"""Of a sum over a whole vocabulary: what is nearer to the target's law than this is the same."""


def first_laws(
    model: LanguageModel, drafter: Drafter, prompt: Sequence[int], settings: SpeculativeSettings
) -> tuple[Law, Law | None]:
    """p and q of the first new token after a prompt; q is None where nothing is drafted there. Closes the drafter."""
    history = torch.tensor(list(prompt))
    try:
        drafted = drafter.propose(history, 0, 1)
    finally:
        drafter.close()
    target = observe.law_after(logits_after(model, prompt), settings.processors, history)
    return target, drafted.laws[0] if drafted.laws else None


def verifiers(settings: SpeculativeSettings) -> tuple[Verifier, ...]:
    """All four, with the numbers that the settings give the lossy ones."""
    typical = Typical(settings.typical_epsilon, settings.typical_delta)
    return Lossless(), ExactMatch(), TopK(settings.verify_top_k), typical


def accepting(verifier: Verifier, target: Law, draft: Law, ids: Tensor) -> Tensor:
    """The chance (m,) that each of these drafted tokens (m,) is accepted; q > 0 for all of them.

    lossless: min(1, p/q). exact: p, that the target draws the same. top_k, typical: 1 or 0.
    """
    p, q = target.probs(ids), draft.probs(ids)
    if isinstance(verifier, TopK):
        likeliest, _ = observe.ranked(target, verifier.k)
        return ((p > 0) & torch.isin(ids, likeliest)).double()
    if isinstance(verifier, Typical):
        nats = target.entropy * math.log(2)
        return (p > min(verifier.epsilon, verifier.delta * math.exp(-nats))).double()
    return p.clamp(max=1.0) if isinstance(verifier, ExactMatch) else (p / q).clamp(max=1.0)


def emitted(verifier: Verifier, target: Law, draft: Law) -> tuple[Tensor, float]:
    """The exact law (V,) of the token that a rule emits, and the chance that the draft is accepted.

    Summed over all cases: q(x) a(x) for the token x accepted, and what is left of q times the law that the target
    adds from. By exact match every draft leads to what the target drew, so that is p.
    """
    ids = draft.ids(torch.arange(draft.kept_count))
    accepted = draft.probs(ids) * accepting(verifier, target, draft, ids)
    chance = float(accepted.sum())
    if isinstance(verifier, ExactMatch):
        return target.probs(), chance
    added = verifier.rejected(target, draft).probs()
    return (added * (1 - chance)).index_add_(0, ids, accepted), chance


def draw(verifier: Verifier | None, target: Law, draft: Law, uniforms: Tensor) -> Tensor:
    """The token emitted (n,) for each row of uniforms (n, 3): the target's own, the coin, the draft's.

    `verifier`: None for plain sampling, which takes the first of a row alone.
    """
    own = uniforms[:, TARGET].contiguous()
    if verifier is None:
        return _drawn(target, own)
    drafted = _drawn(draft, uniforms[:, DRAFT].contiguous())
    added = _drawn(verifier.rejected(target, draft), own)
    if isinstance(verifier, ExactMatch):
        accepted = added == drafted
    else:
        accepted = uniforms[:, COIN] < accepting(verifier, target, draft, drafted)
    return torch.where(accepted, drafted, added)


def _drawn(of: Law, uniforms: Tensor) -> Tensor:
    """A direct scan of the law, likeliest first, for each uniform."""
    ids, probs = observe.ranked(of)
    return ids[batch.binary(cumulate(probs), uniforms)]


def noise(target: Law, draws: int, level: float = LEVEL) -> tuple[float, float]:
    """The mean total variation of `draws` fair draws, and what it stays below with probability `level` at least.

    The mean is exact; near sqrt(k / (2 pi n)) for k tokens that are equally likely. One draw changed moves the distance
    by 1/n at most, so P(TV - E TV >= t) <= exp(-2 n t^2): McDiarmid 1989, On the method of bounded differences.
    """
    ids = target.ids(torch.arange(target.kept_count))
    mean = expected_variation(target.probs(ids), draws)
    return mean, mean + math.sqrt(-math.log(1 - level) / (2 * draws))


def compare(
    target: Law,
    draft: Law,
    rules: Sequence[Verifier],
    draws: int,
    seed: int,
    token: Callable[[int], Token],
) -> LawTest:
    """Plain sampling and every rule, each with uniforms of its own, counted against the target's law."""
    mean, high = noise(target, draws)
    exact = target.probs()
    found = tuple(_compared(target, draft, exact, rules, draws, Uniforms(seed), token))
    return LawTest(draws, seed, target.kept_count, mean, high, LEVEL, found)


def _compared(
    target: Law,
    draft: Law,
    exact: Tensor,
    rules: Sequence[Verifier],
    draws: int,
    uniforms: Uniforms,
    token: Callable[[int], Token],
) -> Iterator[EmittedLaw]:
    for place, rule in enumerate((None, *rules)):
        drawn = draw(rule, target, draft, uniforms.at(place, 3 * draws).view(draws, 3))
        measured = _variation(torch.bincount(drawn, minlength=target.size).double() / draws, exact)
        if rule is None:
            yield EmittedLaw("plain", True, 0.0, measured, None, None)
            continue
        law, chance = emitted(rule, target, draft)
        distance = _variation(law, exact)
        excess = None if distance < ROUNDING else _excess(law, exact, token)
        yield EmittedLaw(rule.name, rule.lossless, distance, measured, min(1.0, chance), excess)


def _variation(law: Tensor, exact: Tensor) -> float:
    """Half the sum of the differences."""
    return float((law - exact).abs().sum() / 2)


def _excess(law: Tensor, exact: Tensor, token: Callable[[int], Token]) -> Excess:
    most = int((law - exact).argmax())
    return Excess(token(most), float(exact[most]), float(law[most]))

"""Tensors -> trace values; the only place that converts. V vocabulary, k tokens kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from decoding.errors import UserError
from decoding.processors import Processor
from decoding.samplers import AliasPick, AliasTable, ArgmaxWork, GumbelWork
from decoding.trace import (
    AliasColumn,
    AliasDraw,
    ArgmaxDraw,
    Candidate,
    Distribution,
    Draw,
    GumbelDraw,
    PerturbedScore,
    SampleStep,
    Stage,
    Token,
)

DRAWN_COLUMNS = 32
"""Most alias columns recorded for the picture."""
DRAWN_SCORES = 12
"""Most perturbed scores recorded for the picture."""

TokenOf = Callable[[int], Token]


@dataclass(frozen=True, slots=True)
class Law:
    """softmax(logits): `logits` (V,), removed tokens at -inf; `log_z` = ln sum exp(logits), in float64.

    `kept` (k,) are the ids of tokens not removed, None while all V are kept; `entropy` in bits.
    """

    logits: Tensor
    log_z: float
    kept: Tensor | None
    entropy: float

    @property
    def kept_count(self) -> int:
        """k, tokens with a finite logit."""
        return self.logits.numel() if self.kept is None else self.kept.numel()

    def probs(self, ids: Tensor | None = None) -> Tensor:
        """Probabilities (float64) of `ids`, or of the whole vocabulary."""
        logits = self.logits if ids is None else self.logits[ids]
        return (logits.double() - self.log_z).exp()


def law(logits: Tensor, position: int = 0) -> Law:
    """The law of these logits (V,); raises UserError where they are no distribution."""
    largest = float(logits.max())
    if not math.isfinite(largest):
        what = "NaN" if math.isnan(largest) else "+inf" if largest > 0 else "nothing but -inf"
        raise UserError("broken_logits", step=position + 1, what=what)
    kept = None
    if float(logits.min()) == -math.inf:
        kept = (logits > -math.inf).nonzero().squeeze(-1)
    shifted = (logits if kept is None else logits[kept]).double() - largest
    weights = shifted.exp()
    total = float(weights.sum())
    # H = log Z - E[logit], in nats; bits by / ln 2
    mean = float((weights * shifted).sum()) / total
    entropy = max(0.0, (math.log(total) - mean) / math.log(2))
    return Law(logits, largest + math.log(total), kept, entropy)


def distribution(of: Law, ids: Sequence[int], token: TokenOf) -> Distribution:
    """The law as a trace value, listing `ids` most likely first (removed ones last, as given)."""
    index = torch.tensor(list(ids))
    logits = of.logits[index].tolist()
    probs = of.probs(index).tolist()
    order = sorted(range(len(logits)), key=lambda i: -logits[i])
    top = tuple(
        Candidate(token(ids[i]), logits[i], probs[i], True)
        if logits[i] > -math.inf
        else Candidate(token(ids[i]), None, 0.0, False)
        for i in order
    )
    tail_count = of.kept_count - sum(c.kept for c in top)
    tail_mass = min(1.0, max(0.0, 1.0 - math.fsum(probs))) if tail_count else 0.0
    return Distribution(top, tail_mass, tail_count, of.entropy)


def shown_ids(laws: Sequence[Law], top: int, chosen: int | None = None) -> list[int]:
    """The tokens that every stage lists: the `top` likeliest of the first and the last law, and `chosen`."""
    ids: dict[int, None] = {}
    for of in (laws[0], laws[-1]):
        count = min(top, of.kept_count)
        ids.update(dict.fromkeys(of.logits.topk(count).indices.tolist()))
    if chosen is not None:
        ids[chosen] = None
    return list(ids)


def stages(
    laws: Sequence[Law], processors: Sequence[Processor], ids: Sequence[int], token: TokenOf
) -> tuple[Stage, ...]:
    """One Stage per law; `laws[0]` is the model's, `laws[i + 1]` that after `processors[i]`."""
    first = laws[0]
    result = [Stage("model", {}, distribution(first, ids, token), first.kept_count, 1.0)]
    for processor, before, after in zip(processors, laws, laws[1:], strict=False):
        shown = [c.token.id for c in result[-1].result.top]  # removed tokens keep the order they had
        stage = Stage(
            processor.name,
            processor.params(),
            distribution(after, shown, token),
            after.kept_count,
            _kept_mass(before, after),
            tuple(processor.notes(before.logits, after.logits)),
        )
        result.append(stage)
    return tuple(result)


def _kept_mass(before: Law, after: Law) -> float:
    """How much of the probability before the tokens kept after it held."""
    if after.kept_count == before.kept_count or after.kept is None:
        return 1.0
    return min(1.0, float(before.probs(after.kept).sum()))


def step(
    position: int, laws: Sequence[Law], processors: Sequence[Processor], draw: Draw, chosen: int, top: int, token: TokenOf
) -> SampleStep:
    """One decided token with everything that led to it."""
    ids = shown_ids(laws, top, chosen)
    index = torch.tensor([chosen])
    return SampleStep(
        position=position,
        stages=stages(laws, processors, ids, token),
        draw=draw,
        token=token(chosen),
        prob=min(1.0, float(laws[-1].probs(index))),
        model_prob=min(1.0, float(laws[0].probs(index))),
    )


def argmax_draw(logits: Tensor, winner: int, work: ArgmaxWork, token: TokenOf) -> ArgmaxDraw:
    """Greedy's work: the winning logit and by how much it won."""
    runner_up = None if work.runner_up is None else token(work.runner_up)
    return ArgmaxDraw(float(logits[winner]), runner_up, work.gap, work.ties)


def alias_draw(
    table: AliasTable, ids: Tensor, uniform: float, coin: float, pick: AliasPick, token: TokenOf
) -> AliasDraw:
    """The alias table's first columns, and always the one chosen. `ids` (k,): token of each column."""
    count = len(table.thresholds)
    shown = list(range(min(count, DRAWN_COLUMNS)))
    if pick.column not in shown:
        shown[-1] = pick.column

    def column(i: int) -> AliasColumn:
        other = table.aliases[i]
        whole = other == i or table.thresholds[i] >= 1
        return AliasColumn(i, token(int(ids[i])), min(1.0, table.thresholds[i]), None if whole else token(int(ids[other])))

    return AliasDraw(
        uniform, coin, pick.column, pick.took_alias, count, table.transfers, tuple(column(i) for i in shown)
    )


def gumbel_draw(logits: Tensor, ids: Tensor, uniforms: Tensor, work: GumbelWork, token: TokenOf) -> GumbelDraw:
    """The highest perturbed scores. `logits`, `uniforms` (k,) of the tokens `ids` (k,)."""
    best = work.scores.topk(min(DRAWN_SCORES, work.scores.numel())).indices
    columns: list[Any] = [t[best].tolist() for t in (ids, logits, uniforms, work.noise, work.scores)]
    scores = tuple(
        PerturbedScore(token(id), logit, uniform, noise, score)
        for id, logit, uniform, noise, score in zip(*columns, strict=True)
    )
    return GumbelDraw(scores, ids.numel())

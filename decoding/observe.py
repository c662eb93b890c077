"""Tensors -> trace values; the only place that converts. V vocabulary, k tokens kept."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from decoding import samplers
from decoding.errors import UserError
from decoding.processor_base import Processor
from decoding.samplers import AliasPick, AliasTable, ArgmaxWork, GumbelWork
from decoding.trace import (
    AliasColumn,
    AliasDraw,
    ArgmaxDraw,
    Candidate,
    DirectDraw,
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

HEADS = (256, 4096, sys.maxsize)
"""How many of the likeliest tokens to sort for a direct scan, tried in turn: it almost always ends early."""

TokenOf = Callable[[int], Token]


@dataclass(frozen=True, slots=True)
class Law:
    """softmax over the tokens not removed, of a vocabulary of `size` V.

    `logits` (k,) theirs, finite; `kept` (k,) their ids in ascending order, None while all V are kept;
    `largest` of them and `total` = sum exp(logits - largest), in float64, which stays exact however large
    they are; `entropy` in bits; `notes` of the processor that made it.
    """

    logits: Tensor
    kept: Tensor | None
    size: int
    largest: float
    total: float
    entropy: float
    notes: tuple[str, ...] = ()

    @property
    def kept_count(self) -> int:
        """k, tokens not removed."""
        return self.logits.numel()

    def ids(self, places: Tensor) -> Tensor:
        """Token ids at these places of `logits`."""
        return places if self.kept is None else self.kept[places]

    def places(self, ids: Tensor) -> Tensor:
        """Where these ids are in `logits`; a removed one gets a place of its own beyond the end, k + id."""
        if self.kept is None:
            return ids
        places = torch.searchsorted(self.kept, ids).clamp(max=self.kept_count - 1)
        return torch.where(self.kept[places] == ids, places, self.kept_count + ids)

    def at(self, ids: Tensor) -> Tensor:
        """Logits of these ids, -inf where removed."""
        if self.kept is None:
            return self.logits[ids]
        places = self.places(ids)
        found = self.logits[places.clamp(max=self.kept_count - 1)]
        return found.masked_fill(places >= self.kept_count, -math.inf)

    def probs(self, ids: Tensor | None = None) -> Tensor:
        """Probabilities (float64) of `ids`, or of the whole vocabulary."""
        if ids is not None:
            return self.share(self.at(ids))
        own = self.share(self.logits)
        return own if self.kept is None else own.new_zeros(self.size).index_copy_(0, self.kept, own)

    def share(self, logits: Tensor) -> Tensor:
        """Probabilities (float64) of tokens with these logits."""
        return (logits.double() - self.largest).exp() / self.total


def law(logits: Tensor, position: int = 0, before: Law | None = None) -> Law:
    """The law of these logits, of all V or of the tokens kept `before`; -inf removes a token.

    Raises UserError where they are no distribution.
    """
    kept, size = (None, logits.numel()) if before is None else (before.kept, before.size)
    logits, kept, largest = _alive(logits, kept, position)
    shifted = logits.to(torch.float64, copy=True).sub_(largest)
    weights = shifted.exp()
    total = float(weights.sum())
    # H = log Z - E[logit], in nats; bits by / ln 2
    mean = float(weights.dot(shifted)) / total
    entropy = max(0.0, (math.log(total) - mean) / math.log(2))
    return Law(logits, kept, size, largest, total, entropy)


def _alive(logits: Tensor, kept: Tensor | None, position: int) -> tuple[Tensor, Tensor | None, float]:
    """The logits above -inf, of the tokens `kept` those that have them, and the largest."""
    smallest, largest = (float(extreme) for extreme in logits.aminmax())
    check_largest(largest, position)
    if smallest == -math.inf:
        alive = (logits > -math.inf).nonzero().squeeze(-1)
        logits, kept = logits[alive], alive if kept is None else kept[alive]
    return logits, kept, largest


def check_largest(largest: float, position: int) -> None:
    """Raise UserError where logits with this maximum (NaN if any is NaN) are no distribution."""
    if not math.isfinite(largest):
        what = "NaN" if math.isnan(largest) else "+inf" if largest > 0 else "nothing but -inf"
        raise UserError("broken_logits", step=position + 1, what=what)


def processed(before: Law, processor: Processor, history: Tensor, position: int = 0) -> Law:
    """The law after one processor, which sees the tokens still kept: few of them cost little."""
    logits = processor(before.logits, before.places(history))
    after = law(logits, position, before)
    return replace(after, notes=tuple(processor.notes(before.logits, logits)))


def law_after(
    logits: Tensor,
    processors: Iterable[Processor],
    history: Tensor,
    position: int = 0,
    said: Tensor | None = None,
    size: int | None = None,
) -> Law:
    """The law of these logits (V,) after all processors: the last of those that `processed` would give one by one.

    `said`: the ids (ascending) that they are of, where not of all `size` tokens. What only a record of those between
    needs is left out. Raises UserError as `law` does.
    """
    whole = logits.numel() if size is None else size
    logits, kept, _ = _alive(logits, said, position)
    between = Law(logits, kept, whole, math.nan, math.nan, math.nan)
    for processor in processors:
        changed = processor(between.logits, between.places(history))
        logits, kept, _ = _alive(changed, between.kept, position)
        between = replace(between, logits=logits, kept=kept)
    return law(between.logits, position, between)


def likeliest(of: Law, count: int) -> Tensor:
    """Places in `of.logits` of its `count` highest, highest first and lowest id first on ties."""
    if count >= of.kept_count:
        return of.logits.sort(descending=True, stable=True).indices
    best, places = of.logits.topk(count + 1)
    if best[count - 1] == best[count]:  # topk takes any of those that tie
        places = (of.logits >= best[count]).nonzero().squeeze(-1)
    else:
        places = places[:count].sort().values
    return places[of.logits[places].sort(descending=True, stable=True).indices[:count]]


def ranked(of: Law, count: int = sys.maxsize) -> tuple[Tensor, Tensor]:
    """Ids and probabilities (float64) of the `count` likeliest kept tokens, lowest id first on ties."""
    places = likeliest(of, count)
    return of.ids(places), of.share(of.logits[places])


def draw_direct(of: Law, uniform: float) -> tuple[int, DirectDraw]:
    """The token of a direct scan, likeliest first and lowest id first on ties, and its work."""
    for head in HEADS:
        ids, probs = ranked(of, head)
        if len(ids) == of.kept_count or uniform < float(probs.sum()):
            break
    index, draw = samplers.direct(probs, uniform)
    return int(ids[index]), draw


def distribution(of: Law, ids: Sequence[int], token: TokenOf) -> Distribution:
    """The law as a trace value, listing `ids` most likely first (removed ones last, as given)."""
    logits = of.at(torch.tensor(list(ids)))
    probs = of.share(logits).tolist()
    listed = list(zip(ids, logits.tolist(), probs, strict=True))
    kept = sorted((-logit, id, prob) for id, logit, prob in listed if logit > -math.inf)
    top = [Candidate(token(id), -opposite, prob, True) for opposite, id, prob in kept]
    top += [Candidate(token(id), None, 0.0, False) for id, logit, _ in listed if logit == -math.inf]
    tail_count = of.kept_count - len(kept)
    tail_mass = min(1.0, max(0.0, 1.0 - math.fsum(probs))) if tail_count else 0.0
    return Distribution(tuple(top), tail_mass, tail_count, of.entropy)


def shown_ids(laws: Sequence[Law], top: int, chosen: int | None = None) -> list[int]:
    """The tokens that every stage lists: the `top` likeliest of the first and the last law, and `chosen`."""
    ids: dict[int, None] = {}
    for of in (laws[0], laws[-1])[: len(laws)]:
        ids.update(dict.fromkeys(of.ids(likeliest(of, top)).tolist()))
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
        law_after, mass = distribution(after, shown, token), _kept_mass(before, after)
        result.append(Stage(processor.name, processor.params(), law_after, after.kept_count, mass, after.notes))
    return tuple(result)


def _kept_mass(before: Law, after: Law) -> float:
    """How much of the probability before the tokens kept after it held."""
    if after.kept_count == before.kept_count or after.kept is None:
        return 1.0
    return min(1.0, float(before.probs(after.kept).sum()))


def step(
    position: int,
    laws: Sequence[Law],
    processors: Sequence[Processor],
    draw: Draw,
    chosen: int,
    top: int,
    token: TokenOf,
) -> SampleStep:
    """One decided token with everything that led to it."""
    ids = shown_ids(laws, top, chosen)
    tokens = {id: token(id) for id in ids}  # every stage lists them
    index = torch.tensor([chosen])
    return SampleStep(
        position=position,
        stages=stages(laws, processors, ids, tokens.__getitem__),
        draw=draw,
        token=token(chosen),
        prob=min(1.0, float(laws[-1].probs(index))),
        model_prob=min(1.0, float(laws[0].probs(index))),
    )


def argmax_draw(of: Law, place: int, work: ArgmaxWork, token: TokenOf) -> ArgmaxDraw:
    """Greedy's work: the winning logit and by how much it won. `place` in `of.logits`, as in `work`."""
    runner_up = None if work.runner_up is None else token(int(of.ids(torch.tensor(work.runner_up))))
    return ArgmaxDraw(float(of.logits[place]), runner_up, work.gap, work.ties)


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
        return AliasColumn(
            i, token(int(ids[i])), min(1.0, table.thresholds[i]), None if whole else token(int(ids[other]))
        )

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

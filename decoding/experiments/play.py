"""One draw from the law on the page, cut into the small steps that a person watches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import torch

from decoding.experiments.values import (
    AliasPlay,
    AliasStep,
    BinaryPlay,
    DirectPlay,
    GumbelPlay,
    Law,
    NoiseStep,
    Play,
    ScanStep,
)
from decoding.samplers import alias, binary_search, build_alias, cumulate, direct, gumbel_max
from decoding.trace import AliasColumn, AliasDraw


def play(sampler: str, law: Law, uniforms: Sequence[float]) -> Play:
    """One draw by a sampler of `PLAYS`. `uniforms`: at least as many as `needed` says; the first are used."""
    return PLAYS[sampler](law, uniforms)


def needed(sampler: str, law: Law) -> int:
    """Uniforms that one draw takes: one, two for the alias table (column and coin), one an item for Gumbel-max."""
    return {"alias": 2, "gumbel": len(law.probs)}.get(sampler, 1)


def _direct(law: Law, uniforms: Sequence[float]) -> DirectPlay:
    chosen, draw = direct(law.probs, uniforms[0])
    ends = list(accumulate(law.probs[:chosen], initial=0.0))
    steps = [ScanStep(i, low, high, passed=False) for i, (low, high) in enumerate(pairwise(ends))]
    assert ends[-1] == draw.low
    steps.append(ScanStep(chosen, draw.low, draw.high, passed=True))
    return DirectPlay(tuple(steps), draw, chosen)


def _binary(law: Law, uniforms: Sequence[float]) -> BinaryPlay:
    sums = cumulate(law.probs).tolist()
    chosen, draw = binary_search(sums, uniforms[0])
    return BinaryPlay(tuple(min(total, 1.0) for total in sums), draw, chosen)


def _alias(law: Law, uniforms: Sequence[float]) -> AliasPlay:
    table = build_alias(law.probs)
    uniform, coin = uniforms[0], uniforms[1]
    chosen, pick = alias(table, uniform, coin)
    columns = tuple(
        AliasColumn(j, item, threshold, None if other == j or threshold >= 1 else law.items[other])
        for j, (item, threshold, other) in enumerate(zip(law.items, table.thresholds, table.aliases, strict=True))
    )
    draw = AliasDraw(uniform, coin, pick.column, pick.took_alias, len(columns), table.transfers, columns)
    steps = (AliasStep("column", pick.column), AliasStep("coin", pick.column), AliasStep("item", chosen))
    return AliasPlay(steps, draw, table.aliases, chosen)


def _gumbel(law: Law, uniforms: Sequence[float]) -> GumbelPlay:
    used = list(uniforms[: len(law.probs)])
    logits = torch.tensor(law.probs, dtype=torch.float64).log()
    chosen, work = gumbel_max(logits, torch.tensor(used, dtype=torch.float64))
    steps: list[NoiseStep] = []
    leader, best = None, -math.inf
    rows = zip(logits.tolist(), used, work.noise.tolist(), work.scores.tolist(), strict=True)
    for index, (logit, uniform, noise, score) in enumerate(rows):
        if score > best:
            leader, best = index, score
        possible = logit > -math.inf
        steps.append(NoiseStep(index, logit if possible else None, uniform, noise, score if possible else None, leader))
    assert leader == chosen
    return GumbelPlay(tuple(steps), chosen)


PLAYS: dict[str, Callable[[Law, Sequence[float]], Play]] = {
    "direct": _direct,
    "binary": _binary,
    "alias": _alias,
    "gumbel": _gumbel,
}
"""Sampler -> its slow draw."""

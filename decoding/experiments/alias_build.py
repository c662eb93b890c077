"""Vose's alias table recorded move by move; and the older way that sorts first, for comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from decoding.experiments.values import AliasBuild, AliasMove, AliasState, Law
from decoding.samplers import AliasTable, build_alias


class _Work:
    """The lists that the construction changes as it goes; `state` is what they are now."""

    def __init__(self, probs: Sequence[float]) -> None:
        size, total = len(probs), math.fsum(probs)
        self.mass = [prob * size / total for prob in probs]
        self.small = [index for index, value in enumerate(self.mass) if value < 1]
        self.large = [index for index, value in enumerate(self.mass) if value >= 1]
        self.thresholds: list[float | None] = [None] * size
        self.aliases: list[int | None] = [None] * size

    def state(self) -> AliasState:
        lists: list[list[Any]] = [self.small, self.large, self.mass, self.thresholds, self.aliases]
        return AliasState(*map(tuple, lists))

    def close(self, column: int, threshold: float, other: int) -> None:
        self.thresholds[column], self.aliases[column] = threshold, other

    def move(self) -> AliasMove:
        """The top of the small stack takes what it lacks from the top of the large one."""
        needy, donor = self.small.pop(), self.large[-1]
        threshold = self.mass[needy]
        self.close(needy, threshold, donor)
        self.mass[donor] -= 1 - threshold
        left = self.mass[donor]
        if left < 1:
            self.small.append(self.large.pop())
        return AliasMove(needy, donor, threshold, 1 - threshold, left, donor_shrank=left < 1)


def build(law: Law) -> AliasBuild:
    """Every move of `samplers.build_alias` on this law, with the stacks, the masses and the table around it.

    The table in the last state is the one that `build_alias` returns.
    """
    work = _Work(law.probs)
    moves, states = [], [work.state()]
    while work.small and work.large:
        moves.append(work.move())
        states.append(work.state())
    leftover = (*work.small, *work.large)
    for column in leftover:
        if law.probs[column] == 0:  # rounding left it over: it must not be drawn
            work.close(column, 0.0, law.probs.index(max(law.probs)))
        else:
            work.close(column, 1.0, column)
    work.small, work.large = [], []
    states.append(work.state())
    table = build_alias(law.probs)
    assert states[-1].thresholds == table.thresholds and states[-1].aliases == table.aliases
    assert len(moves) == table.transfers
    return AliasBuild(law, tuple(moves), tuple(states), leftover)


def build_sorted(probs: Sequence[float]) -> AliasTable:
    """The table built after sorting the items, O(k log k): the lecture's bound. Sorting is not needed.

    Another table than Vose's, of the same law.
    """
    order = sorted(range(len(probs)), key=probs.__getitem__)
    table = build_alias([probs[index] for index in order])
    thresholds, aliases = [1.0] * len(order), list(order)
    for place, index in enumerate(order):
        thresholds[index], aliases[index] = table.thresholds[place], order[table.aliases[place]]
    return AliasTable(tuple(thresholds), tuple(aliases), table.transfers)

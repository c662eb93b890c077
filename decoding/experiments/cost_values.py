"""The frozen values of the cost experiment: operations and seconds against k and n. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CostPoint:
    """What `draws` draws (n) from `items` items (k) cost.

    Operations are numbers looked at or made, counted while the readable code of `decoding.samplers` ran:
    probabilities scanned, running sums made and probed, table entries, noise values; `build` once,
    `draw` for all draws. `algorithm`: a sampler, `alias_sorted` (the table built by sorting first, as the lecture's
    O(k log k + n) has it) or `multinomial`. None where nothing can be counted (`multinomial` is a closed call).
    `seconds`: building and drawing in vectorised form (`decoding.experiments.batch`), wall clock.
    Where n k is too much to wait for, only `counted` or `timed` draws were run, fewer than n, and the
    cost of drawing was multiplied by n / that; for a small n, `counted` is more than n, for a mean.
    """

    algorithm: str
    items: int
    draws: int
    build: int | None
    draw: int | None
    counted: int
    seconds: float
    timed: int

    @property
    def operations(self) -> int | None:
        """Building and drawing together."""
        return None if self.build is None or self.draw is None else self.build + self.draw


@dataclass(frozen=True, slots=True)
class CostCurve:
    """One algorithm along one axis: `points` in ascending order of k (or n), the other held fixed.

    `bound`: its cost in words, e.g. `k + n log2 k`. `theory[j]` = constant * bound at points[j], in operations; the
    one constant is fitted to the counts (the mean of their ratio's logarithm). `seconds_constant` * bound is the same
    line in seconds, drawn through the last point, since small runs cost what any call costs.
    No theory for `multinomial`: "", 0, (), 0.
    """

    algorithm: str
    points: tuple[CostPoint, ...]
    bound: str
    constant: float
    theory: tuple[float, ...]
    seconds_constant: float


@dataclass(frozen=True, slots=True)
class CostTable:
    """Cost against k with n = `fixed_draws`, and against n with k = `fixed_items`.

    `law`: what was drawn from (`random`: exponential weights in no order; `uniform`; `zipf`: most likely first).
    A direct scan costs sum (i + 1) p_i a draw, so it depends on the law and its order: about k / 2 for the first
    two, k / ln k for the last. `versions`: of Python and torch; `machine` in words; `threads` that torch used.
    """

    law: str
    fixed_draws: int
    fixed_items: int
    against_items: tuple[CostCurve, ...]
    against_draws: tuple[CostCurve, ...]
    machine: str
    threads: int
    versions: Mapping[str, str]

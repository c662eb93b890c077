"""What each sampler costs: operations counted while the readable code runs, seconds measured in vectorised form.

k items, n draws. The readable functions take any sequence, so they are handed sequences that count what is
read from them, and the sort is handed floats that count their comparisons.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast, overload

import torch
from torch import Generator, Tensor

from decoding import samplers
from decoding.experiments.alias_build import build_sorted
from decoding.experiments.batch import PREPARE, Drawer, columns, from_columns
from decoding.experiments.cost_values import CostCurve, CostPoint, CostTable
from decoding.samplers import AliasTable

LAWS: dict[str, Callable[[int, Generator], Tensor]] = {
    "random": lambda size, generator: -(1 - torch.rand(size, dtype=torch.float64, generator=generator)).log(),
    "uniform": lambda size, generator: torch.ones(size, dtype=torch.float64),
    "zipf": lambda size, generator: 1 / torch.arange(1, size + 1, dtype=torch.float64),
}
"""Weights of k items; see `CostTable.law`."""

BOUNDS: dict[str, tuple[str, Callable[[int, int], float]]] = {
    "direct": ("n k", lambda k, n: n * k),
    "binary": ("k + n log2 k", lambda k, n: k + n * math.log2(k)),
    "alias": ("k + n", lambda k, n: k + n),
    "alias_sorted": ("k log2 k + n", lambda k, n: k * math.log2(k) + n),
    "gumbel": ("n k", lambda k, n: n * k),
}
"""Algorithm -> its cost in words, and as a function of k and n."""

T = TypeVar("T")

LEAST_COUNTED = 64
"""Measured points of fewer draws count so many and take their mean: one scan alone would be a matter of luck."""

ALGORITHMS = (*BOUNDS, "multinomial")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: cost against k (`items`) with n = `fixed_draws`, and against n (`draws`) with k = `fixed_items`.

    `effort`: how much is counted and timed for one point, in numbers looked at one by one; at the default
    a point takes about a tenth of a second. More effort, and fewer points are multiplied up from a part.
    """

    items: tuple[int, ...] = (10, 100, 1_000, 10_000, 100_000)
    draws: tuple[int, ...] = (1, 10, 100, 1_000, 10_000, 100_000)
    fixed_draws: int = 1_000
    fixed_items: int = 1_000
    law: str = "random"
    seed: int = 0
    effort: int = 200_000

    def jobs(self) -> tuple[tuple[str, int, int], ...]:
        """(algorithm, k, n) of each point, in the order measured: small ones first."""
        sizes = {(k, self.fixed_draws) for k in self.items} | {(self.fixed_items, n) for n in self.draws}
        return tuple((name, k, n) for k, n in sorted(sizes, key=lambda s: (s[0] * s[1], s)) for name in ALGORITHMS)


def measure(plan: Plan) -> Iterator[CostPoint]:
    """One point for each of `plan.jobs()`, in that order; closing it stops the measuring."""
    assert min(*plan.items, plan.fixed_items) >= 2 and min(*plan.draws, plan.fixed_draws) >= 1
    for algorithm, items, draws in plan.jobs():
        yield point(algorithm, weights(plan.law, items, plan.seed), draws, plan.seed, plan.effort, LEAST_COUNTED)


def weights(law: str, items: int, seed: int = 0) -> Tensor:
    """Probabilities (k,), float64, of a law of `LAWS`."""
    values = LAWS[law](items, torch.Generator().manual_seed(seed))
    return values / values.sum()


def point(algorithm: str, probs: Tensor, draws: int, seed: int = 0, effort: int = 200_000, least: int = 1) -> CostPoint:
    """Count and time one algorithm: n = `draws` from `probs` (k,). The mean of `least` draws where n is smaller."""
    items = len(probs)
    build = draw = None
    counted = 0
    if algorithm in COUNTERS:
        counted = min(max(draws, least), max(1, effort // _weight(algorithm, items)))
        build, some = COUNTERS[algorithm](probs, counted, torch.Generator().manual_seed(seed))
        draw = round(some * draws / counted)
    numbers = {"direct": 100 * effort, "gumbel": 20 * effort}.get(algorithm, draws * items)
    timed = min(draws, max(1, numbers // items))
    built, drew = _seconds(algorithm, probs, timed, seed)
    return CostPoint(algorithm, items, draws, build, draw, counted, built + drew * draws / timed, timed)


def _weight(algorithm: str, items: int) -> int:
    """About how long one counted draw takes, where a call of a few operations takes 16."""
    return {"direct": 16 + items // 10, "gumbel": 500 + items // 4, "binary": 16 * math.ceil(math.log2(items))}.get(
        algorithm, 16
    )


# --- counting --------------------------------------------------------------------------------------


class Counted(Sequence[float]):
    """A sequence that counts the numbers read from it."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = values
        self.reads = 0

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[float]: ...
    def __getitem__(self, index: int | slice) -> float | Sequence[float]:
        assert isinstance(index, int)
        self.reads += 1
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[float]:
        for value in self.values:
            self.reads += 1
            yield value


def _uniforms(generator: Generator, *shape: int) -> list[Any]:
    return torch.rand(*shape, dtype=torch.float64, generator=generator).tolist()


def _count_direct(probs: Tensor, draws: int, generator: Generator) -> tuple[int, int]:
    """Nothing is built; the probabilities that each scan reads."""
    given = Counted(probs.tolist())
    for uniform in _uniforms(generator, draws):
        samplers.direct(given, uniform)
    return 0, given.reads


def _count_binary(probs: Tensor, draws: int, generator: Generator) -> tuple[int, int]:
    """The probabilities read and the running sums made of them; the sums that the searches probe."""
    read = Counted(probs.tolist())
    sums = samplers.cumulate(list(read))
    given, recorded = Counted(sums.tolist()), 0
    for uniform in _uniforms(generator, draws):
        index, _ = samplers.binary_search(given, uniform)
        recorded += 2 if index else 1  # the ends of the interval, read for the record and not for the search
    return read.reads + len(sums), given.reads - recorded


def _count_alias(probs: Tensor, draws: int, generator: Generator) -> tuple[int, int]:
    """The probabilities read and the moves made; the table entries read."""
    given = Counted(probs.tolist())
    table = samplers.build_alias(given)
    return given.reads + table.transfers, _count_columns(table, draws, generator)


def _count_alias_sorted(probs: Tensor, draws: int, generator: Generator) -> tuple[int, int]:
    """As `_count_alias`, and the comparisons that sorting makes."""
    tally = [0]

    class Compared(float):
        def __lt__(self, other: float) -> bool:
            tally[0] += 1
            return float.__lt__(self, other)

    given = Counted([Compared(prob) for prob in probs.tolist()])
    table = build_sorted(given)
    return given.reads + tally[0] + table.transfers, _count_columns(table, draws, generator)


def _count_columns(table: AliasTable, draws: int, generator: Generator) -> int:
    thresholds, aliases = Counted(table.thresholds), Counted(table.aliases)
    counting = AliasTable(cast(Any, thresholds), cast(Any, aliases), table.transfers)
    for uniform, coin in _uniforms(generator, draws, 2):
        samplers.alias(counting, uniform, coin)
    return thresholds.reads + aliases.reads


def _count_gumbel(probs: Tensor, draws: int, generator: Generator) -> tuple[int, int]:
    """Nothing is built; the noise made, one value an item for each draw."""
    logits, made = probs.log(), 0
    for _ in range(draws):
        _, work = samplers.gumbel_max(logits, torch.rand(len(logits), dtype=torch.float64, generator=generator))
        made += work.noise.numel()
    return 0, made


COUNTERS: dict[str, Callable[[Tensor, int, Generator], tuple[int, int]]] = {
    "direct": _count_direct,
    "binary": _count_binary,
    "alias": _count_alias,
    "alias_sorted": _count_alias_sorted,
    "gumbel": _count_gumbel,
}
"""Algorithm -> operations of building and of `draws` draws, counted."""

# --- timing ----------------------------------------------------------------------------------------


def _prepare_sorted(probs: Tensor) -> Drawer:
    thresholds, aliases = columns(build_sorted(probs.tolist()))
    return lambda draws, generator: from_columns(
        thresholds, aliases, *torch.rand(draws, 2, dtype=torch.float64, generator=generator).unbind(-1)
    )


def _seconds(algorithm: str, probs: Tensor, draws: int, seed: int) -> tuple[float, float]:
    """Building, and drawing with fresh uniforms; each the best of a few runs."""
    prepare = _prepare_sorted if algorithm == "alias_sorted" else PREPARE[algorithm]
    generator = torch.Generator().manual_seed(seed)
    built, drawer = _best(lambda: prepare(probs))
    drew, _ = _best(lambda: drawer(draws, generator))
    return built, drew


def _best(action: Callable[[], T]) -> tuple[float, T]:
    """Seconds of the fastest of up to five runs, and what it gave; no new run once a twentieth of a second is over."""
    runs: list[float] = []
    while len(runs) < 5 and sum(runs) < 0.05:
        start = time.perf_counter()
        result = action()
        runs.append(time.perf_counter() - start)
    return min(runs), result


# --- the table -------------------------------------------------------------------------------------


def table(plan: Plan, points: Sequence[CostPoint], machine: str = "") -> CostTable:
    """The points measured for `plan`, as curves with their theory. `machine`: what it ran on, in words."""
    by_size = {(p.algorithm, p.items, p.draws): p for p in points}

    def curves(sizes: list[tuple[int, int]]) -> tuple[CostCurve, ...]:
        return tuple(curve(tuple(by_size[name, k, n] for k, n in sizes)) for name in ALGORITHMS)

    return CostTable(
        law=plan.law,
        fixed_draws=plan.fixed_draws,
        fixed_items=plan.fixed_items,
        against_items=curves([(k, plan.fixed_draws) for k in sorted(set(plan.items))]),
        against_draws=curves([(plan.fixed_items, n) for n in sorted(set(plan.draws))]),
        machine=machine or f"{platform.machine()}, {os.cpu_count()} CPU",
        threads=torch.get_num_threads(),
        versions={"python": platform.python_version(), "torch": str(torch.__version__)},
    )


def curve(points: tuple[CostPoint, ...]) -> CostCurve:
    """One algorithm's points with the line of its bound."""
    algorithm = points[0].algorithm
    if algorithm not in BOUNDS:
        return CostCurve(algorithm, points, "", 0.0, (), 0.0)
    words, bound = BOUNDS[algorithm]
    bounds = [bound(p.items, p.draws) for p in points]
    ratios = [(p.operations or 1) / value for p, value in zip(points, bounds, strict=True)]
    constant = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    theory = tuple(constant * value for value in bounds)
    return CostCurve(algorithm, points, words, constant, theory, points[-1].seconds / bounds[-1])

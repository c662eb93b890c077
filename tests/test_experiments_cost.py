"""Operation counts against lists instrumented here; the curves and the recorded table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from decoding import codec, samplers
from decoding.experiments import cost, record
from decoding.experiments.alias_build import build_sorted
from decoding.experiments.cost_values import CostPoint, CostTable
from decoding.samplers import AliasTable

SMALL = cost.Plan(items=(4, 16, 64), draws=(1, 8, 32), fixed_draws=20, fixed_items=10, effort=2_000)
LAWS = [cost.weights(law, k) for law in cost.LAWS for k in (2, 9, 100)] + [torch.tensor([0.0, 0.5, 0.0, 0.5, 0.0])]
DRAWS = 40


class Watched(list[float]):
    """A list that knows how often an item of it was read."""

    reads = 0

    def __getitem__(self, index: Any) -> Any:
        self.reads += 1
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[float]:
        for value in super().__iter__():
            self.reads += 1
            yield value


class Watching(float):
    """A uniform that knows how often it, or any other, was compared."""

    compared = 0

    def __lt__(self, other: float) -> bool:
        Watching.compared += 1
        return float(self) < other

    def __ge__(self, other: float) -> bool:
        Watching.compared += 1
        return float(self) >= other


def uniforms(*shape: int) -> list[Any]:
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).tolist()


def counts(algorithm: str, probs: Tensor) -> tuple[int, int]:
    point = cost.point(algorithm, probs, DRAWS, seed=0, effort=10**6)
    assert point.counted == DRAWS and point.build is not None and point.draw is not None
    assert point.operations == point.build + point.draw
    return point.build, point.draw


# The counts are those of the code that ran


@pytest.mark.parametrize("probs", LAWS, ids=str)
def test_direct_reads_what_it_scans(probs: Tensor) -> None:
    watched = Watched(probs.tolist())
    scanned = [samplers.direct(watched, u)[1].scanned for u in uniforms(DRAWS)]
    assert counts("direct", probs) == (0, watched.reads) == (0, sum(scanned))


@pytest.mark.parametrize("probs", LAWS, ids=str)
def test_binary_search_reads_what_it_compares(probs: Tensor) -> None:
    sums, Watching.compared = Watched(samplers.cumulate(probs).tolist()), 0
    draws = [samplers.binary_search(sums, Watching(u)) for u in uniforms(DRAWS)]
    assert counts("binary", probs) == (2 * len(probs), Watching.compared), "each probability read, each sum made"
    assert Watching.compared == sum(len(draw.probes) for _, draw in draws)
    assert sums.reads == Watching.compared + DRAWS + sum(index > 0 for index, _ in draws), "the record's two ends"


@pytest.mark.parametrize("probs", LAWS, ids=str)
def test_alias_reads_each_probability_twice_and_a_draw_one_or_two_entries(probs: Tensor) -> None:
    watched, k = Watched(probs.tolist()), len(probs)
    table = samplers.build_alias(watched)
    build, draw = counts("alias", probs)
    assert build == watched.reads + table.transfers and 2 * k <= watched.reads and build <= 5 * k
    thresholds, aliases, Watching.compared = Watched(table.thresholds), Watched(table.aliases), 0
    counting = AliasTable(thresholds, aliases, table.transfers)  # type: ignore[arg-type]
    took = [samplers.alias(counting, u, Watching(coin))[1].took_alias for u, coin in uniforms(DRAWS, 2)]
    assert draw == thresholds.reads + aliases.reads == DRAWS + sum(took) and Watching.compared == DRAWS


@pytest.mark.parametrize("probs", LAWS, ids=str)
def test_sorting_first_costs_its_comparisons_more(probs: Tensor) -> None:
    Watching.compared = 0
    watched = Watched([Watching(prob) for prob in probs.tolist()])
    table = build_sorted(watched)
    assert counts("alias_sorted", probs)[0] == watched.reads + Watching.compared + table.transfers
    assert Watching.compared >= len(probs) - 1


@pytest.mark.parametrize("probs", LAWS, ids=str)
def test_gumbel_makes_one_noise_an_item(probs: Tensor) -> None:
    assert counts("gumbel", probs) == (0, DRAWS * len(probs))


def test_direct_costs_its_expectation() -> None:
    """sum (i + 1) p_i a draw; within six standard errors at 5,000 draws."""
    for law, k in (("uniform", 100), ("zipf", 100), ("random", 100)):
        probs, places = cost.weights(law, k), torch.arange(1, k + 1)
        expected = float((probs * places).sum())
        spread = math.sqrt(float((probs * places**2).sum()) - expected**2)
        draw = cost.point("direct", probs, 5000, effort=10**7).draw
        assert draw is not None and abs(draw / 5000 - expected) < 6 * spread / math.sqrt(5000)
    assert float((cost.weights("uniform", 100) * torch.arange(1, 101)).sum()) == pytest.approx(50.5)


def test_the_laws_for_costs() -> None:
    for name in cost.LAWS:
        probs = cost.weights(name, 1000, seed=1)
        assert float(probs.sum()) == pytest.approx(1) and float(probs.min()) > 0 and len(probs) == 1000
        assert torch.equal(probs, cost.weights(name, 1000, seed=1))


# Points, curves and tables


def test_a_large_point_is_counted_in_part_and_multiplied() -> None:
    probs = cost.weights("uniform", 1000)
    part = cost.point("gumbel", probs, 10_000, effort=7_500)
    assert part.counted == 10 and part.timed == 150 and part.draw == 10_000 * 1000
    whole = cost.point("gumbel", probs, 10, effort=7_500)
    assert whole.counted == whole.timed == 10 and 0 < whole.seconds < part.seconds


def test_measuring_goes_job_by_job_and_can_be_stopped() -> None:
    measuring = cost.measure(SMALL)
    first = next(measuring)
    assert (first.algorithm, first.items, first.draws) == SMALL.jobs()[0]
    measuring.close()
    assert list(measuring) == []


@pytest.fixture(scope="module")
def points() -> list[CostPoint]:
    return list(cost.measure(SMALL))


def test_a_table_has_every_curve_in_order(points: list[CostPoint]) -> None:
    assert [(p.algorithm, p.items, p.draws) for p in points] == list(SMALL.jobs())
    table = cost.table(SMALL, points, "here")
    assert [c.algorithm for c in table.against_items] == list(cost.ALGORITHMS)
    for by_items, by_draws in zip(table.against_items, table.against_draws, strict=True):
        assert [(p.items, p.draws) for p in by_items.points] == [(k, 20) for k in SMALL.items]
        assert [(p.items, p.draws) for p in by_draws.points] == [(10, n) for n in SMALL.draws]
        assert all(p.seconds > 0 for p in by_items.points + by_draws.points)
    assert codec.loads(codec.dumps(table), CostTable) == table
    assert table.machine == "here" and set(table.versions) == {"python", "torch"}


def test_a_line_is_its_bound_with_one_constant(points: list[CostPoint]) -> None:
    for curve in cost.table(SMALL, points).against_items:
        if curve.algorithm == "multinomial":
            assert curve.theory == () and all(p.operations is None for p in curve.points)
            continue
        bounds = [cost.BOUNDS[curve.algorithm][1](p.items, p.draws) for p in curve.points]
        assert curve.theory == pytest.approx([curve.constant * bound for bound in bounds])
        ratios = [(p.operations or 0) / line for p, line in zip(curve.points, curve.theory, strict=True)]
        assert math.prod(ratios) == pytest.approx(1) and curve.bound == cost.BOUNDS[curve.algorithm][0]
        assert curve.seconds_constant * bounds[-1] == pytest.approx(curve.points[-1].seconds)
    assert cost.BOUNDS["binary"][1](1024, 7) == 1024 + 70 and cost.BOUNDS["alias_sorted"][1](8, 5) == 29


def test_counts_grow_as_the_theory_says() -> None:
    """From k to 16 k at n = 50, and from n to 16 n at k = 256, on a uniform law."""

    def operations(algorithm: str, k: int, n: int) -> int:
        found = cost.point(algorithm, cost.weights("random", k), n, effort=10**6).operations
        assert found
        return found

    for algorithm, (_, bound) in cost.BOUNDS.items():
        for small, big in (((256, 50), (4096, 50)), ((256, 50), (256, 800))):
            growth = operations(algorithm, *big) / operations(algorithm, *small)
            assert growth == pytest.approx(bound(*big) / bound(*small), rel=0.35)


def test_the_table_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(record, "ITEMS", (10, 1000))
    monkeypatch.setattr(record, "DRAWS", (1, 1000))
    threads = torch.get_num_threads()
    record.main([str(tmp_path / "cost.json"), "--effort", "1000", "--law", "zipf"])
    torch.set_num_threads(threads)
    table = codec.loads((tmp_path / "cost.json").read_text(), CostTable)
    assert table.law == "zipf" and table.threads == 1 and len(table.against_items[0].points) == 2
    assert "18 of 18" in capsys.readouterr().err

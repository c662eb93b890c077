"""Each sampler against the exact law: by enumeration where that is possible, else on a million draws."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from torch import Tensor

from decoding.samplers import (
    SAMPLERS,
    AliasTable,
    alias,
    argmax,
    binary_search,
    build_alias,
    cumulate,
    direct,
    gumbel_max,
    gumbel_noise,
)

LAW = [0.4, 0.25, 0.15, 0.1, 0.06, 0.03, 0.01]
DRAWS = 1_000_000
FALSE_ALARM = 1e-6
"""Odds that a right sampler fails one chi-square test. The seeds are fixed, so a pass stays a pass."""

BELOW_ONE = 1 - 2.0**-53
INF = math.inf
many = settings(max_examples=200, deadline=None, derandomize=True)


@st.composite
def laws(draw: st.DrawFn) -> list[float]:
    """Up to 40 probabilities; some 0, some tiny; in any order; the float sum may miss 1 by rounding."""
    weights = draw(
        st.lists(
            st.one_of(st.just(0.0), st.floats(1e-6, 1), st.integers(1, 3).map(float), st.just(1e-300)), max_size=39
        )
    )
    weights.insert(draw(st.integers(0, len(weights))), draw(st.floats(0.1, 1)))
    total = sum(weights)
    return [weight / total for weight in weights]


def chi_square_odds(counts: Counter[int], law: list[float]) -> float:
    """How often a right sampler would be at least so far off."""
    total = counts.total()
    assert set(counts) <= {i for i, p in enumerate(law) if p > 0}
    statistic = sum((counts[i] - total * p) ** 2 / (total * p) for i, p in enumerate(law) if p > 0)
    return float(chi2.sf(statistic, sum(p > 0 for p in law) - 1))


def uniforms(seed: int, *shape: int) -> Tensor:
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def column_law(table: AliasTable) -> list[float]:
    """The exact law of a table: the sum over its columns of either side's share."""
    size = len(table.thresholds)
    parts: list[list[float]] = [[] for _ in range(size)]
    for column, (threshold, other) in enumerate(zip(table.thresholds, table.aliases, strict=True)):
        parts[column].append(threshold / size)
        parts[other].append((1 - threshold) / size)
    return [math.fsum(part) for part in parts]


# argmax


def test_argmax_says_by_how_much() -> None:
    index, work = argmax(torch.tensor([1.0, 4.0, -INF, 2.5]))
    assert (index, work.runner_up, work.gap, work.ties) == (1, 3, 1.5, 1)


def test_argmax_takes_the_lowest_id_on_ties() -> None:
    index, work = argmax(torch.tensor([1.0, 4.0, 2.0, 4.0, 4.0]))
    assert (index, work.runner_up, work.gap, work.ties) == (1, 3, 0.0, 3)


def test_argmax_of_one_token_has_no_runner_up() -> None:
    for logits in (torch.tensor([2.0]), torch.tensor([-INF, 2.0, -INF])):
        index, work = argmax(logits)
        assert (index, work.runner_up, work.gap, work.ties) == (len(logits) // 2, None, None, 1)


@pytest.mark.parametrize("logits", [[-INF, -INF], [math.nan, 1.0]])
def test_argmax_and_gumbel_refuse_broken_logits(logits: list[float]) -> None:
    with pytest.raises(AssertionError):
        argmax(torch.tensor(logits))
    with pytest.raises(AssertionError):
        gumbel_max(torch.tensor(logits), torch.tensor([0.5, 0.5]))


# direct and binary search


def test_direct_records_the_scan() -> None:
    index, draw = direct([0.5, 0.25, 0.25], 0.6)
    assert index == 1 and (draw.uniform, draw.scanned, draw.low, draw.high) == (0.6, 2, 0.5, 0.75)
    assert direct(torch.tensor([0.5, 0.25, 0.25]), 0.0) == (0, direct([0.5, 0.25, 0.25], 0.0)[1])


def test_binary_search_records_each_probe() -> None:
    index, draw = binary_search(cumulate([0.5, 0.25, 0.125, 0.125]), 0.8)
    assert index == draw.index == 2 and (draw.low, draw.high) == (0.75, 0.875)
    assert [(p.low, p.high, p.index, p.cumulative, p.went_left) for p in draw.probes] == [
        (0, 3, 1, 0.75, False),
        (2, 3, 2, 0.875, True),
    ]


@many
@given(laws(), st.lists(st.floats(0, BELOW_ONE), max_size=10))
def test_direct_and_binary_search_agree_everywhere(law: list[float], more: list[float]) -> None:
    sums = cumulate(law)
    ends = [u for end in [0.0, *sums.tolist()] for u in (math.nextafter(end, 0), end, math.nextafter(end, 1))]
    grid = [i / 64 for i in range(64)]
    for uniform in [u for u in ends + grid + more if 0 <= u < 1] + [BELOW_ONE]:
        index, scan = direct(law, uniform)
        assert law[index] > 0 and scan.low <= uniform < scan.high and scan.scanned <= len(law)
        other, search = binary_search(sums, uniform)
        assert other == index and search.low <= uniform < search.high
        assert (search.low, search.high) == pytest.approx((scan.low, scan.high), abs=1e-12)
        assert len(search.probes) <= math.ceil(math.log2(len(law)))
        for probe in search.probes:
            assert probe.low <= probe.index < probe.high and probe.went_left == (uniform < probe.cumulative)


@many
@given(laws())
def test_the_lengths_of_the_intervals_are_the_law(law: list[float]) -> None:
    sums = cumulate(law).tolist()
    lengths = [high - low for low, high in zip([0.0, *sums], sums, strict=False)]
    assert lengths == pytest.approx(law, abs=1e-12)


def test_a_float32_law_short_of_one_still_ends_on_an_item_that_can_be_drawn() -> None:
    law = torch.tensor([0.9, 0.0999999, 0.0, 0.0])
    assert float(law.double().sum()) < 1
    assert direct(law, BELOW_ONE)[0] == binary_search(cumulate(law), BELOW_ONE)[0] == 1
    assert direct(law, BELOW_ONE)[1].high == binary_search(cumulate(law), BELOW_ONE)[1].high == 1


# Alias


@many
@given(laws())
def test_alias_table_holds_exactly_the_law(law: list[float]) -> None:
    table = build_alias(law)
    assert column_law(table) == pytest.approx(law, abs=1e-12)
    assert all(0 <= threshold <= 1 for threshold in table.thresholds) and table.transfers < len(law)
    assert all(drawn == 0 for drawn, p in zip(column_law(table), law, strict=True) if p == 0)


@many
@given(laws())
def test_alias_draws_what_its_table_holds(law: list[float]) -> None:
    """Both sides of every column, at their ends."""
    table, size = build_alias(law), len(law)
    for column, threshold in enumerate(table.thresholds):
        for uniform in ((column + 0.5) / size, min(math.nextafter((column + 1) / size, 0), BELOW_ONE)):
            for coin in {0.0, math.nextafter(threshold, 0), threshold, BELOW_ONE} - {1.0}:
                item, pick = alias(table, uniform, coin)
                assert law[item] > 0 and abs(pick.column - column) <= 1
                assert pick.took_alias == (coin >= table.thresholds[pick.column])
                assert item == (table.aliases[pick.column] if pick.took_alias else pick.column)


@pytest.mark.parametrize("size", [1000, 49_152])
def test_alias_of_a_long_float32_law(size: int) -> None:
    law = (torch.randn(size, generator=torch.Generator().manual_seed(3)) * 3).softmax(-1)
    law[7::5] = 0
    law /= law.sum()
    exact = law.double() / law.double().sum()
    drawn = torch.tensor(column_law(build_alias(law)), dtype=torch.float64)
    assert float((drawn - exact).abs().max()) < 1e-12 and not drawn[law == 0].any()


def test_a_zero_left_over_by_rounding_is_never_drawn() -> None:
    law = [0.0] + [0.1] * 10
    assert all(direct(law, u)[0] and alias(build_alias(law), 0.0, u)[0] for u in (0.0, 0.5, BELOW_ONE))


# Gumbel-max


def test_gumbel_noise_is_its_formula_and_finite_at_both_ends() -> None:
    noise = gumbel_noise(torch.tensor([0.5, 1 / math.e, 0.0, BELOW_ONE], dtype=torch.float64))
    assert noise[:2].tolist() == pytest.approx([-math.log(math.log(2)), 0.0])
    assert noise[2:].tolist() == pytest.approx([-3.6227, 36.7368], abs=1e-3)


def test_gumbel_max_records_noise_and_scores_and_never_draws_a_removed_token() -> None:
    logits = torch.tensor([1.0, -INF, 0.5])
    for row in torch.cat([uniforms(4, 500, 3), torch.tensor([[0.0, BELOW_ONE, 0.0]], dtype=torch.float64)]):
        index, work = gumbel_max(logits, row)
        assert index != 1 and torch.equal(work.scores, logits.double() + work.noise)
        assert index == int(work.scores.argmax()) and work.noise.isfinite().all()


def test_gumbel_max_on_a_grid_is_the_law() -> None:
    """Two items: u_0 decides between them where u_1 is fixed, so a fine grid integrates the law."""
    law, size = [0.7, 0.3], 60
    cells = (torch.arange(size, dtype=torch.float64) + 0.5) / size
    logits = torch.tensor(law).log()
    wins = sum(gumbel_max(logits, torch.stack([a, b]))[0] == 0 for a in cells for b in cells)
    assert wins / size**2 == pytest.approx(0.7, abs=0.01)


def test_frozen_noise_gives_one_token_and_fresh_noise_the_law() -> None:
    logits = torch.tensor(LAW).log()
    frozen = uniforms(5, len(LAW))
    assert len({gumbel_max(logits, frozen)[0] for _ in range(50)}) == 1
    assert len({gumbel_max(logits, row)[0] for row in uniforms(5, 50, len(LAW))}) > 2


# The same law: a million draws each

SUMS, TABLE = cumulate(LAW).tolist(), build_alias(LAW)


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda u, coin: direct(LAW, u)[0], id="direct"),
        pytest.param(lambda u, coin: binary_search(SUMS, u)[0], id="binary"),
        pytest.param(lambda u, coin: alias(TABLE, u, coin)[0], id="alias"),
    ],
)
def test_a_million_draws_follow_the_law(draw: Callable[[float, float], int]) -> None:
    pairs = uniforms(11, 2, DRAWS).tolist()
    assert chi_square_odds(Counter(map(draw, *pairs)), LAW) > FALSE_ALARM


def test_a_million_gumbel_draws_follow_the_law() -> None:
    """All rows at once; the readable function gives the same on the first thousand."""
    logits, rows = torch.tensor(LAW, dtype=torch.float64).log(), uniforms(12, DRAWS, len(LAW))
    drawn = (logits + gumbel_noise(rows)).argmax(-1)
    assert [gumbel_max(logits, row)[0] for row in rows[:1000]] == drawn[:1000].tolist()
    assert chi_square_odds(Counter(drawn.tolist()), LAW) > FALSE_ALARM


def test_the_chi_square_test_can_fail() -> None:
    """A law off by 0.4 % of one item is told apart on a million draws."""
    wrong = [p + d for p, d in zip(LAW, [0.004, -0.004, 0, 0, 0, 0, 0], strict=True)]
    sums = cumulate(wrong)
    drawn = torch.searchsorted(sums, uniforms(11, DRAWS), right=True)
    assert chi_square_odds(Counter(drawn.tolist()), LAW) < FALSE_ALARM


# What holds for all


def test_one_item_is_always_drawn() -> None:
    for uniform in (0.0, 0.3, BELOW_ONE):
        index, draw = binary_search(cumulate([1.0]), uniform)
        assert index == 0 and draw.probes == () and (draw.low, draw.high) == (0, 1)
        assert direct([1.0], uniform)[0] == 0
        assert alias(build_alias([1.0]), uniform, uniform)[0] == 0
        assert gumbel_max(torch.tensor([-5.0]), torch.tensor([uniform]))[0] == 0


@pytest.mark.parametrize("law", [[0.0, 1.0, 0.0], [0.0, 0.5, 0.0, 0.5, 0.0], [1e-300, 1.0, 0.0]])
def test_an_item_of_probability_zero_is_never_drawn(law: list[float]) -> None:
    sums, table = cumulate(law), build_alias(law)
    for uniform in [0.0, 5e-324, *(i / 97 for i in range(97)), BELOW_ONE]:
        drawn = {direct(law, uniform)[0], binary_search(sums, uniform)[0]}
        drawn |= {alias(table, uniform, coin)[0] for coin in (0.0, 0.5, BELOW_ONE)}
        assert all(law[index] > 0 for index in drawn)


@pytest.mark.parametrize("law", [[0.0, 0.0], [0.5, 0.2]])
def test_what_is_no_law_is_refused(law: list[float]) -> None:
    with pytest.raises(AssertionError):
        cumulate(law)
    with pytest.raises(AssertionError):
        build_alias(law)


def test_names() -> None:
    assert set(SAMPLERS) == {"argmax", "direct", "binary", "alias", "gumbel"}

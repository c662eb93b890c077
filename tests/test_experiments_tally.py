"""Counts against the law: the test's statistic and odds as scipy has them, its law under a right sampler, distances."""

from __future__ import annotations

import math
from statistics import mean

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2, chisquare

from decoding.experiments import batch, laws, tally
from decoding.experiments.values import Fit

LAW = laws.parse("0.4 0.25 0.15 0.1 0.06 0.04")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=30).filter(any), st.data())
def test_the_test_is_pearsons(counts: list[int], data: st.DataObject) -> None:
    size = len(counts)
    weights = data.draw(st.lists(st.floats(0.01, 1), min_size=size, max_size=size))
    probs = [weight / sum(weights) for weight in weights]
    expected = [sum(counts) * prob for prob in probs]
    fit = tally.fit(counts, probs)
    if min(expected) >= tally.FEWEST_EXPECTED:
        scipys = chisquare(counts, expected, sum_check=False)
        assert fit.statistic == pytest.approx(scipys.statistic) and fit.pooled == 0
        assert fit.degrees == size - 1 and fit.p_value == pytest.approx(scipys.pvalue, rel=1e-9, abs=1e-300)
    else:
        assert fit.pooled >= 1 and 0 <= fit.p_value <= 1 and fit.degrees < size


def test_rare_items_share_a_cell() -> None:
    """100 draws: 60, 30, 6, 2, 1, 1 are expected, so the last three share 4 and take the 6 too."""
    fit = tally.fit([55, 33, 7, 3, 2, 0], [0.6, 0.3, 0.06, 0.02, 0.01, 0.01])
    statistic = 25 / 60 + 9 / 30 + 4 / 10
    assert fit == Fit(pytest.approx(statistic), 2, pytest.approx(chi2.sf(statistic, 2)), pooled=4)


def test_few_draws_leave_nothing_to_test() -> None:
    assert tally.fit([1, 0, 0], [0.5, 0.3, 0.2]) == Fit(0.0, 0, 1.0, pooled=3)
    assert tally.fit([7], [1.0]) == Fit(0.0, 0, 1.0, pooled=0)


def test_an_impossible_item_condemns_a_sampler() -> None:
    assert tally.fit([600, 399, 1], [0.6, 0.4, 0.0]) == Fit(None, 1, 0.0, 0)
    assert tally.fit([600, 400, 0], [0.6, 0.4, 0.0]) == Fit(0.0, 1, 1.0, 0)


def test_a_tally_by_hand() -> None:
    law = laws.parse("0.5 0.3 0.2")
    result = tally.tally("direct", law, torch.tensor([0] * 40 + [1] * 35 + [2] * 25))
    assert result.counts == (40, 35, 25) and result.draws == 100 and result.sampler == "direct"
    assert result.total_variation == pytest.approx(0.1)
    assert result.fit.statistic == pytest.approx(100 / 50 + 25 / 30 + 25 / 20)


@pytest.mark.parametrize("sampler", batch.PREPARE)
def test_the_odds_of_a_right_sampler_are_uniform(sampler: str) -> None:
    """In 400 runs, odds below .1 come in a tenth of them; outside 1e-6 on either side would be a false alarm."""
    odds = [tally.sample(sampler, LAW, 2000, seed).fit.p_value for seed in range(400)]
    for border in (0.1, 0.5, 0.9):
        below = sum(p < border for p in odds)
        assert binom.ppf(1e-6, 400, border) <= below <= binom.isf(1e-6, 400, border)


def test_the_grid() -> None:
    assert tally.grid(1) == (1,)
    sizes = tally.grid(100_000)
    assert sizes[0] == 1 and sizes[-1] == 100_000 and list(sizes) == sorted(set(sizes)) and len(sizes) < 40
    assert tally.grid(70)[-1] == 70


def test_convergence_is_the_total_variation_of_the_first_draws() -> None:
    result = tally.converge(LAW, ["alias", "gumbel"], 3000, seed=4)
    probs = torch.tensor(LAW.probs, dtype=torch.float64)
    for curve in result.curves:
        drawn = batch.draw(curve.sampler, probs, 3000, 4)
        wanted = [tally.tally(curve.sampler, LAW, drawn[:n]).total_variation for n in result.draws]
        assert curve.total_variation == pytest.approx(wanted)


@pytest.mark.parametrize("name", ["uniform", "zipf"])
def test_the_expected_total_variation_is_the_mean_of_many_runs(name: str) -> None:
    """600 runs of 5,000 draws; their mean is within 6 % of constant / sqrt(n), over five standard errors."""
    law = laws.preset(name, 10)
    result = tally.converge(law, [], 5000, 0)
    assert result.expected[-1] == pytest.approx(result.constant / math.sqrt(5000))
    distances = [tally.sample("binary", law, 5000, seed).total_variation for seed in range(600)]
    assert mean(distances) == pytest.approx(result.expected[-1], rel=0.06)

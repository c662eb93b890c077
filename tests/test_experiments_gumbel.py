"""Frozen noise, drawing without replacement and the race, each against its exact law."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chisquare

from decoding import codec
from decoding.experiments import gumbel, laws
from decoding.experiments.values import Bins, Frozen, Race, TopKDraws
from decoding.samplers import gumbel_max
from tests.test_samplers import DRAWS, FALSE_ALARM, uniforms

LAW = laws.parse("0.45 0.3 0.15 0.1")
WEIGHTS = [3.0, 1.0, 0.5, 0.0, 2.5]

# Frozen noise


@pytest.mark.parametrize("seed", range(5))
def test_frozen_noise_gives_one_item_and_fresh_noise_the_law(seed: int) -> None:
    result = gumbel.frozen(LAW, 20_000, seed)
    assert result.frozen.counts[result.winner] == 20_000 and sum(result.frozen.counts) == 20_000
    assert result.frozen.fit.p_value < FALSE_ALARM < result.fresh.fit.p_value
    scores = [math.log(prob) + noise for prob, noise in zip(LAW.probs, result.noise, strict=True)]
    assert result.winner == scores.index(max(scores))
    assert codec.loads(codec.dumps(result), Frozen) == result


def test_frozen_noise_is_that_of_the_first_fresh_draw() -> None:
    first = uniforms(3, 1, len(LAW.probs))[0]
    index, work = gumbel_max(torch.tensor(LAW.probs, dtype=torch.float64).log(), first)
    result = gumbel.frozen(LAW, 1, 3)
    assert result.noise == tuple(work.noise.tolist()) and result.fresh.counts == result.frozen.counts
    assert result.fresh.counts[index] == 1


def test_frozen_noise_over_all_noises_is_the_law() -> None:
    """Each user alone sees one item; which one, over 3,000 seeds, still follows the law: so it is easy to miss."""
    winners = [gumbel.frozen(LAW, 1, seed).winner for seed in range(3000)]
    counts = [winners.count(i) for i in range(4)]
    assert chisquare(counts, [3000 * prob for prob in LAW.probs]).pvalue > FALSE_ALARM


# Without replacement


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.just(0.0), st.floats(0.01, 1)), min_size=1, max_size=6).filter(any), st.data())
def test_orders_are_conditional_draws(weights: list[float], data: st.DataObject) -> None:
    """Each next item is drawn from those left, by their probabilities divided by their sum."""
    probs = [weight / math.fsum(weights) for weight in weights]
    size = data.draw(st.integers(1, sum(prob > 0 for prob in probs)))
    exact = gumbel.orders(probs, size)
    assert math.fsum(exact.values()) == pytest.approx(1, abs=1e-12)
    assert set(exact) == set(permutations([i for i, prob in enumerate(probs) if prob > 0], size))
    for order, prob in exact.items():
        wanted = math.prod(probs[i] / (1 - math.fsum(probs[j] for j in order[:place])) for place, i in enumerate(order))
        assert prob == pytest.approx(wanted, rel=1e-9)


def test_orders_by_hand_and_beside_a_near_certain_item() -> None:
    assert gumbel.orders([0.5, 0.25, 0.25], 2) == pytest.approx(
        {(0, 1): 0.25, (0, 2): 0.25, (1, 0): 1 / 6, (1, 2): 1 / 12, (2, 0): 1 / 6, (2, 1): 1 / 12}
    )
    tiny = 1e-18
    assert gumbel.orders([1.0, tiny, 3 * tiny], 2)[0, 2] == pytest.approx(0.75)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_million_top_k_draws_follow_the_orders(size: int) -> None:
    result = gumbel.top_k(LAW, size, DRAWS, seed=7)
    assert result.fit.p_value > FALSE_ALARM and result.fit.degrees == math.perm(4, size) - 1
    assert sum(order.count for order in result.orders) == DRAWS
    assert [order.prob for order in result.orders] == sorted((o.prob for o in result.orders), reverse=True)
    assert sum(result.inclusion) == pytest.approx(size) and sum(result.included) == size * DRAWS
    for included, exact in zip(result.included, result.inclusion, strict=True):
        assert abs(included - DRAWS * exact) <= 6 * math.sqrt(DRAWS * exact * max(0, 1 - exact)) + 1e-6


def test_size_one_is_the_law_and_all_items_are_always_in() -> None:
    one, four = gumbel.top_k(LAW, 1, 100, seed=1), gumbel.top_k(LAW, 4, 100, seed=1)
    assert one.inclusion == pytest.approx(LAW.probs)
    assert four.included == (100,) * 4 and four.inclusion == pytest.approx((1.0,) * 4)
    assert codec.loads(codec.dumps(four), TopKDraws) == four


def test_impossible_items_are_in_no_order() -> None:
    law = laws.parse("a:0 b:2 c:1 d:0")
    assert gumbel.largest_size(law) == 2
    result = gumbel.top_k(law, 2, 1000, seed=1)
    assert {order.indices for order in result.orders} == {(1, 2), (2, 1)} and result.included == (0, 1000, 1000, 0)


def test_the_largest_size_keeps_the_orders_few() -> None:
    for size in (2, 5, 6, 7, 12, 50):
        law = laws.preset("uniform", size)
        largest = gumbel.largest_size(law)
        assert math.perm(size, largest) <= gumbel.MOST_ORDERS
        assert largest == size or math.perm(size, largest + 1) > gumbel.MOST_ORDERS
        drawn = gumbel.top_k(law, largest, 2000, seed=3)
        assert sum(order.count for order in drawn.orders) == 2000


# The race


@pytest.fixture(scope="module")
def result() -> Race:
    return gumbel.race(WEIGHTS, DRAWS, seed=5)


def test_the_integral_behind_the_race() -> None:
    """P(i is first) = integral of w_i exp(-w_i t) prod_j exp(-w_j t) dt = w_i / W."""
    for i, weight in enumerate(WEIGHTS):
        others = math.fsum(WEIGHTS) - weight
        first, _ = quad(lambda t, w=weight, o=others: w * math.exp(-w * t) * math.exp(-o * t), 0, math.inf)
        assert first == pytest.approx(laws.of_weights(WEIGHTS).probs[i])


def test_who_is_first_follows_the_weights(result: Race) -> None:
    assert result.total == 7 and result.wins.law.probs == pytest.approx([w / 7 for w in WEIGHTS])
    assert result.wins.fit.p_value > FALSE_ALARM and result.wins.counts[3] == 0


def odds(bins: Bins, draws: int) -> float:
    """Chi-square with one more cell for what is outside."""
    counts, exact = [*bins.counts, draws - sum(bins.counts)], [*bins.exact, 1 - math.fsum(bins.exact)]
    cells = [(count, draws * prob) for count, prob in zip(counts, exact, strict=True)]
    large = [cell for cell in cells if cell[1] >= 5]
    rest = [sum(cell[side] for cell in cells if cell[1] < 5) for side in (0, 1)]
    observed, expected = zip(*large, *([tuple(rest)] if rest[1] else []), strict=True)
    return float(chisquare(observed, expected, sum_check=False).pvalue)


def test_the_first_time_and_the_best_score_follow_their_laws(result: Race) -> None:
    """The least time is exponential with rate W; the best score is Gumbel noise shifted by ln W."""
    assert odds(result.first_times, DRAWS) > FALSE_ALARM and odds(result.best_scores, DRAWS) > FALSE_ALARM
    first, best = result.first_times, result.best_scores
    for bins, below in (
        (first, lambda t: 1 - math.exp(-7 * t)),
        (best, lambda s: math.exp(-math.exp(-(s - math.log(7))))),
    ):
        for low, high, exact in zip(bins.edges, bins.edges[1:], bins.exact, strict=False):
            assert exact == pytest.approx(below(high) - below(low), abs=1e-12)
    assert first.edges[0] == 0 and sum(first.exact) > 0.99 and sum(best.exact) > 0.99


def test_the_first_time_does_not_depend_on_who_wins(result: Race) -> None:
    """Its mean is 1 / W for every winner, within six standard errors."""
    for mean, count in zip(result.mean_times, result.wins.counts, strict=True):
        assert (mean is None) == (count == 0)
        assert mean is None or abs(mean - 1 / 7) < 6 / 7 / math.sqrt(count)


def test_the_example_is_one_race_in_two_languages(result: Race) -> None:
    """The first to arrive is the highest score, since score = -ln time."""
    times = [runner.time for runner in result.example if runner.time is not None]
    scores = [runner.score for runner in result.example if runner.score is not None]
    winner = result.example[result.winner]
    assert winner.time == min(times) and winner.score == max(scores)
    for runner, weight in zip(result.example, WEIGHTS, strict=True):
        assert runner.weight == weight and runner.noise == pytest.approx(-math.log(-math.log(runner.uniform)))
        assert (runner.time is None) == (runner.score is None) == (weight == 0)
        if runner.time is not None and runner.score is not None:
            assert runner.time == pytest.approx(-math.log(runner.uniform) / weight)
            assert runner.score == pytest.approx(-math.log(runner.time))
    assert codec.loads(codec.dumps(result), Race) == result


def test_weights_need_no_softmax() -> None:
    """The same race from weights ten times as large: the same winners, ten times as soon."""
    once, more = gumbel.race([2, 1, 1], 1000, seed=2), gumbel.race([20, 10, 10], 1000, seed=2)
    assert once.wins.counts == more.wins.counts
    assert [r.time for r in once.example] == pytest.approx([10 * (r.time or 0) for r in more.example])

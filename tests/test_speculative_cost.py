"""What speculation should gain: every formula beside an enumeration of all that a round can do."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
import torch

from decoding import observe
from decoding.sampling import Uniforms
from decoding.speculative import cost
from decoding.speculative.drafters import drafter_of
from decoding.speculative.loop import speculate
from decoding.speculative.verification import Lossless
from decoding.speculative_settings import speculative_settings
from decoding.trace import MAX_GAMMA, ModelInfo
from decoding.values import ForwardTime, ForwardTimes
from tests.speculative_toys import Exact, Pair, Text, draft_toy, target_toy

INFO = ModelInfo("x", 100, 256, "cpu", "float32")
ALPHAS = (0.0, 0.25, 0.6, 0.8, 0.999, 1.0)


def times(milliseconds: Sequence[float]) -> ForwardTimes:
    """T(1), T(2), ..."""
    found = tuple(ForwardTime(count, each) for count, each in enumerate(milliseconds, start=1))
    return ForwardTimes(INFO, "here", 2, 100, 5_000_000, 1e9, found, found[:1])


def enumerated(chances: Sequence[float]) -> float:
    """Over all ways to accept or reject each draft: the tokens up to the first rejection, and one more."""
    total = 0.0
    for way in itertools.product((True, False), repeat=len(chances)):
        weight = 1.0
        for accepted, chance in zip(way, chances, strict=True):
            weight *= chance if accepted else 1 - chance
        total += weight * (1 + len(list(itertools.takewhile(bool, way))))
    return total


class Fixed(Pair):
    """The same two laws after every text, so that every draft is accepted with the same chance."""

    def __init__(self, p: Sequence[float], q: Sequence[float]) -> None:
        super().__init__(len(p), 0)
        laws = {"target": p, "draft": q}
        self.law = lambda whose, text: observe.law(torch.tensor(laws[whose], dtype=torch.float64).log())


# --- tokens a round --------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", range(7))
@pytest.mark.parametrize("alpha", ALPHAS)
def test_expected_tokens_by_enumeration(alpha: float, gamma: int) -> None:
    assert cost.expected_tokens(alpha, gamma) == pytest.approx(enumerated([alpha] * gamma), rel=1e-12)


@pytest.mark.parametrize("gamma", (1, 4, 16))
@pytest.mark.parametrize("alpha", ALPHAS[:-1])
def test_expected_tokens_are_equation_1(alpha: float, gamma: int) -> None:
    assert cost.expected_tokens(alpha, gamma) == pytest.approx((1 - alpha ** (gamma + 1)) / (1 - alpha), rel=1e-9)
    assert cost.expected_tokens(1.0, gamma) == gamma + 1


@pytest.mark.parametrize("chances", [(0.9, 0.5, 0.1), (0.0, 1.0, 1.0), (1.0, 0.3, 0.7, 0.2)])
def test_a_chance_for_each_position(chances: Text) -> None:
    assert cost.expected_tokens(chances, len(chances)) == pytest.approx(enumerated(chances))
    assert cost.expected_tokens(chances, 2) == pytest.approx(enumerated(chances[:2]))
    longer = [*chances, *chances[-1:] * 3]
    assert cost.expected_tokens(chances, len(longer)) == pytest.approx(enumerated(longer)), "the last goes on"


@pytest.mark.parametrize("gamma", (1, 2, 3))
def test_the_verifier_itself_writes_as_many(gamma: int) -> None:
    """Every draft, every coin: with alpha = sum min(p, q) the lossless rule's rounds are as long as the formula."""
    p, q = (0.5, 0.3, 0.2), (0.2, 0.2, 0.6)
    rounds = Exact(Fixed(p, q), Lossless(), tuple(range(-1, gamma - 1))).round((), tuple(range(-1, gamma - 1)))
    alpha = sum(map(min, p, q))
    mean = sum(weight * len(text) for text, weight in rounds.items())
    assert alpha == pytest.approx(0.6) and mean == pytest.approx(cost.expected_tokens(alpha, gamma), rel=1e-9)


# --- speed -----------------------------------------------------------------------------------------


def test_theorem_3_8_by_hand() -> None:
    assert cost.speedup(0.8, 4, 0.05) == pytest.approx((1 - 0.8**5) / (0.2 * (4 * 0.05 + 1)))
    assert cost.speedup(0.8, 4, 0.05) == pytest.approx(2.8013, abs=1e-4)
    assert cost.speedup(0.5, 1, 0.0) == 1.5
    assert cost.speedup(0.0, 3, 0.2) == pytest.approx(1 / 1.6), "drafts that are never accepted only cost"


@pytest.mark.parametrize("gamma", (1, 5, 15))
@pytest.mark.parametrize("alpha", (0.0, 0.7, (0.9, 0.4)))
def test_where_checking_costs_no_more_than_a_step_both_agree(alpha: cost.Acceptance, gamma: int) -> None:
    flat, draft = times([20.0] * 17), times([3.0] * 3)
    assert cost.timed_speedup(alpha, gamma, flat, draft) == pytest.approx(cost.speedup(alpha, gamma, 0.15))
    assert cost.timed_speedup(alpha, gamma, flat, None) == pytest.approx(cost.speedup(alpha, gamma, 0.0))


def test_a_round_by_hand() -> None:
    target, draft = times([20.0, 22.0, 25.0, 31.0]), times([4.0, 5.0])
    assert cost.round_milliseconds(3, target, draft) == 3 * 4 + 31
    assert cost.round_milliseconds(3, target, None) == 31
    expected = (1 + 0.5 + 0.25 + 0.125) * 20 / 43
    assert cost.timed_speedup(0.5, 3, target, draft) == pytest.approx(expected)


# --- the best gamma --------------------------------------------------------------------------------


@pytest.mark.parametrize("draft_cost", (0.0, 0.05, 0.3, 0.9))
@pytest.mark.parametrize("alpha", ALPHAS)
def test_no_other_gamma_is_better(alpha: float, draft_cost: float) -> None:
    best = cost.best_gamma(lambda gamma: cost.speedup(alpha, gamma, draft_cost))
    gains = [cost.speedup(alpha, gamma, draft_cost) for gamma in range(MAX_GAMMA + 1)]
    assert gains[0] == 1 and gains[best] == max(gains) and best == gains.index(max(gains))


def test_the_ends_of_the_range() -> None:
    assert cost.best_gamma(lambda gamma: cost.speedup(0.0, gamma, 0.1)) == 0, "plain decoding is best"
    assert cost.best_gamma(lambda gamma: cost.speedup(0.9, gamma, 0.0)) == MAX_GAMMA, "drafts for nothing"
    assert cost.best_gamma(lambda gamma: cost.speedup(0.9, gamma, 0.0), most=3) == 3
    assert cost.best_gamma(lambda gamma: 0.99) == 0 and cost.best_gamma(lambda gamma: 1.01) == 1


# --- acceptance by position ------------------------------------------------------------------------


def test_positions_are_counted_as_the_rounds_went() -> None:
    model, draft = target_toy(max_words=40), draft_toy(max_words=40)
    settings, uniforms = speculative_settings(drafter="toy", gamma=3, max_new_tokens=40), Uniforms(5)
    prompt = model.encode("")
    steps = list(speculate(model, drafter_of(model, draft, settings, uniforms), prompt, settings, uniforms))
    places = cost.by_place(steps)
    taken = [sum(verdict.accepted for verdict in step.verdicts) for step in steps]
    assert len(steps) > 3 and 1 <= len(places) <= 3
    for place, found in enumerate(places, start=1):
        assert found.judged == sum(len(step.verdicts) >= place for step in steps)
        assert found.accepted == sum(count >= place for count in taken)
    assert cost.by_place([]) == ()

"""The sweeps against the processors and the laws they stand for."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import asdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from torch import Tensor

from decoding.effects import effects, histogram
from decoding.errors import UserError
from decoding.processors import Temperature, TopP
from decoding.trace import Candidate, Distribution, Token

INF = math.inf
TEMPERATURES = [0, 1e-40, 1e-3, 0.05, 0.5, 0.7, 1, 1.3, 2, 3, 100]
TOP_PS = [0, 1e-9, 0.05, 0.3, 0.5, 0.8, 0.9, 0.95, 0.999, 1]


def token(id: int) -> Token:
    return Token(id, f"<{id}>")


def spread(size: int, scale: float = 3, seed: int = 0) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed)) * scale


@pytest.mark.parametrize(
    "logits",
    [
        spread(1),
        spread(500),
        spread(6000),
        spread(6000, 0.1),
        spread(300).round(),  # ties
        torch.zeros(100),
        spread(300, 1e30),
        spread(200).masked_fill(spread(200, seed=1) > 0, -INF),
        torch.tensor([0.3, 0.1, 0.1, 0.5]).log(),
        spread(400).bfloat16(),
    ],
)
def test_a_sweep_is_what_the_processors_give_one_by_one(logits: Tensor) -> None:
    ids = list(range(min(len(logits), 12)))
    found = effects(logits, ids, token, TEMPERATURES, TOP_PS)
    assert found.tokens == tuple(map(token, ids))
    for j, temperature in enumerate(TEMPERATURES):
        scaled = Temperature(temperature)(logits)
        law = scaled.softmax(-1, dtype=torch.float64)
        assert [found.probs[i][j] for i in range(len(ids))] == pytest.approx(law[ids].tolist(), abs=1e-14, rel=1e-12)
        bits = -sum(p * math.log2(p) for p in law.tolist() if p > 0)
        assert found.entropies[j] == pytest.approx(bits, abs=1e-9)
        for k, top_p in enumerate(TOP_PS):
            assert found.kept[k][j] == int((~TopP(top_p)(scaled).isneginf()).sum())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.one_of(st.floats(-20, 20, width=32), st.integers(-2, 2).map(float)), min_size=1, max_size=40),
    st.floats(0, 4),
    st.floats(0, 1),
)
def test_kept_counts_are_those_of_top_p(values: list[float], temperature: float, top_p: float) -> None:
    logits = torch.tensor(values, dtype=torch.float32)
    expected = int((~TopP(top_p)(Temperature(temperature)(logits)).isneginf()).sum())
    assert effects(logits, [0], token, [temperature], [top_p]).kept == ((expected,),)


def test_temperature_zero_is_one_hot_and_entropy_grows_with_temperature() -> None:
    logits = torch.tensor([1.0, 3.0, 3.0, -INF])
    found = effects(logits, [0, 1, 2, 3], token, TEMPERATURES, [1])
    assert [line[0] for line in found.probs] == [0, 1, 0, 0]
    assert found.entropies[0] == 0 and found.kept == ((1, *[3] * (len(TEMPERATURES) - 1)),)
    entropies = effects(spread(900), [0], token, TEMPERATURES, [1]).entropies
    assert list(entropies) == sorted(entropies) and entropies[-1] == pytest.approx(math.log2(900), abs=0.01)


def test_the_answer_is_plain_and_has_the_shape_promised() -> None:
    found = effects(spread(30), [4, 2], token, [0, 1, 2], [0.5, 0.9])
    assert json.loads(json.dumps(asdict(found)))["kept"][1][0] == 1
    assert (len(found.probs), len(found.probs[0]), len(found.kept), len(found.kept[0])) == (2, 3, 2, 3)
    none = effects(spread(30), [], token, [0, 1, 2], [])
    assert none.probs == () and none.kept == () and len(none.entropies) == 3


@pytest.mark.parametrize(("temperatures", "top_ps"), [([-1], [0.5]), ([1], [1.5]), ([math.nan], [0.5])])
def test_a_grid_out_of_range_is_refused(temperatures: list[float], top_ps: list[float]) -> None:
    with pytest.raises(UserError):
        effects(spread(5), [0], token, temperatures, top_ps)


def law_of(probs: Tensor, shown: list[int]) -> Distribution:
    top = tuple(Candidate(token(id), None, float(probs[id]), True) for id in shown)
    return Distribution(top, 1 - sum(c.prob for c in top), len(probs) - len(top), 0.0)


def test_the_expected_distance_is_the_mean_over_all_outcomes() -> None:
    probs, draws = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64), 4
    exact = 0.0
    for outcome in itertools.product(range(3), repeat=draws):
        chance = math.prod(float(probs[i]) for i in outcome)
        exact += chance * sum(abs(outcome.count(i) / draws - float(probs[i])) for i in range(3)) / 2
    found = histogram(probs, law_of(probs, [0, 1, 2]), draws, torch.Generator().manual_seed(0))
    assert found.expected == pytest.approx(exact, abs=1e-12)


def test_a_histogram_counts_every_draw_and_measures_the_distance() -> None:
    probs = torch.tensor([0.1, 0.5, 0.0, 0.25, 0.15])
    found = histogram(probs, law_of(probs, [1, 3, 2]), 1000, torch.Generator().manual_seed(0))
    assert found.draws == sum(found.counts) + found.tail_count == 1000 and found.counts[2] == 0
    shown_only = sum(abs(count / 1000 - c.prob) for count, c in zip(found.counts, found.law.top, strict=True)) / 2
    assert shown_only <= found.total_variation <= shown_only + 0.25
    again = histogram(probs, law_of(probs, [1, 3, 2]), 1000, torch.Generator().manual_seed(0))
    assert again == found
    everything = histogram(probs, law_of(probs, [0, 1, 2, 3, 4]), 1000, torch.Generator().manual_seed(0))
    distance = sum(abs(n / 1000 - c.prob) for n, c in zip(everything.counts, everything.law.top, strict=True)) / 2
    assert everything.total_variation == found.total_variation == pytest.approx(distance, abs=1e-7)


def test_a_histogram_of_a_million_draws_follows_the_law() -> None:
    """Odds of a false alarm: one in a million, once, as the seed is fixed."""
    probs = torch.tensor([0.4, 0.25, 0.15, 0.1, 0.06, 0.03, 0.01])
    found = histogram(probs, law_of(probs, list(range(7))), 1_000_000, torch.Generator().manual_seed(2))
    expected = [1_000_000 * float(p) for p in probs]
    statistic = sum((count - e) ** 2 / e for count, e in zip(found.counts, expected, strict=True))
    assert chi2.sf(statistic, 6) > 1e-6 and found.total_variation < 0.005


def test_a_histogram_of_a_certain_law_is_that_token() -> None:
    probs = torch.tensor([0.0, 1.0, 0.0])
    found = histogram(probs, law_of(probs, [1]), 50)
    assert (found.counts, found.tail_count, found.total_variation) == ((50,), 0, 0.0)


def test_a_uniform_on_a_border_draws_what_lies_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uniform of exactly 0 must not draw a first token of probability 0, nor .5 the one that ends there."""
    monkeypatch.setattr(torch, "rand", lambda *size, **options: torch.tensor([0.0, 0.5], dtype=torch.float64))
    probs = torch.tensor([0.0, 0.5, 0.5])
    assert histogram(probs, law_of(probs, [0, 1, 2]), 2).counts == (0, 1, 1)

"""Gumbel-top-k over a tree against the exact law of drawing without replacement, and its numbers at the extremes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, localcontext

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, gumbel_r, kstest
from torch import Tensor

from decoding.beam.stochastic import conditional_gumbels, gumbel_top_k
from decoding.experiments.gumbel import orders
from decoding.samplers import gumbel_noise

FALSE_ALARM = 1e-6
"""Odds that a right search fails one test of its law. The seeds are fixed, so a pass stays a pass."""
BELOW_ONE = 1 - 2.0**-53
INF = math.inf
many = settings(max_examples=200, deadline=None, derandomize=True)

Text = tuple[str, ...]
TREE: dict[Text, dict[str, float]] = {
    (): {"a": 0.5, "b": 0.3, ".": 0.2},
    ("a",): {"a": 0.1, "b": 0.6, ".": 0.3},
    ("b",): {"a": 0.9, ".": 0.1},
    ("a", "b"): {"a": 0.7, ".": 0.3},
}
"""Next-word laws; "." ends a text, and so does a context that is not listed."""


def uniforms(seed: int, *shape: int) -> Tensor:
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def texts(context: Text = (), prob: float = 1.0) -> dict[Text, float]:
    """Every whole text and its probability."""
    if context not in TREE:
        return {context: prob}
    found: dict[Text, float] = {}
    for word, own in TREE[context].items():
        found |= texts((*context, word), prob * own)
    return found


def search(k: int, noise: Tensor) -> tuple[list[tuple[Text, float]], int]:
    """The k texts that a stochastic beam search ends with, highest score first, and how many nodes it expanded."""
    beam, expanded, used = [((), 0.0, 0.0)], 0, 0
    while any(context in TREE for context, _, _ in beam):
        grown = [node for node in beam if node[0] not in TREE]
        for context, logprob, score in beam:
            if context not in TREE:
                continue
            law = TREE[context]
            logprobs = logprob + torch.tensor(list(law.values()), dtype=torch.float64).log()
            scores = conditional_gumbels(logprobs, score, noise[used : used + len(law)])
            expanded, used = expanded + 1, used + len(law)
            grown += zip(((*context, word) for word in law), logprobs.tolist(), scores.tolist(), strict=True)
        beam = sorted(grown, key=lambda node: -node[2])[:k]
    return [(context, score) for context, _, score in beam], expanded


# the law


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_k_texts_are_drawn_without_replacement(k: int) -> None:
    """Ordered samples: P(x_1, ..., x_k) = prod p_j / (1 - p_1 - ... - p_j-1), by enumeration of the whole tree."""
    whole = texts()
    names, draws = list(whole), 6_000
    assert len(names) == 7 and math.isclose(math.fsum(whole.values()), 1)
    exact = orders(list(whole.values()), k)
    found: Counter[tuple[int, ...]] = Counter()
    for noise in uniforms(k, draws, 20):
        best, _ = search(k, noise)
        found[tuple(names.index(text) for text, _ in best)] += 1
    assert set(found) <= set(exact)
    common = [order for order, prob in exact.items() if prob * draws >= 5]
    rest = 1 - math.fsum(exact[order] for order in common)
    counts = [found[order] for order in common] + (
        [draws - sum(found[order] for order in common)] if rest > 1e-9 else []
    )
    expected = [draws * exact[order] for order in common] + ([draws * rest] if rest > 1e-9 else [])
    assert len(common) >= 7 and chisquare(counts, expected, sum_check=False).pvalue > FALSE_ALARM


def test_a_search_wide_enough_finds_every_text() -> None:
    for noise in uniforms(5, 50, 20):
        best, expanded = search(7, noise)
        assert {text for text, _ in best} == set(texts()) and expanded == len(TREE)


def test_children_of_a_random_parent_are_independent_gumbels() -> None:
    """With T ~ Gumbel(ln sum exp phi), as a parent's score is, each child's is Gumbel(phi_i) and their order free."""
    logprobs = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64).log() - 2
    parents = (gumbel_noise(uniforms(1, 8000)) - 2).tolist()
    rows = uniforms(2, 8000, 4)
    scores = torch.stack([conditional_gumbels(logprobs, t, u) for t, u in zip(parents, rows, strict=True)])
    for column, location in zip(scores.T, logprobs.tolist(), strict=True):
        assert kstest(column.numpy(), gumbel_r(loc=location).cdf).pvalue > FALSE_ALARM
    exact = orders([0.5, 0.3, 0.15, 0.05], 4)
    found = Counter(tuple(row) for row in scores.argsort(-1, descending=True).tolist())
    common = [order for order, prob in exact.items() if prob * 8000 >= 5]
    counts, expected = [found[order] for order in common], [8000 * exact[order] for order in common]
    assert chisquare([*counts, 8000 - sum(counts)], [*expected, 8000 - sum(expected)]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("k", [1, 2, 4])
def test_gumbel_top_k_draws_without_replacement(k: int) -> None:
    law = [0.5, 0.3, 0.0, 0.15, 0.05]
    logprobs = torch.tensor(law, dtype=torch.float64).log() + 3  # a constant changes nothing
    found = Counter(tuple(gumbel_top_k(logprobs, k, row)[0].tolist()) for row in uniforms(3, 8000, 5))
    exact = orders(law, k)
    assert set(found) <= set(exact)
    common = [order for order, prob in exact.items() if prob * 8000 >= 5]
    counts, expected = [found[order] for order in common], [8000 * exact[order] for order in common]
    if len(common) < len(exact):
        counts, expected = [*counts, 8000 - sum(counts)], [*expected, 8000 - sum(expected)]
    assert chisquare(counts, expected, sum_check=False).pvalue > FALSE_ALARM


def test_gumbel_top_k_gives_scores_in_order_and_no_impossible_item() -> None:
    logprobs = torch.tensor([0.25, 0.0, 0.75], dtype=torch.float64).log()
    noise = torch.tensor([0.5, BELOW_ONE, 0.5], dtype=torch.float64)
    indices, scores = gumbel_top_k(logprobs, 3, noise)
    assert indices.tolist() == [2, 0]
    assert torch.equal(scores, (logprobs + gumbel_noise(noise))[indices])
    same = torch.full((4,), 0.5, dtype=torch.float64)
    assert gumbel_top_k(torch.zeros(4, dtype=torch.float64), 2, same)[0].tolist() == [0, 1], "lowest index on ties"


# the numbers


def exactly(logprobs: Sequence[float], parent: float, noise: Tensor) -> list[float]:
    """-ln(exp(-T) - exp(-Z) + exp(-G)) with 400 digits: exp(740) and exp(-50) in one sum."""
    with localcontext() as context:
        context.prec = 400
        scores = [Decimal(p) + Decimal(g) for p, g in zip(logprobs, gumbel_noise(noise).tolist(), strict=True)]
        sums = [(-Decimal(parent)).exp() - (-max(scores)).exp() + (-score).exp() for score in scores]
        return [float(-total.ln()) for total in sums]


hard = st.one_of(st.sampled_from([0.0, 2.0**-53, 0.5, BELOW_ONE]), st.floats(0, BELOW_ONE))
phis = st.one_of(st.floats(-700, 0), st.floats(-3, 0), st.sampled_from([-700.0, 0.0, -1e-9]))


parents = st.one_of(st.floats(-700, 50), st.just(50.0))


@settings(many, max_examples=60)
@given(st.lists(st.tuples(phis, hard), min_size=1, max_size=3), parents)
def test_equal_to_the_formula_in_exact_arithmetic(children: list[tuple[float, float]], parent: float) -> None:
    logprobs, noise = (torch.tensor(column, dtype=torch.float64) for column in zip(*children, strict=True))
    scores = conditional_gumbels(logprobs, parent, noise)
    assert scores.tolist() == pytest.approx(exactly(logprobs.tolist(), parent, noise), rel=1e-12, abs=1e-9)


@many
@given(st.lists(st.tuples(phis, hard), min_size=1, max_size=8), parents)
def test_finite_and_never_above_the_parent(children: list[tuple[float, float]], parent: float) -> None:
    logprobs, noise = (torch.tensor(column, dtype=torch.float64) for column in zip(*children, strict=True))
    scores = conditional_gumbels(logprobs, parent, noise)
    assert scores.isfinite().all() and scores.dtype == torch.float64
    assert float(scores.max()) == parent, "their maximum is the parent's score"
    free = logprobs + gumbel_noise(noise)
    assert (scores[free.argsort()].diff() >= 0).all(), "the order of the unconditioned scores"


def test_a_near_tie_with_the_best_child_keeps_its_digits() -> None:
    """G - Z = -3 / 2^54 exactly, where exp(G - Z) is a third of it off: 1 - exp(G - Z) must not be taken from that."""
    logprobs, noise = [0.0, -3 * 2.0**-54], torch.tensor([0.5, 0.5], dtype=torch.float64)
    scores = conditional_gumbels(torch.tensor(logprobs, dtype=torch.float64), 37.0, noise)
    assert scores.tolist() == pytest.approx(exactly(logprobs, 37.0, noise), abs=1e-9)
    assert float(scores[1]) < 37 - 0.1


def test_far_apart() -> None:
    """Children 1e5 nats below, a parent of 50, uniforms at both ends: finite, and none above the parent."""
    logprobs = torch.tensor([-700.0, -1e5, 0.0, -1e-300], dtype=torch.float64)
    for corner in (0.0, 5e-324, 2.0**-60, BELOW_ONE, 1.0):
        for parent in (50.0, -700.0, -1e5, 1e-300):
            scores = conditional_gumbels(logprobs, parent, torch.full((4,), corner, dtype=torch.float64))
            assert scores.isfinite().all() and float(scores.max()) == parent


def test_an_impossible_child_stays_impossible() -> None:
    logprobs = torch.tensor([-1.0, -INF, -2.0], dtype=torch.float64)
    scores = conditional_gumbels(logprobs, -3.0, torch.tensor([0.2, BELOW_ONE, 0.9], dtype=torch.float64))
    assert scores[1] == -INF and float(scores.max()) == -3.0 and scores[[0, 2]].isfinite().all()
    alone = conditional_gumbels(torch.tensor([-INF, -5.0]), 2.0, torch.tensor([0.5, 0.5]))
    assert alone.tolist() == [-INF, 2.0]
    none = conditional_gumbels(torch.tensor([-INF, -INF]), 2.0, torch.tensor([0.5, 0.5]))
    assert none.tolist() == [-INF, -INF]

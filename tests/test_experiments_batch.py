"""Many draws at once: the same items as the readable functions from the same uniforms, and the exact law."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from decoding import samplers
from decoding.experiments import batch
from decoding.samplers import alias, binary_search, build_alias, cumulate, gumbel_max
from tests.test_samplers import BELOW_ONE, DRAWS, FALSE_ALARM, LAW, chi_square_odds, laws, uniforms

many = settings(max_examples=200, deadline=None, derandomize=True)
LONG = 50_000


def double(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def around(ends: list[float]) -> list[float]:
    """Each end and its two neighbours, those that are uniforms; a grid; both ends of [0, 1)."""
    close = [u for end in ends for u in (math.nextafter(end, 0), end, math.nextafter(end, 1))]
    return [u for u in close if 0 <= u < 1] + [i / 64 for i in range(64)] + [5e-324, BELOW_ONE]


def zipf(size: int) -> Tensor:
    weights = 1 / torch.arange(1, size + 1, dtype=torch.float64)
    return weights / weights.sum()


# Draw for draw the same


@many
@given(laws(), st.lists(st.floats(0, BELOW_ONE), max_size=10))
def test_direct_and_binary_draw_what_the_readable_functions_draw(law: list[float], more: list[float]) -> None:
    sums = cumulate(law)
    given = around(sums.tolist()) + more
    assert batch.direct(sums, double(given)).tolist() == [samplers.direct(law, u)[0] for u in given]
    assert batch.binary(sums, double(given)).tolist() == [binary_search(sums.tolist(), u)[0] for u in given]


@many
@given(laws())
def test_alias_draws_what_the_readable_function_draws(law: list[float]) -> None:
    table, size = build_alias(law), len(law)
    columns = around([column / size for column in range(size + 1)])
    coins = around(sorted(set(table.thresholds))[:8])
    pairs = [(u, coin) for u in columns for coin in coins]
    drawn = batch.alias(table, *double([list(pair) for pair in pairs]).unbind(-1))  # type: ignore[list-item]
    assert drawn.tolist() == [alias(table, u, coin)[0] for u, coin in pairs]


@many
@given(laws(), st.integers(0, 2**31))
def test_gumbel_draws_what_the_readable_function_draws(law: list[float], seed: int) -> None:
    """Also where the noise ties, and at both ends of the uniforms."""
    logits, rows = double(law).log(), uniforms(seed, 40, len(law))
    rows[0], rows[1], rows[2] = 0.0, BELOW_ONE, 0.5
    rows[3, ::2] = 0.0
    assert batch.gumbel(logits, rows).tolist() == [gumbel_max(logits, row)[0] for row in rows]


@pytest.mark.parametrize("law", [[0.0, 1.0, 0.0], [1.0], [0.5, 0.5], [0.0, 0.3, 0.3, 0.0, 0.4, 0.0], [1e-300, 1.0]])
def test_zeros_and_ties(law: list[float]) -> None:
    table, sums, given = build_alias(law), cumulate(law), double(around([i / len(law) for i in range(len(law))]))
    for drawn in (batch.direct(sums, given), batch.binary(sums, given), batch.alias(table, given, given.flip(0))):
        assert all(law[item] > 0 for item in drawn.tolist())
    assert all(law[i] > 0 for i in batch.draw("gumbel", double(law), 1000, 1).tolist())


def test_a_long_float32_law_agrees_draw_for_draw() -> None:
    law = (torch.randn(LONG, generator=torch.Generator().manual_seed(3)) * 3).softmax(-1)
    law[7::5] = 0
    law /= law.sum()
    sums, table, (u, coin) = cumulate(law), build_alias(law), uniforms(8, 2, 300)
    readable, listed = sums.tolist(), law.tolist()
    binary = [binary_search(readable, x)[0] for x in u.tolist()]
    assert batch.binary(sums, u).tolist() == binary == batch.direct(sums, u).tolist()
    assert binary[:40] == [samplers.direct(listed, x)[0] for x in u[:40].tolist()]
    assert batch.alias(table, u, coin).tolist() == [
        alias(table, *pair)[0] for pair in zip(u.tolist(), coin.tolist(), strict=True)
    ]
    rows = uniforms(9, 30, LONG)
    assert batch.gumbel(law.log(), rows).tolist() == [gumbel_max(law.log(), row)[0] for row in rows]


# Streams


@pytest.mark.parametrize("sampler", batch.PREPARE)
def test_the_first_draws_of_many_are_those_of_few(sampler: str) -> None:
    some = batch.draw(sampler, double(LAW), 2000, 5)
    assert some[:10].tolist() == batch.draw(sampler, double(LAW), 10, 5).tolist()
    assert some.shape == (2000,) and some.dtype == torch.int64
    assert some.tolist() != batch.draw(sampler, double(LAW), 2000, 6).tolist()


def test_direct_and_binary_take_the_same_uniforms() -> None:
    assert torch.equal(*(batch.draw(sampler, zipf(300), 5000, 5) for sampler in ("direct", "binary")))


@pytest.mark.parametrize("size", [7, 1000, batch.CHUNK, batch.CHUNK + 1])
def test_fresh_uniforms_come_in_small_chunks_of_one_stream(size: int) -> None:
    draws = 3 if size > 1000 else 3000
    chunks = list(batch.fresh(torch.Generator().manual_seed(2), draws, size))
    assert all(chunk.numel() <= max(batch.CHUNK, size) for chunk in chunks)
    assert torch.equal(torch.cat(chunks), uniforms(2, draws, size))


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sums, rows = cumulate(LAW), uniforms(3, 50, len(LAW))
    whole = batch.direct(sums, rows[:, 0]), batch.gumbel(double(LAW).log(), rows)
    monkeypatch.setattr(batch, "CHUNK", 20)
    assert torch.equal(batch.direct(sums, rows[:, 0]), whole[0])
    assert torch.equal(batch.gumbel(double(LAW).log(), rows), whole[1])


def test_no_uniforms_give_no_draws() -> None:
    assert batch.direct(cumulate(LAW), double([])).tolist() == []
    assert batch.gumbel(double(LAW).log(), torch.empty(0, len(LAW))).tolist() == []


# The law


@pytest.mark.parametrize("sampler", batch.PREPARE)
def test_a_million_draws_follow_the_law(sampler: str) -> None:
    drawn = batch.draw(sampler, double(LAW), DRAWS, 21)
    assert chi_square_odds(Counter(drawn.tolist()), LAW) > FALSE_ALARM


@pytest.mark.parametrize("sampler", ["binary", "alias"])
def test_a_million_draws_of_a_vocabulary_follow_the_law(sampler: str) -> None:
    """k = 50,000, in 40 cells of equal rank on a logarithmic scale."""
    probs = zipf(LONG)
    cell = (torch.arange(1, LONG + 1).log() / math.log(LONG) * 39.999).long()
    law = torch.zeros(40, dtype=torch.float64).index_add_(0, cell, probs)
    drawn = cell[batch.draw(sampler, probs, DRAWS, 22)]
    assert chi_square_odds(Counter(drawn.tolist()), law.tolist()) > FALSE_ALARM

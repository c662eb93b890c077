"""One slow draw in steps, and the alias table move by move: what is shown is what the samplers did."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import codec
from decoding.experiments import laws
from decoding.experiments.alias_build import build, build_sorted
from decoding.experiments.play import PLAYS, needed, play
from decoding.experiments.values import (
    AliasBuild,
    AliasPlay,
    AliasState,
    BinaryPlay,
    DirectPlay,
    GumbelPlay,
    Law,
)
from decoding.samplers import alias, binary_search, build_alias, cumulate, direct, gumbel_max
from decoding.trace import Token
from tests.test_samplers import BELOW_ONE, column_law
from tests.test_samplers import laws as any_law

many = settings(max_examples=200, deadline=None, derandomize=True)
uniform = st.one_of(st.sampled_from([0.0, 5e-324, 0.5, BELOW_ONE]), st.floats(0, BELOW_ONE))


def named(probs: list[float]) -> Law:
    return Law("typed", tuple(Token(i, laws.letters(i)) for i in range(len(probs))), tuple(probs))


# Slow draws


@many
@given(any_law(), uniform)
def test_the_scan_ends_where_direct_does(probs: list[float], u: float) -> None:
    shown = play("direct", named(probs), [u])
    assert isinstance(shown, DirectPlay)
    assert (shown.chosen, shown.draw) == direct(probs, u)
    assert [step.index for step in shown.steps] == list(range(shown.chosen + 1))
    assert [step.passed for step in shown.steps] == [False] * shown.chosen + [True]
    assert all(not u < step.high for step in shown.steps[:-1]) and u < shown.steps[-1].high
    assert all(before.high == after.low for before, after in pairwise(shown.steps)) and shown.steps[0].low == 0
    assert (shown.steps[-1].low, shown.steps[-1].high) == (shown.draw.low, shown.draw.high)


@many
@given(any_law(), uniform)
def test_the_bisection_is_that_of_binary_search(probs: list[float], u: float) -> None:
    shown = play("binary", named(probs), [u])
    assert isinstance(shown, BinaryPlay)
    assert (shown.chosen, shown.draw) == binary_search(cumulate(probs), u)
    assert shown.sums == pytest.approx(cumulate(probs).tolist(), abs=1e-15) and max(shown.sums) == 1


@many
@given(any_law(), uniform, uniform)
def test_the_alias_draw_in_three_beats(probs: list[float], u: float, coin: float) -> None:
    shown, table = play("alias", named(probs), [u, coin]), build_alias(probs)
    assert isinstance(shown, AliasPlay)
    chosen, pick = alias(table, u, coin)
    assert [(step.beat, step.index) for step in shown.steps] == [
        ("column", pick.column),
        ("coin", pick.column),
        ("item", chosen),
    ]
    assert shown.chosen == chosen and shown.draw.took_alias == pick.took_alias and shown.others == table.aliases
    assert [column.threshold for column in shown.draw.columns] == list(table.thresholds)
    for column, other in zip(shown.draw.columns, table.aliases, strict=True):
        assert column.alias == (None if column.threshold >= 1 or other == column.index else named(probs).items[other])


@many
@given(any_law(), st.integers(0, 2**31))
def test_the_scores_are_those_of_gumbel_max(probs: list[float], seed: int) -> None:
    given = torch.rand(len(probs) + 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).tolist()
    shown = play("gumbel", named(probs), given)
    assert isinstance(shown, GumbelPlay)
    logits, used = torch.tensor([probs, given[: len(probs)]], dtype=torch.float64)
    index, work = gumbel_max(logits.log(), used)
    assert shown.chosen == index == shown.steps[-1].leader and len(shown.steps) == len(probs)
    assert [step.noise for step in shown.steps] == work.noise.tolist()
    for step, prob in zip(shown.steps, probs, strict=True):
        assert (step.logit is None) == (step.score is None) == (prob == 0)
        if step.logit is not None and step.score is not None:
            assert step.logit == pytest.approx(math.log(prob)) and step.score == pytest.approx(step.logit + step.noise)
    for end, step in enumerate(shown.steps, start=1):
        run = [s.score for s in shown.steps[:end] if s.score is not None]
        assert step.leader is None if not run else shown.steps[step.leader or 0].score == max(run)


def test_uniforms_needed() -> None:
    law = laws.preset("zipf", 5)
    assert [needed(sampler, law) for sampler in PLAYS] == [1, 1, 2, 5]


@pytest.mark.parametrize("name", laws.PRESETS)
def test_slow_draws_travel_as_json(name: str) -> None:
    law = laws.preset(name, 8)
    for sampler in PLAYS:
        shown = play(sampler, law, [0.7, 0.2, 0.9, 0.1, 0.5, 0.3, 0.6, 0.8])
        assert codec.loads(codec.dumps(shown), type(shown)) == shown
    built = build(law)
    assert codec.loads(codec.dumps(built), AliasBuild) == built


# The alias table being built


def closed_law(state: AliasState) -> list[float]:
    """What the closed columns hold of each item, in columns."""
    held = [0.0] * len(state.mass)
    for column, (threshold, other) in enumerate(zip(state.thresholds, state.aliases, strict=True)):
        if threshold is not None and other is not None:
            held[column] += threshold
            held[other] += 1 - threshold
    return held


@many
@given(any_law())
def test_the_recorded_table_is_the_samplers(probs: list[float]) -> None:
    built, table = build(named(probs)), build_alias(probs)
    assert built.states[-1].thresholds == table.thresholds and built.states[-1].aliases == table.aliases
    assert len(built.moves) == table.transfers and len(built.states) == len(built.moves) + 2


@many
@given(any_law())
def test_every_moment_of_the_construction_holds_the_law(probs: list[float]) -> None:
    """Open columns hold what is left; at each moment closed and open columns together hold k p."""
    size, built = len(probs), build(named(probs))
    for state in built.states[:-1]:
        open_items = {*state.small, *state.large}
        assert {i for i, threshold in enumerate(state.thresholds) if threshold is None} == open_items
        left = [mass if i in open_items else 0.0 for i, mass in enumerate(state.mass)]
        held = [a + b for a, b in zip(closed_law(state), left, strict=True)]
        assert held == pytest.approx([size * prob for prob in probs], abs=1e-9)
        assert all(state.mass[i] < 1 for i in state.small) and all(state.mass[i] >= 1 for i in state.large)
    assert not built.states[-1].small and not built.states[-1].large and None not in built.states[-1].aliases


@many
@given(any_law())
def test_a_move_takes_from_the_top_of_both_stacks(probs: list[float]) -> None:
    built = build(named(probs))
    for move, before, after in zip(built.moves, built.states, built.states[1:], strict=False):
        assert (move.needy, move.donor) == (before.small[-1], before.large[-1])
        assert move.threshold == before.mass[move.needy] == after.thresholds[move.needy]
        assert move.taken == 1 - move.threshold and after.aliases[move.needy] == move.donor
        assert move.left == after.mass[move.donor] and move.donor_shrank == (move.left < 1)
        assert after.small == before.small[:-1] + ((move.donor,) if move.donor_shrank else ())
        assert after.large == (before.large[:-1] if move.donor_shrank else before.large)
    assert set(built.leftover) == {*built.states[-2].small, *built.states[-2].large}


def test_a_table_built_by_hand() -> None:
    """Columns 2, 1/2, 1/2, 1: C takes half from D, which lacks it then and takes it from A, as B does."""
    built = build(named([0.5, 0.125, 0.125, 0.25]))
    assert built.states[0].small == (1, 2) and built.states[0].large == (0, 3)
    assert [(m.needy, m.donor, m.threshold, m.taken, m.left) for m in built.moves] == [
        (2, 3, 0.5, 0.5, 0.5),
        (3, 0, 0.5, 0.5, 1.5),
        (1, 0, 0.5, 0.5, 1.0),
    ]
    assert built.states[-1].thresholds == (1.0, 0.5, 0.5, 0.5) and built.states[-1].aliases == (0, 0, 3, 0)


@many
@given(any_law())
def test_the_table_built_by_sorting_holds_the_law_too(probs: list[float]) -> None:
    assert column_law(build_sorted(probs)) == pytest.approx(probs, abs=1e-12)
    assert all(drawn == 0 for drawn, prob in zip(column_law(build_sorted(probs)), probs, strict=True) if prob == 0)

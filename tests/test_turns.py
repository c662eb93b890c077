"""Turns at the model: who waits for whom, and what ends a turn."""

from __future__ import annotations

from typing import Any

import pytest

from visualizations.turns import REMEMBERED, SILENT, Turns


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def turns(clock: Clock) -> Turns:
    return Turns(clock)


def test_turns_wait_in_the_order_they_came(turns: Turns) -> None:
    names = [turns.take() for _ in range(4)]
    assert len(set(names)) == 4 and min(map(len, names)) >= 16
    assert [turns.ahead(name) for name in names] == [0, 1, 2, 3]
    with turns.running(names[0]):
        assert [turns.ahead(name) for name in names[1:]] == [1, 2, 3]
    assert [turns.ahead(name) for name in names[1:]] == [0, 1, 2]


def test_a_new_turn_ends_the_one_before_it(turns: Turns) -> None:
    first, other = turns.take(), turns.take()
    second = turns.take(first)
    assert turns.halted(first) and not turns.halted(other) and not turns.halted(second)
    assert turns.ahead(second) == 1, "only the other page's: the halted one does not count"


def test_a_halted_turn_that_still_runs_does_not_count_as_ahead(turns: Turns) -> None:
    first, second = turns.take(), turns.take()
    with turns.running(first):
        assert turns.ahead(second) == 1
        turns.halt(first)
        assert turns.ahead(second) == 0 and turns.halted(first)
    assert turns.halted(first)


def test_a_page_that_is_not_heard_of_no_longer_waits(turns: Turns, clock: Clock) -> None:
    gone, runs, asks = turns.take(), turns.take(), turns.take()
    with turns.running(runs):
        clock.now = SILENT / 2
        assert turns.ahead(asks) == 2
        clock.now = SILENT + 1
        assert turns.ahead(asks) == 1, "the one that runs is there whether it is heard of or not"
        assert not turns.halted(gone)
        with turns.running(gone):  # its event was in the queue after all
            assert turns.ahead(asks) == 1


def test_a_turn_without_a_name_counts_while_it_runs(turns: Turns) -> None:
    with turns.running():
        assert turns.ahead(turns.take()) == 1
    assert turns.ahead(turns.take()) == 1


def test_a_turn_ends_even_where_it_fails(turns: Turns) -> None:
    name = turns.take()
    with pytest.raises(ZeroDivisionError), turns.running(name):
        raise ZeroDivisionError
    assert turns.ahead(turns.take()) == 0


@pytest.mark.parametrize("nonsense", [None, "", 3, ["x"], {"a": 1}, "x" * 100])
def test_nonsense_ends_nothing(turns: Turns, nonsense: Any) -> None:
    name = turns.take()
    turns.halt(nonsense)
    assert turns.take(nonsense) != name and turns.ahead(nonsense) == 0 and not turns.halted(name)


def test_few_ended_turns_are_remembered(turns: Turns) -> None:
    for number in range(REMEMBERED + 5):
        turns.halt(f"turn {number}")
    assert not turns.halted("turn 4") and turns.halted("turn 5")

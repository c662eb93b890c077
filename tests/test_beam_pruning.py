"""Each pruning rule against its definition in probabilities, on the lecture's numbers, at its borders and on ties."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.beam.candidates import Candidates
from decoding.beam.pruning import (
    DEFAULT_ORDER,
    REGISTRY,
    AbsoluteThreshold,
    MaxPerParent,
    PruningRule,
    RelativeLocalThreshold,
    RelativeThreshold,
    literal_relative,
    prune,
)
from decoding.errors import UserError
from decoding.trace import Cut

many = settings(max_examples=200, deadline=None, derandomize=True)

Row = tuple[int, int, float, float]
"""Parent, token, the parent's probability, the token's own."""

LECTURE: list[Row] = [
    (0, 10, 0.4, 0.4),  # I like .16
    (0, 11, 0.4, 0.4),  # I love .16
    (0, 12, 0.4, 0.1),  # I am .04
    (1, 10, 0.3, 0.4),  # We like .12
    (1, 13, 0.3, 0.3),  # We do .09
    (1, 14, 0.3, 0.2),  # We are .06
]


def candidates_of(rows: list[Row]) -> Candidates:
    numbers = [(math.log(before) + math.log(own), math.log(own)) for _, _, before, own in rows]
    return Candidates(
        torch.tensor([parent for parent, *_ in rows], dtype=torch.long),
        torch.tensor([token for _, token, *_ in rows], dtype=torch.long),
        torch.tensor([number[0] for number in numbers], dtype=torch.float64),
        torch.tensor([number[1] for number in numbers], dtype=torch.float64),
    )


def cut_by(rule: PruningRule, rows: list[Row] = LECTURE) -> list[int]:
    return rule.judge(candidates_of(rows)).cut.nonzero().flatten().tolist()


# the rules on known numbers


@pytest.mark.parametrize(
    ("rule", "places"),
    [
        (RelativeThreshold(0.3), [2]),  # .04 / .16 = .25
        (RelativeThreshold(0.5), [2, 5]),  # .06 / .16 = .375
        (RelativeThreshold(0.75), [2, 3, 4, 5]),  # .12 / .16 is at the threshold, and at it is cut
        (RelativeThreshold(0.99), [2, 3, 4, 5]),
        (RelativeThreshold(1), [1, 2, 3, 4, 5]),  # only the best, and of the two that tie the lower token
        (AbsoluteThreshold(math.log(16 / 6)), [2, 5]),
        (AbsoluteThreshold(math.log(16 / 5)), [2]),
        (AbsoluteThreshold(0), [1, 2, 3, 4, 5]),
        (AbsoluteThreshold(100), []),
        (RelativeLocalThreshold(0.3), [2]),  # .1 / .4
        (RelativeLocalThreshold(0.5), [2, 5]),  # .2 / .4 is at it, though We are .06 is likelier than I am .04
        (RelativeLocalThreshold(0.75), [2, 4, 5]),
        (MaxPerParent(1), [1, 2, 4, 5]),
        (MaxPerParent(2), [2, 5]),
        (MaxPerParent(3), []),
        (MaxPerParent(10**400), []),
    ],
)
def test_what_is_cut(rule: PruningRule, places: list[int]) -> None:
    assert cut_by(rule) == places


def test_values_and_thresholds_are_in_one_unit() -> None:
    given = candidates_of(LECTURE)
    relative = RelativeThreshold(0.3).judge(given)
    assert relative.values.tolist() == pytest.approx([1, 1, 0.25, 0.75, 0.5625, 0.375], abs=1e-12)
    assert relative.thresholds.tolist() == [0.3] * 6
    absolute = AbsoluteThreshold(1).judge(given)
    assert torch.equal(absolute.values, given.logprobs)
    assert absolute.thresholds.tolist() == pytest.approx([math.log(0.16) - 1] * 6, abs=1e-12)
    local = RelativeLocalThreshold(0.3).judge(given)
    assert local.values.tolist() == pytest.approx([1, 1, 0.25, 1, 0.75, 0.5], abs=1e-12)
    ranks = MaxPerParent(2).judge(given)
    assert ranks.values.tolist() == [1, 2, 3, 1, 2, 3] and ranks.thresholds.tolist() == [2] * 6


def test_the_notes_formula_on_log_probabilities_drops_the_best() -> None:
    """The exhibit beside the right rule: with r < 1 the threshold r max score is above every score."""
    given = candidates_of(LECTURE)
    for r in (0.01, 0.3, 0.99):
        wrong = literal_relative(given, r)
        assert wrong.cut.all(), "the best is cut, and so is everything else"
        assert wrong.thresholds.tolist() == pytest.approx([r * math.log(0.16)] * 6)
        assert not RelativeThreshold(r).judge(given).cut[0]
    certain = candidates_of([(0, 1, 1.0, 1.0)])
    assert literal_relative(certain, 0.5).cut.tolist() == [True]


@pytest.mark.parametrize("rule", [RelativeThreshold(0.75), RelativeThreshold(0.25), AbsoluteThreshold(math.log(4))])
@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_a_candidate_at_the_border_is_cut_however_its_sum_rounds(rule: PruningRule, parts: int) -> None:
    """.12 and .04 against .16, their log-probabilities summed in other orders and from other factors."""
    given = candidates_of(LECTURE)
    share = given.logprobs / parts
    for summed in (sum([share] * parts), given.logprobs + 1000 - 1000, (given.logprobs * 3 + given.logprobs) / 4):
        assert isinstance(summed, torch.Tensor)
        moved = Candidates(given.parents, given.tokens, summed, given.local)
        assert torch.equal(rule.judge(moved).cut, rule.judge(given).cut)
        assert rule.judge(moved).cut[2]


def test_the_best_text_survives_the_local_rule_whatever_its_last_token() -> None:
    rows = [(0, 1, 0.9, 0.3), (0, 2, 0.9, 0.2), (1, 1, 0.1, 0.95), (1, 2, 0.1, 0.05)]  # .27 .18 .095 .005
    judged = RelativeLocalThreshold(0.5).judge(candidates_of(rows))
    assert judged.cut.tolist() == [False, True, False, True]
    assert judged.values[0] < judged.thresholds[0], "it did not pass; it is the best"


def test_ties_go_to_the_lowest_parent_then_the_lowest_token() -> None:
    rows: list[Row] = [(1, 3, 0.5, 0.2), (0, 9, 0.5, 0.2), (0, 4, 0.5, 0.2), (1, 2, 0.5, 0.2)]
    for rule in (RelativeThreshold(1), AbsoluteThreshold(0), RelativeLocalThreshold(1)):
        assert cut_by(rule, rows) == [0, 1, 3]
    assert cut_by(MaxPerParent(1), rows) == [0, 1]
    assert MaxPerParent(1).judge(candidates_of(rows)).values.tolist() == [2, 2, 1, 1]


def test_extreme_scores_stay_finite() -> None:
    logprobs = torch.tensor([-1e6, -1e6 - 800, -2e6, -1e6 - 1], dtype=torch.float64)
    rows = torch.tensor([0, 0, 1, 1])
    far = Candidates(rows, torch.arange(4), logprobs, logprobs / 1000)
    for rule in (RelativeThreshold(1e-300), AbsoluteThreshold(700), RelativeLocalThreshold(1e-300), MaxPerParent(1)):
        judged = rule.judge(far)
        assert judged.values.isfinite().all() and judged.thresholds.isfinite().all()
        assert not judged.cut[0] and judged.cut[2]


@pytest.mark.parametrize("name", DEFAULT_ORDER)
def test_no_candidates(name: str) -> None:
    judged = REGISTRY[name](1).judge(candidates_of([]))
    assert len(judged.values) == len(judged.thresholds) == len(judged.cut) == 0
    assert prune(candidates_of([]), [REGISTRY[name](1)]) == []


# against the definition, in exact fractions


@st.composite
def trees(draw: st.DrawFn) -> list[Row]:
    """Up to four parents with up to five tokens each, in any order, probabilities in eighths: ties abound."""
    rows = []
    for parent in range(draw(st.integers(1, 4))):
        before = draw(st.integers(1, 8)) / 8
        for token in draw(st.sets(st.integers(0, 9), min_size=1, max_size=5)):
            rows.append((parent, token, before, draw(st.integers(1, 8)) / 8))
    return draw(st.permutations(rows))


def by_definition(rule: PruningRule, rows: list[Row]) -> set[Row]:
    """The rows a rule leaves, in exact arithmetic; the absolute rule's a is ln of a whole number."""

    def text(row: Row) -> Fraction:
        return Fraction(row[2]) * Fraction(row[3])

    best = min(rows, key=lambda row: (-text(row), row[0], row[1]))
    kept = {best}
    for row in rows:
        siblings = sorted((other for other in rows if other[0] == row[0]), key=lambda row: (-text(row), row[1]))
        if isinstance(rule, RelativeThreshold):
            passed = text(row) > Fraction(rule.r) * text(best)
        elif isinstance(rule, AbsoluteThreshold):
            passed = text(row) * round(math.exp(rule.a)) > text(best)
        elif isinstance(rule, RelativeLocalThreshold):
            passed = Fraction(row[3]) > Fraction(rule.r) * max(Fraction(other[3]) for other in rows)
        else:
            assert isinstance(rule, MaxPerParent)
            passed = siblings.index(row) < rule.m
        if passed:
            kept.add(row)
    return kept


quarters = st.integers(1, 4).map(lambda n: n / 4)
rules = st.one_of(
    quarters.map(RelativeThreshold),
    quarters.map(RelativeLocalThreshold),
    st.integers(1, 5).map(lambda n: AbsoluteThreshold(math.log(n))),
    st.integers(1, 4).map(MaxPerParent),
)


@many
@given(trees(), st.lists(rules, max_size=4))
def test_rules_in_turn_cut_what_their_definitions_cut(rows: list[Row], chosen: list[PruningRule]) -> None:
    """Each rule sees only what the ones before left; the best survives them all; the first to cut gives its name."""
    expected: list[Cut | None] = [None] * len(rows)
    alive = list(rows)
    for rule in chosen:
        kept = by_definition(rule, alive)
        judged = rule.judge(candidates_of(alive))
        for row, value, threshold in zip(alive, judged.values.tolist(), judged.thresholds.tolist(), strict=True):
            if row not in kept:
                expected[rows.index(row)] = Cut(rule.name, value, threshold)
        alive = [row for row in alive if row in kept]
    assert prune(candidates_of(rows), chosen) == expected
    best = min(rows, key=lambda row: (-Fraction(row[2]) * Fraction(row[3]), row[0], row[1]))
    assert expected[rows.index(best)] is None


@many
@given(trees(), rules)
def test_what_is_cut_did_not_pass_and_the_order_given_is_nothing(rows: list[Row], rule: PruningRule) -> None:
    given_ = candidates_of(rows)
    before = [column.clone() for column in (given_.parents, given_.tokens, given_.logprobs, given_.local)]
    judged = rule.judge(given_)
    past = judged.values - judged.thresholds if isinstance(rule, MaxPerParent) else judged.thresholds - judged.values
    assert (past[judged.cut] >= -1e-9).all()
    assert all(map(torch.equal, before, (given_.parents, given_.tokens, given_.logprobs, given_.local)))
    back = rule.judge(candidates_of(rows[::-1]))
    assert torch.equal(back.cut.flip(0), judged.cut) and torch.equal(back.values.flip(0), judged.values)


def test_a_later_rule_takes_its_maximum_over_the_survivors() -> None:
    """The likeliest last token, .9, is in a text of .009: once that is cut, .3 is three quarters of the best."""
    rows: list[Row] = [(0, 1, 0.9, 0.4), (0, 2, 0.9, 0.3), (1, 1, 0.01, 0.9)]
    local, relative = RelativeLocalThreshold(0.5), RelativeThreshold(0.2)
    given = candidates_of(rows)
    assert [cut and cut.rule for cut in prune(given, [local, relative])] == [
        *(None, "relative_local_threshold", "relative_threshold")
    ]
    assert [cut and cut.rule for cut in prune(given, [relative, local])] == [None, None, "relative_threshold"]
    assert prune(given, []) == [None, None, None]


# settings


def test_the_registry_names_its_classes() -> None:
    assert DEFAULT_ORDER == ("relative_threshold", "absolute_threshold", "relative_local_threshold", "max_per_parent")
    assert all(rule.name == name for name, rule in REGISTRY.items())


@pytest.mark.parametrize(
    ("rule", "off"),
    [(RelativeThreshold, 0), (AbsoluteThreshold, math.inf), (RelativeLocalThreshold, 0), (MaxPerParent, 0)],
)
def test_off(rule: Any, off: float) -> None:
    made = rule(off)
    assert not made.active and cut_by(made) == []
    assert prune(candidates_of(LECTURE), [made]) == [None] * len(LECTURE)
    assert rule(1).active and AbsoluteThreshold(0).active


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        *((name, value, "out_of_range") for name in DEFAULT_ORDER for value in (-1, -1e-9, math.nan, -math.inf)),
        *((name, value, "not_a_number") for name in DEFAULT_ORDER for value in ("1", None, True, [1])),
        *(
            (name, value, "out_of_range")
            for name in ("relative_threshold", "relative_local_threshold")
            for value in (2,)
        ),
        ("absolute_threshold", 10**400, "out_of_range"),
        ("max_per_parent", 1.5, "out_of_range"),
    ],
)
def test_values_that_are_none(name: str, value: Any, code: str) -> None:
    with pytest.raises(UserError) as caught:
        REGISTRY[name](value)
    assert caught.value.code == code and name in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("rule", [RelativeThreshold(0.5), AbsoluteThreshold(2), MaxPerParent(3)])
def test_a_rule_is_a_value(rule: PruningRule) -> None:
    assert pickle.loads(pickle.dumps(rule)) == copy.deepcopy(rule) == rule
    ((symbol, value),) = rule.params().items()
    assert type(rule)(value) == rule and symbol in ("r", "a", "m")
    with pytest.raises((AttributeError, TypeError)):
        setattr(rule, symbol, 1)

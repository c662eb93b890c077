"""Presets, typed laws and laws of a model's step; every mistake in typing gets its sentence."""

from __future__ import annotations

import math
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import codec
from decoding.errors import UserError
from decoding.experiments import laws
from decoding.experiments.values import Law
from decoding.trace import Candidate, Distribution, Token


def names(law: Law) -> list[str]:
    return [item.text for item in law.items]


def is_law(law: Law) -> bool:
    sums = math.fsum(law.probs) == pytest.approx(1, abs=1e-12)
    return sums and len(law.items) == len(law.probs) and all(0 <= prob <= 1 for prob in law.probs)


# Presets


@pytest.mark.parametrize("size", [2, 3, 4, 8, 27, 50])
@pytest.mark.parametrize("name", laws.PRESETS)
def test_every_preset_is_a_law_of_the_size_asked_for(name: str, size: int) -> None:
    law = laws.preset(name, size)
    assert is_law(law) and len(law.items) == size and law.source == name and law.others == 0
    assert len(set(names(law))) == size and [item.id for item in law.items] == list(range(size))


def test_presets_are_what_their_names_say() -> None:
    assert set(laws.preset("uniform", 4).probs) == {0.25}
    assert laws.preset("zipf", 3).probs == pytest.approx((6 / 11, 3 / 11, 2 / 11))
    assert laws.preset("spike", 5).probs == pytest.approx((0.9, 0.025, 0.025, 0.025, 0.025))
    tie = laws.preset("tie", 4).probs
    assert tie[0] == tie[1] == pytest.approx(0.4) and max(tie[2:]) < tie[0]
    zeros = laws.preset("zeros", 8).probs
    assert [prob == 0 for prob in zeros] == [True, False, False] * 2 + [True, False]


@pytest.mark.parametrize("size", [1, 51, 0, -3, 2.5, True])
def test_a_preset_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(UserError, match="items is"):
        laws.preset("uniform", size)
    with pytest.raises(UserError, match="it must be one of uniform"):
        laws.preset("poisson", 5)


def test_letters() -> None:
    assert [laws.letters(i) for i in (0, 25, 26, 49)] == ["A", "Z", "AA", "AX"]


# Typed


@pytest.mark.parametrize(
    "text",
    ["0.5 0.3 0.2", "0.5,0.3,0.2", " .5; .3\n0.2 ", "0.5，0.3、0.2", "1/2, 3/10, 2/10", "5e-1 3e-1 2e-1"],
)
def test_typed_probabilities(text: str) -> None:
    law = laws.parse(text)
    assert law.source == "typed" and names(law) == ["A", "B", "C"] and law.probs == pytest.approx((0.5, 0.3, 0.2))


def test_typed_probabilities_that_sum_to_one_are_kept_as_they_are() -> None:
    assert laws.parse("0.5 0.3 0.2").probs == (0.5, 0.3, 0.2)
    assert math.fsum(laws.parse("0.3333333 0.3333333 0.3333333").probs) == pytest.approx(1, abs=1e-15)


def test_typed_weights_are_divided_by_their_sum() -> None:
    law = laws.parse("a:3 b：1, c:0")
    assert names(law) == ["a", "b", "c"] and law.probs == (0.75, 0.25, 0.0)
    assert names(laws.parse("12:30:1 <b>:1")) == ["12:30", "<b>"], "the last colon stands before the weight"
    assert laws.parse("a:-0 b:1").probs == (0.0, 1.0) and math.copysign(1, laws.parse("a:-0 b:1").probs[0]) == 1


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "law_count", ["0 items", "2 to 50"]),
        ("1", "law_count", ["1 items"]),
        ("1 " * 51, "law_count", ["51 items"]),
        ("x" * 4001, "law_text_long", ["4,001", "4,000"]),
        ("0.5 0.3", "law_sum", ["sum to 0.8", "by +0.2"]),
        ("3 1", "law_sum", ["sum to 4", "by -3", "a:3 b:1"]),
        ("0.5 half", "law_entry", ["'half'"]),
        ("0.5 1/0", "law_entry", ["'1/0'"]),
        ("0.5 1/2/3", "law_entry", ["'1/2/3'"]),
        ("0.5 nan", "law_value", ["nan"]),
        ("1.5 -0.5", "law_value", ["-0.5"]),
        ("a:-1 b:1", "law_value", ["'a:-1'", "1,000,000,000"]),
        ("a:inf b:1", "law_value", ["inf"]),
        ("a:1e300 b:1", "law_value", ["1e+300"]),
        ("a: 1 b:1", "law_mixed", ["'1'"]),
        ("a:1 1", "law_mixed", ["'1'"]),
        (":1 b:1", "law_entry", ["':1'"]),
        ("a:1 a:2", "law_name_twice", ["'a'"]),
        ("a:0 b:0", "law_zero", ["All weights"]),
        ("a" * 21 + ":1 b:1", "law_name_long", ["21", "20"]),
        ("\ud83d:1 b:1", "law_entry", ["�"]),
    ],
)
def test_a_mistake_in_typing_is_told(text: str, code: str, words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        laws.parse(text)
    message = str(caught.value)
    assert caught.value.code == code
    assert all(word in message for word in words) and len(message) < 250
    message.encode()


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(alphabet=string.digits + "ab.:/,e- \n\ud800我", max_size=60) | st.text(max_size=60))
def test_whatever_is_typed_is_a_law_or_a_mistake_told(text: str) -> None:
    try:
        law = laws.parse(text)
    except UserError as error:
        str(error).encode()
    else:
        assert is_law(law) and codec.loads(codec.dumps(law), Law) == law


# Sliders, and a model's step


def test_weights_of_sliders() -> None:
    assert laws.of_weights([2, 1, 1]).probs == (0.5, 0.25, 0.25)
    with pytest.raises(UserError):
        laws.of_weights([0.0, 0.0])


def candidate(id: int, prob: float, kept: bool = True) -> Candidate:
    return Candidate(Token(id, f"t{id}"), math.log(prob) if kept else None, prob, kept)


def test_a_models_law_keeps_its_probabilities_and_joins_the_rest() -> None:
    top = (candidate(7, 0.5), candidate(3, 0.2), candidate(9, 0.1), candidate(4, 0.0, kept=False))
    law = laws.of_distribution(Distribution(top, 0.2, 90, 1.0), most=2)
    assert names(law) == ["t7", "t3", "…"] and law.others == 91 and law.source == "model"
    assert law.probs == pytest.approx((0.5, 0.2, 0.3))
    assert len({item.id for item in law.items}) == 3


def test_a_models_law_without_a_tail_has_no_rest() -> None:
    law = laws.of_distribution(Distribution((candidate(7, 0.75), candidate(3, 0.25)), 0.0, 0, 0.8))
    assert names(law) == ["t7", "t3"] and law.probs == (0.75, 0.25) and law.others == 0

"""Settings check themselves, know their order, and come back from a trace's header."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.errors import UserError
from decoding.processors import DEFAULT_ORDER, REGISTRY, Temperature, TopK, TopP
from decoding.samplers import SAMPLERS
from decoding.settings import (
    MAX_NEW_TOKENS,
    MAX_SEED,
    TOP_LIMIT,
    Limits,
    SampleSettings,
    check_seed,
    greedy_settings,
    sample_settings,
    settings_from,
)

ACTIVE: dict[str, Any] = {
    **{"repetition_penalty": 1.2, "presence_penalty": -0.5, "frequency_penalty": 0.25, "no_repeat_ngram_size": 3},
    **{"temperature": 0.0, "top_k": 40, "top_p": 0.9, "min_p": 0.05, "typical_p": 0.8},
    **{"epsilon_cutoff": 3e-4, "eta_cutoff": 1e-3},
}
NEUTRAL: dict[str, Any] = {name: REGISTRY[name].neutral for name in DEFAULT_ORDER}


def refused(**options: Any) -> UserError:
    """The one sentence with which these options are turned away."""
    with pytest.raises(UserError) as caught:
        sample_settings(**options)
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 400
    return caught.value


def test_the_examples_cover_every_processor() -> None:
    assert set(ACTIVE) == set(REGISTRY) == set(DEFAULT_ORDER)


# --- limits and types ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "least", "most"), [("max_new_tokens", 1, MAX_NEW_TOKENS), ("top", 1, TOP_LIMIT)])
def test_whole_numbers_have_limits(name: str, least: int, most: int) -> None:
    for value in (least, most):
        assert getattr(sample_settings(**{name: value}), name) == value
    for value in (least - 1, most + 1, -(10**400), 10**400):
        error = refused(**{name: value})
        assert error.code == "out_of_range" and name in str(error) and str(most) in str(error)


@pytest.mark.parametrize("name", ["max_new_tokens", "top"])
@pytest.mark.parametrize("value", [None, "7", True, [3], {}, object(), "x" * 10_000])
def test_what_is_no_number_is_refused(name: str, value: Any) -> None:
    assert refused(**{name: value}).code == "not_a_number"


@pytest.mark.parametrize("name", ["max_new_tokens", "top"])
@pytest.mark.parametrize("value", [7.5, 7.0, math.nan, math.inf])
def test_a_fraction_is_no_count(name: str, value: float) -> None:
    """A UI that sends 7.0 says so itself: the core does not round."""
    assert refused(**{name: value}).code == "out_of_range"


@pytest.mark.parametrize("name", ACTIVE)
@pytest.mark.parametrize("value", ["0.5", True, [], {}, "", math.nan])
def test_a_processor_refuses_what_is_no_number(name: str, value: Any) -> None:
    error = refused(**{name: value})
    assert error.values["name"] == name


@pytest.mark.parametrize("name", ["top_k", "no_repeat_ngram_size"])
def test_counts_of_processors_are_whole(name: str) -> None:
    refused(**{name: 2.5})
    refused(**{name: -1})


def test_numbers_of_other_libraries_become_plain_ones() -> None:
    """numpy's integers are numbers, and a header must be JSON."""
    import numpy

    asked = sample_settings(top=numpy.int64(5), max_new_tokens=numpy.int32(6), top_k=numpy.int64(7))
    forced = dataclasses.replace(asked, forced={numpy.int64(1): numpy.int64(2)})
    assert json.loads(json.dumps(forced.plain()))["forced"] == {"1": 2}
    assert type(check_seed(numpy.int64(3))) is int


@pytest.mark.parametrize("value", ["greedy", "Direct", "", None, 1, [], {}, ["direct"], "x" * 10_000])
def test_an_unknown_sampler_is_refused_with_the_choices(value: Any) -> None:
    error = refused(sampler=value)
    assert error.code == "unknown_choice"
    assert error.values["choices"] == ", ".join(SAMPLERS) and len(set(SAMPLERS)) == len(SAMPLERS)


def test_an_unknown_processor_is_refused_with_the_choices() -> None:
    for error in (refused(top_q=1), refused(order=("top_q",)), refused(order=([],)), refused(order=(None,))):
        assert error.code == "unknown_choice" and all(name in str(error) for name in REGISTRY)


@pytest.mark.parametrize("forced", [{-1: 0}, {"0": 1}, {0: "1"}, {0: 1.5}, {0: None}, {0: -1}, {True: 1}, {0: 2**63}])
def test_forced_tokens_are_whole_numbers(forced: Any) -> None:
    refused(forced=forced)


def test_the_seed_has_limits() -> None:
    assert [check_seed(seed) for seed in (0, MAX_SEED)] == [0, MAX_SEED]
    for seed in (-1, MAX_SEED + 1, 1.0, 1.5, None, "1", True, math.nan):
        with pytest.raises(UserError):
            check_seed(seed)


def test_settings_are_values() -> None:
    """They do not change, and a mapping given to them may."""
    forced = {1: 2}
    asked = sample_settings(top_k=5, forced=forced)
    forced[3] = 4
    assert asked.forced == {1: 2} and asked == sample_settings(top_k=5, forced={1: 2})
    with pytest.raises(dataclasses.FrozenInstanceError):
        asked.top = 3  # type: ignore[misc]


# --- limits of a server ----------------------------------------------------------------------------


def test_limits_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DECODING_LAB_PROMPT_TOKENS", raising=False)
    monkeypatch.delenv("DECODING_LAB_NEW_TOKENS", raising=False)
    assert Limits.from_environment() == Limits(2000, 256)
    monkeypatch.setenv("DECODING_LAB_NEW_TOKENS", "12")
    assert Limits.from_environment() == Limits(2000, 12)
    monkeypatch.setenv("DECODING_LAB_NEW_TOKENS", "")
    assert Limits.from_environment() == Limits(2000, 256)
    for wrong in ("0", "-1", "many", "1.5"):
        monkeypatch.setenv("DECODING_LAB_PROMPT_TOKENS", wrong)
        with pytest.raises(UserError, match="DECODING_LAB_PROMPT_TOKENS"):
            Limits.from_environment()


# --- order -----------------------------------------------------------------------------------------


def test_all_processors_in_the_usual_order() -> None:
    asked = sample_settings(**ACTIVE)
    assert tuple(processor.name for processor in asked.processors) == DEFAULT_ORDER
    assert [value for processor in asked.processors for value in processor.params().values()] == [
        ACTIVE[name] for name in DEFAULT_ORDER
    ]


def test_an_order_comes_first_and_the_rest_follows() -> None:
    asked = sample_settings(temperature=0.5, top_k=5, top_p=0.8, order=("top_p", "min_p", "temperature"))
    assert asked.processors == (TopP(0.8), Temperature(0.5), TopK(5))
    assert asked.plain()["order"] == ("top_p", "temperature", "top_k")


def test_what_is_off_is_left_out() -> None:
    assert sample_settings(**NEUTRAL).processors == ()
    assert sample_settings(**dict.fromkeys(NEUTRAL)).processors == ()
    assert sample_settings(top_k=0, top_p=1, temperature=1.0) == sample_settings()


def test_each_processor_once() -> None:
    assert sample_settings(top_k=3, order=("top_k", "top_k")).processors == (TopK(3),)
    with pytest.raises(AssertionError):
        SampleSettings((TopK(3), TopK(2)))


def test_the_method_is_named() -> None:
    assert greedy_settings().method == "greedy" == sample_settings(sampler="argmax").method
    assert sample_settings().method == "sample" == sample_settings(sampler="argmax", temperature=0).method
    assert greedy_settings(3, 4) == SampleSettings((), "argmax", 3, 4)


# --- the way into a header and back ----------------------------------------------------------------


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(DEFAULT_ORDER), unique=True),
    st.sets(st.sampled_from(DEFAULT_ORDER)),
    st.sampled_from(SAMPLERS),
    st.integers(1, 256),
    st.integers(1, TOP_LIMIT),
    st.dictionaries(st.integers(0, 300), st.integers(0, 50_000), max_size=4),
)
def test_settings_come_back_from_a_header(
    order: list[str], on: set[str], sampler: str, new: int, top: int, forced: dict[int, int]
) -> None:
    options = {name: ACTIVE[name] for name in on}
    asked = sample_settings(sampler=sampler, max_new_tokens=new, top=top, order=tuple(order), forced=forced, **options)
    plain = json.loads(json.dumps(asked.plain()))
    assert settings_from(plain) == settings_from(asked.plain()) == asked
    assert settings_from(plain).processors == asked.processors


def test_a_branch_drops_what_was_forced_after_it() -> None:
    old = sample_settings(forced={1: 10, 5: 50, 9: 90}).plain()
    assert settings_from(old, {5: 7}).forced == {1: 10, 5: 7}
    assert settings_from(old, {0: 7}).forced == {0: 7}
    assert settings_from(old, {0: 7, 6: 3}).forced == {0: 7, 6: 3}
    assert settings_from(old, {12: 7, 11: 6}).forced == {1: 10, 5: 50, 9: 90, 11: 6, 12: 7}
    assert settings_from(old, {}).forced == settings_from(old).forced == {1: 10, 5: 50, 9: 90}


@pytest.mark.parametrize(
    "damage",
    [
        *({"sampler": 3}, {"top": "20"}, {"max_new_tokens": 0}, {"top_q": 1}, {"top_p": "high"}, {"top_k": 10.5}),
        *({"order": 5}, {"order": "top_p"}, {"order": [[]]}, {"order": ({},)}, {"forced": [1]}, {"forced": 3}),
        *({"forced": {"x": 1}}, {"forced": {"-1": 1}}, {"forced": {"1": None}}, {"forced": {"9" * 5000: 1}}),
        {"forced": {"²": 1}},
    ],
    ids=lambda damage: str(damage)[:40],
)
def test_a_header_that_no_settings_wrote_is_refused(damage: dict[str, Any]) -> None:
    plain = {**sample_settings(top_p=0.9).plain(), **damage}
    with pytest.raises(UserError) as caught:
        settings_from(plain)
    assert len(str(caught.value)) < 400


def test_a_header_with_nothing_in_it_means_the_usual_settings() -> None:
    assert settings_from({}) == sample_settings()

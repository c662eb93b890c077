"""Settings of a beam search: every value checked alone and with the others, and the way through a header and back."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.beam import pruning
from decoding.errors import UserError
from decoding.processors import DEFAULT_ORDER, REGISTRY
from decoding.settings import MAX_NODES, SEARCHES, BeamSettings, beam_settings, beam_settings_from
from decoding.trace import MAX_BEAMS

many = settings(max_examples=150, deadline=None, derandomize=True)


def refused(**options: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        beam_settings(**options)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    return caught.value


def test_the_defaults_are_those_of_generate() -> None:
    asked = beam_settings()
    assert asked == BeamSettings()
    assert (asked.length_penalty, asked.early_stopping, asked.num_return_sequences) == (1.0, False, 1)
    assert (asked.method, asked.search, asked.rules, asked.processors) == ("beam", "beam", (), ())


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        *(("num_beams", value, "out_of_range") for value in (0, -1, MAX_BEAMS + 1, 2.5, float("nan"))),
        *(("num_beams", value, "not_a_number") for value in ("4", True, [4])),
        *(("max_new_tokens", value, "out_of_range") for value in (0, 10**9)),
        *(("length_penalty", value, "out_of_range") for value in (-5.1, 5.1, float("inf"), float("nan"))),
        ("length_penalty", "1", "not_a_number"),
        *(("early_stopping", value, "unknown_choice") for value in ("Never", "true", 2, 1, 0, ["never"], "")),
        *(("num_return_sequences", value, "out_of_range") for value in (0, 5)),
        *(("top", value, "out_of_range") for value in (0, 51)),
        *(("search", value, "unknown_choice") for value in ("Beam", "greedy", 1)),
        *(("sample_first", value, "out_of_range") for value in (-1, 32, 99)),
        *(("num_beam_groups", value, "out_of_range") for value in (0, 5)),
        ("num_beam_groups", 3, "beam_groups_uneven"),
        *(("diversity_penalty", value, "out_of_range") for value in (-0.1, 1e9, float("nan"))),
        *(("relative_threshold", value, "out_of_range") for value in (-0.1, 1.1)),
        ("max_per_parent", 1.5, "out_of_range"),
        ("temperature", -1, "out_of_range"),
        ("top_q", 1, "unknown_choice"),
        ("order", ("relative_threshold",), "unknown_choice"),
        ("rule_order", ("top_k",), "unknown_choice"),
    ],
)
def test_a_wrong_value_is_told(name: str, value: Any, code: str) -> None:
    error = refused(**{name: value})
    assert error.code == code
    assert name in str(error) or name in ("num_beam_groups", "top_q", "order", "rule_order")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_beams": 6, "num_beam_groups": 4}, ["4 groups", "6 beams", "1, 2, 3, 6"]),
        ({"diversity_penalty": 0.5}, ["diversity_penalty is 0.5", "num_beam_groups ≥ 2", "at 0"]),
        ({"num_beam_groups": 2, "search": "stochastic"}, ["num_beam_groups is 2", "search = beam", "at 1"]),
        ({"num_beam_groups": 2, "search": "sample"}, ["num_beam_groups is 2", "search = beam", "at 1"]),
        ({"relative_threshold": 0.3, "search": "stochastic"}, ["relative_threshold is 0.3", "beam | sample", "at 0"]),
        ({"absolute_threshold": 2, "search": "stochastic"}, ["absolute_threshold is 2.0", "beam | sample"]),
        ({"length_penalty": 0.5, "search": "stochastic"}, ["length_penalty is 0.5", "beam | sample", "at 1"]),
        ({"early_stopping": "never", "search": "stochastic"}, ["early_stopping is never", "at False"]),
        ({"num_beams": 2, "num_return_sequences": 3}, ["num_return_sequences is 3", "1 … 2"]),
        ({"sample_first": 4, "max_new_tokens": 4}, ["sample_first is 4", "0 … 3"]),
        ({"num_beams": 32, "top": 50, "max_new_tokens": 256}, ["32 beams", "50 candidates", "409,600", "80,000"]),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, dict) else "",
)
def test_what_has_no_meaning_together_is_told(options: dict[str, Any], words: list[str]) -> None:
    message = str(refused(**options))
    assert all(word in message for word in words), message


def test_what_has_a_meaning_is_let_through() -> None:
    assert beam_settings(num_beams=4, num_beam_groups=2, diversity_penalty=0.0).num_beam_groups == 2
    assert beam_settings(search="sample", relative_threshold=0.3, early_stopping="never").search == "sample"
    assert beam_settings(search="stochastic", top_k=5, sample_first=3).processors
    assert beam_settings(num_beams=MAX_BEAMS, top=8, max_new_tokens=256).num_beams == MAX_BEAMS
    assert MAX_BEAMS * 8 * 256 <= MAX_NODES


def test_rules_and_processors_come_in_the_order_asked_for() -> None:
    asked = beam_settings(
        top_p=0.9,
        temperature=0.7,
        order=("top_p",),
        max_per_parent=2,
        relative_threshold=0.1,
        absolute_threshold=3.0,
        rule_order=("max_per_parent", "absolute_threshold"),
    )
    assert [p.name for p in asked.processors] == ["top_p", "temperature"]
    assert [r.name for r in asked.rules] == ["max_per_parent", "absolute_threshold", "relative_threshold"]
    usual = beam_settings(relative_local_threshold=0.2, relative_threshold=0.1)
    assert [r.name for r in usual.rules] == ["relative_threshold", "relative_local_threshold"]


def test_what_is_off_is_left_out() -> None:
    off = beam_settings(relative_threshold=0, max_per_parent=0, top_k=0, temperature=1, top_p=None, num_beams=None)
    assert off == BeamSettings()
    assert beam_settings(absolute_threshold=0).rules == (pruning.AbsoluteThreshold(0.0),)


OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "max_new_tokens": st.integers(2, 40),
    "early_stopping": st.sampled_from([False, True, "never"]),
    "length_penalty": st.floats(-5, 5),
    "top": st.integers(1, 50),
    "sample_first": st.integers(0, 1),
    "search": st.sampled_from(SEARCHES),
    "num_beams": st.sampled_from([2, 4, 8]),
    "num_beam_groups": st.sampled_from([1, 2]),
    "diversity_penalty": st.floats(0, 9),
    "relative_threshold": st.floats(0, 1),
    "absolute_threshold": st.floats(0, 50),
    "relative_local_threshold": st.floats(0, 1),
    "max_per_parent": st.integers(0, 5),
    "temperature": st.floats(0, 3),
    "top_k": st.integers(0, 9),
    "top_p": st.floats(0, 1),
    "order": st.permutations(DEFAULT_ORDER[:4]).map(tuple),
    "rule_order": st.permutations(pruning.DEFAULT_ORDER).map(tuple),
}


@many
@given(st.data())
def test_settings_come_back_from_a_header(data: st.DataObject) -> None:
    """Also through JSON. Those that have no meaning together are refused with a sentence, and nothing else."""
    chosen = data.draw(st.sets(st.sampled_from(sorted(OPTIONS))))
    options = {name: data.draw(OPTIONS[name]) for name in chosen}
    try:
        asked = beam_settings(**options)
    except UserError as error:
        assert error.code == "option_unused"
        return
    plain = json.loads(json.dumps(asked.plain()))
    assert beam_settings_from(plain) == beam_settings_from(asked.plain()) == asked


@pytest.mark.parametrize(
    "damage",
    [
        {"num_beams": "x"},
        {"order": 3},
        {"rule_order": {}},
        {"order": [["top_k"]]},
        {"rule_order": ["sideways"]},
        {"early_stopping": []},
        {"relative_threshold": "much"},
        {"surprise": 1},
        {"sampler": "direct"},
    ],
)
def test_a_damaged_header_is_told(damage: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        beam_settings_from({**BeamSettings().plain(), **damage})


def test_names_are_unique_across_rules_and_processors() -> None:
    fields = {field.name for field in dataclasses.fields(BeamSettings)}
    names = [*fields, *REGISTRY, *pruning.REGISTRY, "order", "rule_order"]
    assert len(set(names)) == len(names)

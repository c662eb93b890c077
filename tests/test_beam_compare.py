"""Searches side by side on tables, where every number can be counted by hand."""

from __future__ import annotations

import math

import pytest

from decoding.beam.compare import USUAL_RULE, contests, exhausted
from decoding.beam.exhaustive import exhaustive
from decoding.beam.pruning import AbsoluteThreshold
from decoding.models import toy
from decoding.settings import BeamSettings
from decoding.values import Contest


def found(name: str, settings: BeamSettings, seed: int = 0) -> dict[str, Contest]:
    model = toy.load(name)
    return {each.name: each for each in contests(model, model.encode(""), settings, seed)}


def test_the_lecture_counted_by_hand() -> None:
    entries = found("toy:lecture", BeamSettings(num_beams=2, max_new_tokens=3))
    greedy, beam, rules = entries["greedy"], entries["beam"], entries["rules"]
    assert list(entries) == ["greedy", "beam", "rules", "stochastic"]
    assert (greedy.text, beam.text) == ("I like singing", "I like singing")
    assert math.exp(greedy.logprob) == pytest.approx(0.4 * 0.4 * 0.6)
    assert (greedy.forwards, greedy.expanded, greedy.considered) == (3, 3, 6 * 3)
    assert (beam.forwards, beam.expanded, beam.considered) == (3, 1 + 2 + 2, 6 * 5)
    assert (
        rules.rules == {"relative_threshold": USUAL_RULE.r} and rules.expanded == 5
    )  # We .3 > .3 x .4, I love .16 > .3 x .16


def test_a_rule_spares_work() -> None:
    settings = BeamSettings(num_beams=2, max_new_tokens=3, rules=(AbsoluteThreshold(0.25),))
    entries = found("toy:lecture", settings)
    assert entries["beam"].expanded == 5
    assert entries["rules"].expanded == 4  # ln .3 <= ln .4 - .25: after the first depth I goes on alone
    assert entries["rules"].rules == {"absolute_threshold": 0.25}


def test_greedy_loses_where_the_beam_wins() -> None:
    entries = found("toy:greedy-trap", BeamSettings(num_beams=2, max_new_tokens=4))
    model = toy.load("toy:greedy-trap")
    best = exhaustive(model, model.encode(""), 4)[0]
    assert entries["beam"].token_ids == best.token_ids and entries["beam"].logprob == pytest.approx(best.logprob)
    assert entries["greedy"].logprob < entries["beam"].logprob - 0.5


def test_the_stochastic_entry_is_the_likeliest_of_its_sample() -> None:
    logprobs = {
        seed: found("toy:lecture", BeamSettings(num_beams=3, max_new_tokens=3), seed)["stochastic"].logprob
        for seed in range(6)
    }
    assert len(set(logprobs.values())) > 1, "other seeds draw other samples"
    assert max(logprobs.values()) <= math.log(0.12) + 1e-9  # We like …, the likeliest of all


def test_all_texts_of_a_table_but_those_with_unnamed_words() -> None:
    model = toy.load("toy:lecture")
    found = exhausted(model, model.encode(""), BeamSettings(num_beams=2, max_new_tokens=3))
    assert found is not None and found.best.text == "I like singing"
    assert found.texts == 5 + 5  # after "I like" and after "I love"; every other text has the word …
    assert exhausted(model, model.encode(""), BeamSettings(num_beams=2, search="stochastic")) is None

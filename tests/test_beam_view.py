"""What the page on beam search shows, read from the replies that the browser gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from decoding import api
from decoding.beam.paths import where_lost
from decoding.errors import UserError
from decoding.models import toy
from decoding.trace import BeamStep
from visualizations.lab import Lab
from visualizations.models import Models
from visualizations.pages import beam, beam_exhibits, beam_quiz, view
from visualizations.pages.beam_view import Pictures, root_of
from visualizations.runs import Run
from visualizations.text import LANGS, Text

LIVE = [2, 1.0, "false", 0, 10, 0, 0]
"""Width, length penalty, when to stop, and the four rules, as the controls stand at first."""


@pytest.fixture
def lab() -> Iterator[Lab]:
    found = Lab(Models(("smollm2", "toy:lecture", "toy:greedy-trap")))
    found.lesson(beam.LESSON)
    yield found


def reply(lab: Lab, run: str, step: int, lang: Any = "en", **details: Any) -> dict[str, Any]:
    pictures = Pictures(lab, Text(lang), beam.live_options)
    widths = {panel.name: 1040 for panel in beam.PANELS}
    asked = {"run": run, "step": step, "widths": widths, "details": {"tuned_run": run, **details}}
    return pictures.render(json.dumps(asked))


def searched(lab: Lab, name: str, **options: Any) -> Run:
    """A run as the Run button makes it."""
    model = lab.models.get(name)
    settings = api.beam_settings(**{"max_new_tokens": 3, "top": beam.TOP, **options})
    run = lab.runs.new(api.prepare(model, "", settings))
    for _ in lab.run(model, run, settings):
        pass
    list(beam.compare_toy(lab, model, run))
    return run


def test_a_run_has_two_moments_a_depth(lab: Lab) -> None:
    assert lab.lesson(beam.LESSON).moments == 6
    words = [reply(lab, "beam", step)["where"] for step in range(6)]
    assert words[0] == "depth 1 of 3: candidates" and words[5] == "depth 3 of 3: verdict"
    assert len(set(words)) == 6


def test_the_lit_lines_are_those_of_the_moment(lab: Lab) -> None:
    lit = [reply(lab, "beam", step)["panels"]["pseudo"]["listing"]["lit"] for step in range(6)]
    assert lit[0] == lit[2] == lit[4] and lit[1] == lit[3]
    assert set(lit[5]) > set(lit[3]), "the search ends at the last"


@pytest.mark.parametrize("lang", LANGS)
def test_the_recorded_search_is_told_as_it_was(lab: Lab, lang: Any) -> None:
    panels = reply(lab, "beam", 5, lang)["panels"]
    assert "I like singing" in panels["tree"]["title"] and "0.096" in panels["tree"]["title"]
    rows = panels["compare"]["table"]["rows"]
    assert [row[1] for row in rows[:3]] == ["I like singing"] * 3
    assert [row[5:] for row in rows[:2]] == [["3", "3"], ["3", "5"]]


def test_controls_as_recorded_change_nothing(lab: Lab) -> None:
    assert reply(lab, "beam", 5, tuned=LIVE)["panels"] == reply(lab, "beam", 5)["panels"]


@pytest.mark.parametrize(
    "tuned",
    [
        {"num_beams": 1},
        {"relative_threshold": 0.8},
        {"absolute_threshold": 0.25},
        {"relative_local_threshold": 0.9},
        {"max_per_parent": 1},
    ],
    ids=str,
)
def test_a_judgement_without_the_model_is_that_of_the_search(lab: Lab, tuned: dict[str, Any]) -> None:
    names = ["num_beams", "length_penalty", "early_stopping", *(knob.name for knob in beam.KNOBS)]
    values = [tuned.get(name, value) for name, value in zip(names, LIVE, strict=True)]
    pictures = Pictures(lab, Text("en"), beam.live_options)
    judged = pictures._judged("beam", 3, tuple(values))
    fresh = searched(lab, "toy:lecture", **{"num_beams": 2, **tuned})
    assert judged.until is None or judged.until < 3
    for ours, theirs in zip(judged.steps, fresh.searched(), strict=False):
        assert fates(ours) == fates(theirs)
    if judged.until is None:
        assert len(judged.steps) == len(fresh.searched())


def fates(step: BeamStep) -> set[Any]:
    return {(node.token.id, round(node.logprob, 9), node.fate, node.rule and node.rule.rule) for node in step.nodes}


def test_where_the_record_ends_the_page_says_so(lab: Lab) -> None:
    wider = reply(lab, "beam", 5, tuned=[3, *LIVE[1:]])
    assert "press Run" in wider["panels"]["tree"]["text"] and wider["count"] == 2
    run = searched(lab, "toy:lecture", num_beams=2, search="stochastic")
    other = reply(lab, run.id, 5, tuned=[1, *LIVE[1:]])
    assert "need the model" in other["panels"]["tree"]["text"] and other["count"] == 6


def test_tuning_of_an_older_run_is_forgotten(lab: Lab) -> None:
    run = searched(lab, "toy:lecture", num_beams=2)
    asked = {"run": run.id, "step": 5, "details": {"tuned_run": "beam", "tuned": [1, *LIVE[1:]]}}
    pictures = Pictures(lab, Text("en"), beam.live_options)
    assert pictures.render(json.dumps(asked))["panels"]["tree"]["text"].startswith("30 candidates")


def test_the_best_text_of_all_and_where_it_was_lost(lab: Lab) -> None:
    run = searched(lab, "toy:greedy-trap", num_beams=1)
    assert run.comparison is not None and run.comparison.exhausted is not None
    best = run.comparison.exhausted.best
    lost = where_lost(run.searched(), best.token_ids)
    assert lost is not None and lost.depth == 1 and lost.node is not None
    text = reply(lab, run.id, 5)["panels"]["tree"]["text"]
    assert best.text in text and "missed it" in text
    assert "missed it" not in reply(lab, run.id, 3)["panels"]["tree"]["text"], "told at the end"


def test_what_comes_before_the_search_stands_at_the_root(lab: Lab) -> None:
    assert root_of(lab.lesson("beam")) == "start"
    run = searched(lab, "toy:lecture", num_beams=2, sample_first=1)
    assert root_of(run).endswith(run.drawn[0][0].text) and run.moments == 4


@pytest.mark.parametrize("lang", LANGS)
def test_each_answer_of_the_quiz_is_computed(lab: Lab, lang: Any) -> None:
    text = Text(lang)
    cut, survive, greedy = (card(text) for card in beam_quiz.cards(lab, lab.lesson("beam")))
    assert "We like" in cut.choices[cut.answer]
    assert survive.choices[survive.answer] == "4"  # .16, .16, .12 and .09 are above half of .16
    assert greedy.answer == 1 and "Some cats purr" in greedy.because


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("reading", ["right", "notes"])
def test_the_exhibits_on_the_lectures_tree(lab: Lab, lang: Any, reading: str) -> None:
    asked = view.read_ask(json.dumps({"run": "effects", "step": 0, "details": {"reading": reading}}))
    panels = beam_exhibits.panels(lab, asked, Text(lang))
    assert list(panels) == [panel.name for panel in beam_exhibits.PANELS] == list(beam_exhibits.sources())
    rows = panels["verdicts"]["table"]["rows"]
    assert [row[1][-1] for row in rows] != [row[2][-1] for row in rows]
    assert all("✕" in row[2] for row in rows), "the notes' formula cuts all, the best too"
    assert [row[0] for row in rows if "✓" in row[1]] == ["I", "We"]


def test_controls_become_settings() -> None:
    boxes = [3, "beam", 1, 0, 1, 0, 1, 0, 7, *LIVE]
    settings, seed = beam.read_settings(boxes)
    assert (settings.num_beams, settings.max_new_tokens, settings.rules, settings.processors) == (2, 3, (), ())
    assert seed == 7
    live = beam.live_options([4.0, 0.5, "never", 0.3, 2.0, 0, 2.0])
    assert live == {
        "num_beams": 4,
        "length_penalty": 0.5,
        "early_stopping": "never",
        "relative_threshold": 0.3,
        "absolute_threshold": 2.0,
        "max_per_parent": 2,
    }


def test_ones_own_table_is_a_model() -> None:
    model = beam._own("(start): a .5, b .5\n(else): <end> 1")
    assert model.info.name == "toy:own" and model.end_ids
    with pytest.raises(UserError, match="sums to"):
        beam._own("(start): a .5, b .4")
    assert toy.load("toy:lecture").info.end_ids == tuple(toy.load("toy:lecture").end_ids)


def test_the_controls_of_a_run_make_it_again(lab: Lab) -> None:
    options = {"num_beams": 4, "relative_threshold": 0.2, "temperature": 0.5, "early_stopping": True}
    run = searched(lab, "toy:lecture", **options)
    values = beam.restored(lab, run)
    settings, _ = beam.read_settings(values[4:])
    assert (values[0], values[2]) == ("toy:lecture", "")
    assert settings.plain() == dict(run.header.settings)


def test_a_run_of_another_page_is_told(lab: Lab) -> None:
    model = lab.models.get("toy:lecture")
    drawn = lab.runs.new(api.prepare(model, "", api.greedy_settings(2)))
    for _ in lab.run(model, drawn, api.greedy_settings(2)):
        pass
    with pytest.raises(UserError, match="another page"):
        reply(lab, drawn.id, 0)
    with pytest.raises(UserError, match="another page"):
        lab.lesson("beam").step(0)

"""The panel of the two clocks: whose race it shows, when a run is raced, and what the player is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any

import pytest

from decoding import api, codec
from decoding.speculative.cost import predicted
from decoding.speculative.race import REPEATS, racing, result
from decoding.speculative.values import Race
from decoding.trace import Trace
from tests.speculative_clock import Time, racers, target_table
from visualizations.figures.spec_race_words import times
from visualizations.lab import Lab
from visualizations.models import Models
from visualizations.pages import speculative, speculative_race, speculative_view, view
from visualizations.pages.measuring import recorded
from visualizations.runs import Run
from visualizations.text import LANGS, Text

EN = Text("en")
TOY, DRAFT = "toy:lecture", "toy:lecture-draft"
NAME = speculative_race.NAME
EACH_LANG = pytest.mark.parametrize("lang", LANGS)


@pytest.fixture
def lab() -> Iterator[Lab]:
    yield Lab(Models(("smollm2", TOY, DRAFT)))


def neural(lab: Lab) -> Run:
    """A run like the recorded one, of somebody here."""
    lesson: Trace = lab.lesson(speculative.LESSON).trace()
    run = lab.runs.new(lesson.header)
    for step in lesson.steps:
        run.append(step)
    return run


def raced(repeats: int = 1, **options: Any) -> Race:
    return result(racing(racers(Time(), **options), repeats))


def panel(lab: Lab, run: Run, step: int = 0, lang: Any = "en") -> dict[str, Any]:
    ask = view.read_ask(json.dumps({"run": run.id, "step": step, "widths": {NAME: 700}}))
    return speculative_race.shown(lab, ask, Text(lang), run)


def reply(lab: Lab, run: Run, step: int, lang: Any = "en") -> dict[str, Any]:
    return speculative_view.render(lab, Text(lang), json.dumps({"run": run.id, "step": step}), [speculative_race])


def run_toy(lab: Lab, after: Callable[[dict[str, Any]], None] = lambda value: None) -> Run:
    """Press Run for a table."""
    boxes = [DRAFT, 8, 2, "lossless", 2, 1, 0, 1, 8, 1]
    found: dict[str, Any] = {}
    for value in speculative._runner(lab, EN)(TOY, "", "raw", *boxes, lab.turns.take()):
        found = json.loads(value)
        after(found)
    return lab.runs.get(found["run"])


# --- whose race ------------------------------------------------------------------------------------


@EACH_LANG
def test_the_lesson_has_a_race_of_its_own_rounds(lab: Lab, lang: Any) -> None:
    lesson, race, text = lab.lesson(speculative.LESSON), recorded(speculative.LESSON, NAME, Race), Text(lang)
    assert race is not None
    written = [len(step.emitted) for step in lesson.rounds()]
    assert list(race.speculative.written) == [sum(written[: i + 1]) for i in range(len(written))]
    assert (race.drafter, race.gamma) == tuple(lesson.header.settings[name] for name in ("drafter", "gamma"))
    found = panel(lab, lesson, 3, lang)
    made = lesson.header.model
    assert text("race.recorded", model=made.name, dtype=made.dtype, engine=made.engine) in found["text"]
    assert found["figure"] and times(race.speedup) in found["title"]


@EACH_LANG
def test_another_run_is_never_shown_the_lessons_race(lab: Lab, lang: Any) -> None:
    run, text = neural(lab), Text(lang)
    assert panel(lab, run, 0, lang) == {"title": text("race.title"), "text": text("race.invite")}
    assert len(reply(lab, run, 3, lang)["counters"]) == 4 and reply(lab, run, 3, lang)["pace"] is None


@EACH_LANG
def test_a_table_is_not_raced(lab: Lab, lang: Any) -> None:
    run, text = run_toy(lab), Text(lang)
    assert NAME not in run.measured and len(reply(lab, run, 0)["counters"]) == 4
    found = panel(lab, run, 0, lang)
    assert found["idle"] and "figure" not in found
    assert found["text"] == text("race.idle", model=view.model_label(text, TOY))


def test_what_was_measured_says_how_often(lab: Lab) -> None:
    run = neural(lab)
    run.measured[NAME] = raced()
    assert EN("race.once") in panel(lab, run)["text"]
    run.measured[NAME] = race = raced(3)
    said = panel(lab, run)["text"]
    low, high = times(min(race.speedups)), times(max(race.speedups))
    assert EN("race.once") not in said and EN("race.spread", repeats=3, low=low, high=high) in said


# --- counters and player ---------------------------------------------------------------------------


@EACH_LANG
def test_two_counters_are_of_the_whole_run(lab: Lab, lang: Any) -> None:
    run, text = neural(lab), Text(lang)
    run.measured[NAME] = race = raced()
    for step in (0, 4, run.moments - 1):
        measured, model = reply(lab, run, step, lang)["counters"][4:]
        assert measured["value"] == f"{race.speedup:.2f} ×" and model["value"] == f"{predicted(race):.2f} ×"
        whole = step < run.moments - 1
        assert measured["label"] == text("race.count_measured_whole" if whole else "race.count_measured")
        assert model["label"] == text("race.count_predicted_whole" if whole else "race.count_predicted")


@pytest.mark.parametrize("slow", [0.001, 0.03, 1])
def test_played_each_round_takes_as_long_as_it_did(lab: Lab, slow: float) -> None:
    """On one scale, told in the text, so that a round can be followed."""
    run, race = neural(lab), raced()
    drafts = replace(race.speculative, seconds=tuple(slow * second for second in race.speculative.seconds))
    run.measured[NAME] = replace(race, speculative=drafts)
    pace = reply(lab, run, 0)["pace"]
    factor = pace[-1] / (1000 * drafts.durations[-1])
    assert pace == pytest.approx([1000 * factor * each for each in drafts.durations], abs=1)
    assert sum(pace) / len(pace) >= speculative_race.LEAST_PACE * 0.999
    words = EN("race.pace", factor=round(factor)) if factor > 1.5 else EN("race.pace_real")
    assert words in panel(lab, run)["text"] and factor == pytest.approx(round(factor), rel=0.01)


# --- measuring -------------------------------------------------------------------------------------


def test_the_button_races_again_three_times(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    run, field = neural(lab), racers(Time())
    monkeypatch.setattr(lab, "racers", lambda model, run: field)
    monkeypatch.setattr(lab, "load_draft", lambda model, settings: iter(()))
    told = list(speculative_race.job(lab, EN, run, field.model))
    assert {words for words, _ in told} == {EN("race.running", repeats=REPEATS)}
    assert told[0][1] == 0 and told[-1][1] == 1
    assert run.measured[NAME] == raced(REPEATS)
    assert codec.loads(codec.dumps(run.measured[NAME]), Race) == run.measured[NAME]


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_run_that_was_stopped_is_raced_as_far_as_it_came(lab: Lab, rounds: int) -> None:
    model = target_table()
    settings = api.speculative_settings(drafter="random", gamma=3, max_new_tokens=60)
    run = lab.runs.new(api.prepare(model, "", settings, 4))
    with closing(lab.run(model, run, settings)) as steps:
        for _ in islice(steps, rounds):
            pass
    assert run.finish is not None and run.finish.reason == "cancelled"
    for _ in speculative_race.job(lab, EN, run, model):
        pass
    race = run.measured[NAME]
    assert race.speculative.written == tuple(accumulate(len(step.emitted) for step in run.rounds()))
    assert race.plain.written[-1] == race.speculative.written[-1] == len(run.emitted) < 60


def test_after_a_run_it_is_raced_once_and_stop_ends_that(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    run, field = neural(lab), racers(Time())
    monkeypatch.setattr(lab, "racers", lambda model, run: field)
    halfway = speculative_race.once(lab, EN, run, field.model)
    assert next(halfway) == (EN("race.running_once"), 0)
    halfway.close()
    assert NAME not in run.measured
    for _ in speculative_race.once(lab, EN, run, field.model):
        pass
    assert run.measured[NAME] == raced()


@pytest.mark.parametrize("stopped", [False, True])
def test_run_races_when_the_text_is_written(lab: Lab, monkeypatch: pytest.MonkeyPatch, stopped: bool) -> None:
    ended: list[str] = []

    def once(lab: Lab, text: Text, run: Run, model: Any) -> Iterator[Any]:
        assert run.finish is None or run.finish.reason != "cancelled"
        try:
            for part in range(4):
                yield f"racing {part}", part / 4
            run.measured[NAME] = raced()
        finally:
            ended.append("closed")

    monkeypatch.setattr(speculative_race, "once", once)
    turns: list[str] = []
    monkeypatch.setattr(lab.turns, "take", lambda before=None, take=lab.turns.take: turns.append(take()) or turns[-1])
    told: list[Any] = []

    def after(value: dict[str, Any]) -> None:
        told.append(value)
        if stopped and value.get("progress", {}).get("text") == "racing 1":
            lab.turns.halt(turns[-1])

    run = run_toy(lab, after)
    words = [value["progress"]["text"] for value in told if "racing" in str(value.get("progress"))]
    assert words == [f"racing {part}" for part in range(2 if stopped else 4)]
    assert ended == ["closed"] and (NAME in run.measured) != stopped
    assert told[-1]["done"] and run.finish is not None and run.finish.reason == "eos", "the text itself is whole"


def test_the_code_shown_is_what_computed_the_numbers() -> None:
    code = view.source_text(speculative_race.sources())
    for part in ("def racing(", "class Timed", "def predicted(", "def round_cost(", "def speedup("):
        assert part in code, part

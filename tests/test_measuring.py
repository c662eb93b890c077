"""What the button of a measured panel finds: whose it is, and what is shown of a run until it is pressed."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from decoding.speculative.values import Alignment, GammaSweep, Race
from visualizations.lab import Lab
from visualizations.models import Models
from visualizations.pages import measuring, speculative, speculative_race, view
from visualizations.runs import Run
from visualizations.text import Text

EN = Text("en")
NAME = speculative_race.NAME


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    made = Lab(Models(("smollm2", "toy:lecture")))
    monkeypatch.setattr(made, "load", lambda name: iter(()))
    monkeypatch.setattr(made, "model_of", lambda run: None)
    yield made


def finding(lab: Lab, text: Text, run: Run, model: Any) -> Generator[measuring.Told, None, None]:
    """A job that finds the letters of a word, one after the other, and keeps it when it has all."""
    for index in range(4):
        yield "looking", index / 4
    run.measured[NAME] = "word"


def press(lab: Lab, run: str, turn: str | None = None, job: Any = finding) -> Iterator[dict[str, Any]]:
    """What the viewer is told after a press."""
    event: Any = SimpleNamespace(run=run, panel=NAME, turn=turn or lab.turns.take())
    for value in measuring.measurer(lab, EN, {NAME: job})(event):
        yield json.loads(value)


def test_a_press_on_the_recorded_run_is_that_visitors_alone(lab: Lab) -> None:
    lesson = lab.lesson(speculative.LESSON)
    *_, last = press(lab, lesson.id)
    own = lab.runs.get(last["run"])
    assert last["copy_of"] == lesson.id != own.id and not last["running"] and last["kept"]
    assert own.measured == {NAME: "word"} and lesson.measured == {}
    assert measuring.found(lesson, NAME, Race) == measuring.recorded(speculative.LESSON, NAME, Race)
    assert own.trace() == lesson.trace() and own.rounds() == lesson.rounds()


def test_two_visitors_get_a_run_each(lab: Lab) -> None:
    lesson = lab.lesson(speculative.LESSON)
    one, other = (list(press(lab, lesson.id))[-1]["run"] for _ in range(2))
    assert one != other
    lab.runs.get(one).measured[NAME] = "changed"
    assert lab.runs.get(other).measured == {NAME: "word"}
    known = [r["run"] for r in view.shown(lab, EN, lab.runs.get(one))["branches"]]
    assert other not in known


def test_the_copy_goes_on_showing_what_was_recorded_of_it_and_keeps_what_is_measured_next(lab: Lab) -> None:
    first = list(press(lab, lab.lesson(speculative.LESSON).id))[-1]["run"]
    own = lab.runs.get(first)
    for name, kind in (("sweep", GammaSweep), ("alignment", Alignment)):
        assert measuring.found(own, name, kind) == measuring.recorded(speculative.LESSON, name, kind) is not None
    del own.measured[NAME]
    last = list(press(lab, first))[-1]
    assert "run" not in last and not last["running"] and own.measured == {NAME: "word"}


def test_a_run_of_ones_own_is_measured_itself(lab: Lab) -> None:
    run = lab.runs.new(lab.lesson(speculative.LESSON).header)
    last = list(press(lab, run.id))[-1]
    assert "run" not in last and run.measured == {NAME: "word"}


def test_stop_leaves_the_recorded_run_on_the_screen(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson, turn = lab.lesson(speculative.LESSON), lab.turns.take()
    monkeypatch.setattr(measuring, "PACE", 0)
    news = press(lab, lesson.id, turn)
    assert next(news)["progress"]["text"] == "looking"
    lab.turns.halt(turn)
    assert [value.get("run") for value in news] == [None]
    assert lesson.measured == {} and lab.runs.latest() == []


def test_a_run_that_branched_from_a_recorded_one_has_none_of_its_numbers(lab: Lab) -> None:
    lesson = lab.lesson(speculative.LESSON)
    branch = lab.runs.branch(lesson, 1, lesson.header)
    assert lesson.recording == speculative.LESSON and branch.recording is None
    assert measuring.found(branch, NAME, Race) is None


def test_what_was_measured_comes_before_what_was_recorded(lab: Lab) -> None:
    own = lab.runs.own(lab.lesson(speculative.LESSON))
    own.measured[NAME] = "word"
    assert measuring.found(own, NAME, str) == "word"
    assert measuring.recorded(speculative.LESSON, "nothing", Race) is None

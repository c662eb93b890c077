"""Panels whose numbers are measured when their button is pressed: the run on the screen, one turn at its model."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from typing import Any, TypeVar

import gradio as gr

from decoding import codec
from decoding.models.protocol import LanguageModel
from visualizations.lab import LESSONS, Lab
from visualizations.pages import view
from visualizations.runs import Run
from visualizations.text import Text

Told = tuple[str, float | None]
"""What is done now, in words, and how far it is (0 to 1)."""
Job = Callable[[Lab, Text, Run, LanguageModel], Generator[Told, None, None]]
"""Measures for a run whose model is loaded, and leaves what it found where its panel looks for it."""
Found = TypeVar("Found")
PACE = 0.2
"""Seconds between two looks at how far it is: telling takes time from what is measured."""


def measurer(lab: Lab, text: Text, jobs: Mapping[str, Job]) -> Any:
    """The buttons of a page: the job of the panel whose button was pressed."""

    def measure(event: gr.EventData) -> Iterator[str]:
        turn = str(event.turn)
        try:
            run, job = lab.runs.get(event.run), jobs[str(event.panel)]
            with lab.turns.running(turn):
                for value in _values(lab, text, run, job, turn):
                    yield view.dumps({**value, "turn": turn})
        except Exception as error:
            yield view.trouble(text, error, turn=turn)

    return measure


def _values(lab: Lab, text: Text, run: Run, job: Job, turn: str) -> Iterator[dict[str, Any]]:
    """What the viewer is told meanwhile; nothing more is measured once the turn is halted.

    What a recorded run gets stays with a copy, which from then on is this visitor's run: everybody sees the other.
    """
    if run.model is None:
        name = lab.name_of(run)
        for news in lab.load(name):
            if lab.turns.halted(turn):
                break
            yield view.loading(text, name, news)
    shared = lab.runs.pinned(run.id) is not None
    own = lab.runs.own(run) if shared else run
    if not lab.turns.halted(turn):
        yield from told(job(lab, text, own, lab.model_of(run)), lambda: lab.turns.halted(turn))
    if own.measured == run.measured:
        yield {"message": "", "running": False, "details": {}}  # details: what is measured is to be painted
    else:
        yield {**view.shown(lab, text, lab.runs.add(own)), "message": "", "copy_of": run.id}


def told(
    job: Generator[Told, None, None], halted: Callable[[], bool] = lambda: False
) -> Generator[dict[str, Any], None, None]:
    """The news of a job as viewer values, where the words are new or some time has passed; ends it once halted."""
    words, last = "", 0.0
    with closing(job):
        for now, fraction in job:
            if halted():
                return
            if now != words or time.monotonic() - last >= PACE:
                words, last = now, time.monotonic()
                yield {"progress": {"text": now, "fraction": fraction}, "running": True}


def found(run: Run, name: str, kind: type[Found]) -> Found | None:
    """What a panel shows of a run: measured here, else recorded with the lesson that it is; None where nothing was."""
    if name in run.measured:
        measured: Found = run.measured[name]
        return measured
    return recorded(run.recording, name, kind) if run.recording else None


@lru_cache(8)
def recorded(lesson: str, name: str, kind: type[Found]) -> Found | None:
    """What was measured for a lesson's run when it was recorded, by panel; None where nothing was."""
    path = LESSONS / lesson / f"{name}.json"
    return codec.loads(path.read_bytes(), kind) if path.exists() else None

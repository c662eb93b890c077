"""Panels whose numbers are measured when their button is pressed: the run on the screen, one turn at its model."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from typing import Any

import gradio as gr

from decoding.models.protocol import LanguageModel
from visualizations.lab import Lab
from visualizations.pages import view
from visualizations.runs import Run
from visualizations.text import Text

Told = tuple[str, float | None]
"""What is done now, in words, and how far it is (0 to 1)."""
Job = Callable[[Lab, Text, Run, LanguageModel], Generator[Told, None, None]]
"""Measures for a run whose model is loaded, and leaves what it found where its panel looks for it."""
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
    """What the viewer is told meanwhile; nothing more is measured once the turn is halted."""
    if run.model is None:
        name = lab.name_of(run)
        for news in lab.load(name):
            if lab.turns.halted(turn):
                break
            yield view.loading(text, name, news)
    if not lab.turns.halted(turn):
        yield from told(job(lab, text, run, lab.model_of(run)), lambda: lab.turns.halted(turn))
    yield {"message": "", "running": False, "details": {}}  # details: what is measured is to be painted


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

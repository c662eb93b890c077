"""The panel that tells what one step of the page's model costs: recorded, and measured here when asked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import gradio as gr

from decoding import codec
from decoding.values import ForwardTimes
from visualizations.components.viewer import Panel
from visualizations.figures import step_cost
from visualizations.lab import LESSONS, Lab
from visualizations.pages import view
from visualizations.pages.view import Ask
from visualizations.runs import Run
from visualizations.text import Text

NAME = "step_cost"
PANEL = Panel(NAME, button="samplers.measure")
MEASURED = "times_measured"
"""The detail of a request that says: this page has measured, so what was measured here counts."""


def shown(lab: Lab, ask: Ask, text: Text, run: Run) -> dict[str, Any]:
    """The panel for a run's model: a figure and its words; of a table, words alone."""
    name, at = lab.name_of(run), ask.view(NAME, text)
    if run.header.model.is_table:
        said = text("cost.table", model=view.model_label(text, name))
        return {"title": text("cost.title"), "text": said, "idle": True}
    here = lab.times.get(name) if ask.details.get(MEASURED) else None
    times = here or recorded()
    caption = step_cost.step_cost_caption(times, at)
    model = times.model
    values = {"machine": times.machine, "cores": times.cores, "dtype": model.dtype, "engine": model.engine}
    where = text("cost.measured" if here else "cost.recorded", model=model.name, **values)
    caption["text"] += "\n" + where
    return view.panel(caption, step_cost.step_cost(times, at))


def measurer(lab: Lab, text: Text) -> Any:
    """The button: time the forwards of the model that made the run on the screen."""

    def measure(event: gr.EventData) -> Iterator[str]:
        from decoding.models.timing import TOKENS

        try:
            name = lab.name_of(lab.runs.get(event.run))
            with lab.turns.running():
                for news in lab.load(name):
                    yield view.dumps(view.loading(text, name, news))
                words = text("cost.measuring", last=TOKENS[-1])
                for done in lab.measure(name):
                    yield view.dumps({"progress": {"text": words, "fraction": done}, "running": True})
            yield view.dumps({"message": "", "running": False, "details": {MEASURED: True}})
        except Exception as error:
            yield view.trouble(text, error)

    return measure


def sources() -> list[Any]:
    """What computed the numbers."""
    from decoding.models import timing

    return [timing.measure, timing._milliseconds, timing._seconds_to_read, ForwardTimes]


@lru_cache(1)
def recorded() -> ForwardTimes:
    """The times that come with the app."""
    return codec.loads((LESSONS / "next-token" / "times.json").read_bytes(), ForwardTimes)

"""The panel that tells what one step of the page's model costs: recorded, and measured here when asked."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from functools import lru_cache
from typing import Any

from decoding import codec
from decoding.models.protocol import LanguageModel
from decoding.values import ForwardTimes
from visualizations.components.viewer import Panel
from visualizations.figures import step_cost
from visualizations.lab import LESSONS, Lab
from visualizations.pages import view
from visualizations.pages.measuring import Told
from visualizations.pages.view import Ask
from visualizations.runs import Run
from visualizations.text import Text

NAME = "step_cost"
PANEL = Panel(NAME, button="samplers.measure", turn=True)


def shown(lab: Lab, ask: Ask, text: Text, run: Run) -> dict[str, Any]:
    """The panel for a run's model: a figure and its words; of a table, words alone."""
    name, at, ran = lab.name_of(run), ask.view(NAME, text), run.header.model
    if ran.is_table:
        said = text("cost.table", model=view.model_label(text, name))
        return {"title": text("cost.title"), "text": said, "idle": True}
    here = lab.times.get(name)
    times = here or recorded(ran.dtype)
    caption = step_cost.step_cost_caption(times, at)
    caption["text"] += "\n" + _where(times, text, "cost.measured" if here else "cost.recorded")
    if not here and (times.model.name, times.model.dtype) != (ran.name, ran.dtype):
        caption["text"] += "\n" + text("cost.other", model=ran.name, dtype=ran.dtype)
    return view.panel(caption, step_cost.step_cost(times, at))


def _where(times: ForwardTimes, text: Text, key: str) -> str:
    """On what machine, of which model, after how much text."""
    model = times.model
    how = {"model": model.name, "dtype": model.dtype, "engine": model.engine, "context": times.context}
    return text(key, machine=times.machine, cores=times.cores, **how)


def job(lab: Lab, text: Text, run: Run, model: LanguageModel) -> Generator[Told, None, None]:
    """Time the passes of the model that made the run on the screen."""
    from decoding.models.timing import TOKENS

    words = text("cost.measuring", last=TOKENS[-1])
    with closing(lab.measure(lab.name_of(run))) as measured:
        for done in measured:
            yield words, done


def sources() -> list[Any]:
    """What computed the numbers."""
    from decoding.models import timing

    return [timing.measure, timing._milliseconds, timing._reader, ForwardTimes]


@lru_cache(2)
def recorded(dtype: str) -> ForwardTimes:
    """The times that come with the app: in this precision, else in float32."""
    name = "times-int4.json" if dtype == "int4" else "times.json"
    return codec.loads((LESSONS / "next-token" / name).read_bytes(), ForwardTimes)

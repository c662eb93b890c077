"""The panel that chooses gamma: the run's prompt raced with every gamma, beside what the cost model predicts."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from decoding.models.protocol import LanguageModel
from decoding.speculative.values import GammaSweep
from decoding.trace import MAX_GAMMA
from decoding.values import ForwardTimes
from visualizations.components.viewer import Panel
from visualizations.figures import spec_align_words, spec_sweep, spec_sweep_words
from visualizations.lab import Lab
from visualizations.pages import measuring, view
from visualizations.pages.measuring import Told
from visualizations.pages.view import Ask
from visualizations.runs import Run
from visualizations.text import Text

if TYPE_CHECKING:
    from decoding.speculative_settings import SpeculativeSettings

NAME = "sweep"
PANEL = Panel(NAME, button="sweep.measure", turn=True)
SECONDS = 60
"""So long a sweep may take, roughly."""
LEAST, MOST = 16, 64
"""New tokens of a text: where the time is short, and where it is not."""


def shown(lab: Lab, ask: Ask, text: Text, run: Run) -> dict[str, Any]:
    """The panel for a run: its own sweep, else the invitation to measure one."""
    found = measuring.found(run, NAME, GammaSweep)
    if found is None:
        key = "sweep.invite_table" if run.header.model.is_table else "sweep.invite_text"
        most = min(MOST, run.header.settings["max_new_tokens"])
        return {"title": text("sweep.invite"), "text": text(key, most=most)}
    at = ask.view(NAME, text)
    caption = spec_sweep_words.sweep_caption(found, at)
    if found.target_times:
        key = "sweep.measured" if NAME in run.measured else "sweep.recorded"
        drafter = spec_align_words.name_of(found.races[0].drafter, text)
        caption["text"] += "\n" + _where(found.target_times, text, key, drafter)
    return view.panel(dict(caption), spec_sweep.sweep(found, at))


def _where(times: ForwardTimes, text: Text, key: str, drafter: str) -> str:
    """On what machine, of which models."""
    how = {"model": times.model.name, "dtype": times.model.dtype, "engine": times.model.engine}
    return text(key, machine=times.machine, cores=times.cores, drafter=drafter, **how)


def job(lab: Lab, text: Text, run: Run, model: LanguageModel) -> Generator[Told, None, None]:
    """Time the passes of target and draft, then race with every gamma."""
    from decoding.speculative.sweep import sweeping

    settings = settings_of(run)
    yield text("spec.loading"), None
    for news in lab.load_draft(model, settings):
        yield text("spec.loading"), news.fraction
    target = draft = None
    if not run.header.model.is_table:
        target, draft = yield from _timed(lab, text, run, model, settings)
    most = new_tokens(settings.max_new_tokens, target)
    sweeping_now = sweeping(lab.racers(model, run, max_new_tokens=most), target, draft)
    run.measured[NAME] = yield from _named(sweeping_now, text)


def _named(sweeping: Generator[tuple[float, int], None, GammaSweep], text: Text) -> Generator[Told, None, GammaSweep]:
    """The progress of a sweep in words."""
    with closing(sweeping):
        while True:
            try:
                done, gamma = next(sweeping)
            except StopIteration as end:
                found: GammaSweep = end.value
                return found
            yield text("sweep.at", gamma=gamma, last=MAX_GAMMA), done


def settings_of(run: Run) -> SpeculativeSettings:
    """As the run's header records them."""
    from decoding.speculative_settings import speculative_settings_from

    return speculative_settings_from(run.header.settings)


def _timed(
    lab: Lab, text: Text, run: Run, model: LanguageModel, settings: SpeculativeSettings
) -> Generator[Told, None, tuple[ForwardTimes, ForwardTimes | None]]:
    """T(n) of both models, here and now; of the target, where the page has it, from there. The oracle is the target."""
    name = lab.name_of(run)
    if name not in lab.times:
        lab.times[name] = yield from _tell(text("sweep.timing_target"), lab.timing(model))
    target = lab.times[name]
    if settings.drafter == "oracle":
        return target, target
    draft = lab.draft_of(model, settings)
    if draft is None:
        return target, None
    return target, (yield from _tell(text("sweep.timing_draft"), lab.timing(draft)))


def _tell(words: str, timing: Generator[float, None, ForwardTimes]) -> Generator[Told, None, ForwardTimes]:
    """The fractions of a measurement, each with these words."""
    with closing(timing):
        while True:
            try:
                done = next(timing)
            except StopIteration as end:
                times: ForwardTimes = end.value
                return times
            yield words, done


def new_tokens(asked: int, times: ForwardTimes | None) -> int:
    """New tokens of each text: those of the run, but no more than a sweep has time for."""
    most = MOST
    if times is not None:
        plain_steps = 1000 * SECONDS / times.of_tokens(1)
        most = max(LEAST, min(MOST, int(plain_steps / (2 * MAX_GAMMA))))
    return min(asked, most)


def sources() -> list[Any]:
    """What computed the numbers."""
    from decoding.speculative import cost, race, sweep

    return [sweep.sweeping, race.racing, cost.timed_round, cost.draft_cost, GammaSweep]

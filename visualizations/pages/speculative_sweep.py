"""The panel that chooses gamma: the run's prompt raced with every gamma, beside what the cost model predicts."""

from __future__ import annotations

import math
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from decoding.models.protocol import LanguageModel
from decoding.speculative.values import GammaSweep, Race
from decoding.trace import MAX_GAMMA
from decoding.values import ForwardTimes
from visualizations.components.viewer import Panel
from visualizations.figures import spec_align_words, spec_sweep, spec_sweep_words
from visualizations.lab import Lab
from visualizations.pages import measuring, speculative_race, view
from visualizations.pages.measuring import Told
from visualizations.pages.view import Ask
from visualizations.runs import Run
from visualizations.text import Text

if TYPE_CHECKING:
    from decoding.speculative_settings import SpeculativeSettings

NAME = "sweep"
PANEL = Panel(NAME, button="sweep.measure", turn=True)
SECONDS = 120
"""So long a sweep may take, roughly."""
LEAST, MOST = 16, 64
"""New tokens of a text: where the time is short, and where it is not."""
REPEATS = 2
"""How often each text is written; the quicker counts, so that one slow moment does not."""


def shown(lab: Lab, ask: Ask, text: Text, run: Run) -> dict[str, Any]:
    """The panel for a run: its own sweep, else the invitation to measure one."""
    found = measuring.found(run, NAME, GammaSweep)
    if found is None:
        return {"title": text("sweep.invite"), "text": _invitation(lab, text, run)}
    at = ask.view(NAME, text)
    caption = spec_sweep_words.sweep_caption(found, at)
    if found.target_times:
        key = "sweep.measured" if NAME in run.measured else "sweep.recorded"
        drafter = spec_align_words.name_of(found.races[0].drafter, text)
        caption["text"] += "\n" + _where(found.target_times, text, key, drafter)
        if len(found.races[0].plain.totals) == REPEATS:
            caption["text"] += text("join") + text("sweep.twice")
    return view.panel(dict(caption), spec_sweep.sweep(found, at))


def _invitation(lab: Lab, text: Text, run: Run) -> str:
    """What the button does, and roughly how long that takes, where the model's pace is known."""
    table, times = run.header.model.is_table, lab.times.get(lab.name_of(run))
    most = new_tokens(run.header.settings["max_new_tokens"], times)
    said = [text("sweep.invite_table" if table else "sweep.invite_text", most=most)]
    if not table and (seconds := duration(lab, run)) is not None:
        said.append(text("sweep.takes", minutes=math.ceil(seconds / 60)))
    return text("join").join(said)


def duration(lab: Lab, run: Run) -> float | None:
    """Seconds that the button takes, roughly, by the run's race or by the passes timed here; None where neither was.

    Every gamma's texts with drafts and without, and before them the passes that are timed.
    """
    from decoding.models import timing

    times, race = lab.times.get(lab.name_of(run)), measuring.found(run, speculative_race.NAME, Race)
    if race is not None:
        step, token = race.plain_forward, race.plain.per_token + race.speculative.per_token
    elif times is not None:
        step = times.of_tokens(1) / 1000
        token = 2 * step
    else:
        return None
    passes = 0 if times else timing.LEAST_ROUNDS * (len(timing.TOKENS) + len(timing.ROWS))
    texts = MAX_GAMMA * REPEATS * _tokens(run.header.settings["max_new_tokens"], step)
    return texts * token + (max(timing.SECONDS, passes * step) if passes else 0)


def _where(times: ForwardTimes, text: Text, key: str, drafter: str) -> str:
    """On what machine, of which models."""
    how = {"model": times.model.name, "dtype": times.model.dtype, "engine": times.model.engine}
    return text(key, machine=times.machine, cores=times.cores, drafter=drafter, **how)


def job(lab: Lab, text: Text, run: Run, model: LanguageModel) -> Generator[Told, None, None]:
    """Time the passes of the target, then race with every gamma."""
    from decoding.speculative.sweep import sweeping

    settings = settings_of(run)
    yield text("spec.loading"), None
    for news in lab.load_draft(model, settings):
        yield text("spec.loading"), news.fraction
    target = None
    if not run.header.model.is_table:
        target = yield from _timed(lab, text, run, model)
    most = new_tokens(settings.max_new_tokens, target)
    repeats = REPEATS if target else 1  # a table has no time worth measuring
    sweeping_now = sweeping(lab.racers(model, run, max_new_tokens=most), target, repeats=repeats)
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


def _timed(lab: Lab, text: Text, run: Run, model: LanguageModel) -> Generator[Told, None, ForwardTimes]:
    """T(n) of the target, here and now; where the page has it, from there."""
    name = lab.name_of(run)
    if name not in lab.times:
        lab.times[name] = yield from _tell(text("sweep.timing_target"), lab.timing(model))
    return lab.times[name]


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
    return min(asked, MOST) if times is None else _tokens(asked, times.of_tokens(1) / 1000)


def _tokens(asked: int, step: float) -> int:
    """The same where a plain step takes so many seconds."""
    return min(asked, max(LEAST, min(MOST, int(SECONDS / step / (2 * MAX_GAMMA * REPEATS)))))


def sources() -> list[Any]:
    """What computed the numbers."""
    from decoding.speculative import cost, race, sweep

    return [sweep.sweeping, race.racing, cost.timed_round, Race, GammaSweep]

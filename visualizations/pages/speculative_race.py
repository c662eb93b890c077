"""The panel of the two clocks: plain decoding and speculation raced after a run, and again when asked."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

from decoding.models.protocol import LanguageModel
from decoding.speculative.cost import predicted, round_cost
from decoding.speculative.values import Race
from visualizations.components.viewer import Panel
from visualizations.figures import spec_race
from visualizations.figures.spec_race_words import race_caption, times
from visualizations.lab import Lab
from visualizations.pages import measuring, view
from visualizations.pages.measuring import Told
from visualizations.pages.view import Ask
from visualizations.runs import Run
from visualizations.text import Text

NAME = "race"
PANEL = Panel(NAME, button="race.button", turn=True)
FACTORS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""By how much playing may be slowed down."""
LEAST_PACE = 600.0
"""Milliseconds that a round takes on average when it is played, at least."""


def shown(lab: Lab, ask: Ask, text: Text, run: Run) -> dict[str, Any]:
    """The panel: the race up to the round shown; of a table, words alone."""
    if run.header.model.is_table:
        said = text("race.idle", model=view.model_label(text, lab.name_of(run)))
        return {"title": text("race.title"), "text": said, "idle": True}
    if (race := race_of(run)) is None:
        return {"title": text("race.title"), "text": text("race.invite")}
    at = ask.view(NAME, text)
    caption = race_caption(race, ask.step, at)
    caption["text"] += "\n" + text("join").join(_notes(race, run, text))
    return view.panel({**caption}, spec_race.race(race, ask.step, at))


def _notes(race: Race, run: Run, text: Text) -> list[str]:
    """Where it was measured, and how fast the player plays it."""
    said, factor = [text("race.basis_alone" if race.draft_cost is None else "race.basis")], _factor(race)
    if NAME not in run.measured:
        made = run.header.model
        said.append(text("race.recorded", model=made.name, dtype=made.dtype, engine=made.engine))
    elif len(race.speedups) == 1:
        said.append(text("race.once"))
    return [*said, text("race.pace", factor=factor) if factor > 1 else text("race.pace_real")]


def race_of(run: Run) -> Race | None:
    """The race of this very run: measured here, else the one recorded with the lesson."""
    return measuring.found(run, NAME, Race)


def counters(text: Text, run: Run, whole: bool) -> list[dict[str, str]]:
    """The speed-up by the clock and by the cost model, where the run was raced; `whole`: its end is shown."""
    if (race := race_of(run)) is None:
        return []
    measured, model = text("race.times", ratio=times(race.speedup)), text("race.times", ratio=times(predicted(race)))
    if whole:
        labels = text("race.count_measured"), text("race.count_predicted")
    else:
        labels = text("race.count_measured_whole"), text("race.count_predicted_whole")
    return [{"value": value, "label": label} for value, label in zip((measured, model), labels, strict=True)]


def pace(run: Run) -> list[int] | None:
    """Milliseconds that each round takes when it is played; None where nothing was raced."""
    if (race := race_of(run)) is None:
        return None
    return [round(1000 * seconds * _factor(race)) for seconds in race.speculative.durations]


def _factor(race: Race) -> int:
    """By how much playing is slowed down, so that a round can be followed."""
    mean = 1000 * race.speculative.total / len(race.speculative.seconds)
    return next((factor for factor in FACTORS if factor * mean >= LEAST_PACE), FACTORS[-1])


def job(lab: Lab, text: Text, run: Run, model: LanguageModel) -> Generator[Told, None, None]:
    """Race three times from the run's prompt, for the button."""
    from decoding.speculative.race import REPEATS
    from decoding.speculative_settings import speculative_settings_from

    for news in lab.load_draft(model, speculative_settings_from(run.header.settings)):
        yield text("spec.loading"), news.fraction
    yield from _raced(lab, run, model, REPEATS, text("race.running", repeats=REPEATS))


def once(lab: Lab, text: Text, run: Run, model: LanguageModel) -> Generator[Told, None, None]:
    """Race once, right after a run; a table is not raced."""
    if not run.header.model.is_table:
        yield from _raced(lab, run, model, 1, text("race.running_once"))


def _raced(lab: Lab, run: Run, model: LanguageModel, repeats: int, words: str) -> Generator[Told, None, None]:
    from decoding.speculative.race import racing

    def measure() -> Generator[float, None, None]:
        run.measured[NAME] = yield from racing(lab.racers(model, run, **_as_far(run)), repeats)

    with closing(measure()) as race:
        for done in race:
            yield words, done


def _as_far(run: Run) -> dict[str, int]:
    """A run that was stopped is raced as far as it came."""
    stopped = run.finish is not None and run.finish.reason == "cancelled"
    return {"max_new_tokens": len(run.emitted)} if stopped else {}


def sources() -> list[Any]:
    """What computed the numbers."""
    from decoding.speculative import race

    return [race.racing, race.Racers, race.Timed, Race, round_cost, predicted]

"""The same prompt raced for every gamma, and with every drafter."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import TypeVar

from decoding.errors import UserError
from decoding.models.protocol import LanguageModel
from decoding.speculative.race import Racers, racing
from decoding.speculative.values import Alignment, GammaSweep, LeftOut, Race
from decoding.speculative_settings import SpeculativeSettings
from decoding.trace import DRAFTERS, MAX_GAMMA
from decoding.values import ForwardTimes

GAMMAS = range(1, MAX_GAMMA + 1)
CANNOT_HAVE = frozenset({"no_draft", "draft_of_table", "draft_unsupported", "draft_one_layer", "draft_other_target"})
"""Errors that say of a drafter that this model has none such."""

Name = TypeVar("Name")
Load = Callable[[SpeculativeSettings], LanguageModel | None]
"""The draft model that settings name; None where they need none. Raises UserError where it cannot be had."""


def sweeping(
    racers: Racers,
    target_times: ForwardTimes | None = None,
    gammas: Sequence[int] = GAMMAS,
    repeats: int = 1,
) -> Generator[tuple[float, int], None, GammaSweep]:
    """Race with each gamma, in order; yield the fraction done and the gamma after every step, return the sweep.

    `target_times`: kept with it, for what they predict. Raises UserError as the loops do.
    """
    races: list[Race] = []
    for index, gamma in enumerate(gammas):
        racing_now = replace(racers, settings=replace(racers.settings, gamma=gamma))
        race = yield from _told(racing(racing_now, repeats, warm=not races), index, len(gammas), gamma)
        races.append(race)
    return GammaSweep(racers.model.info, tuple(races), target_times)


def aligning(
    racers: Racers, load: Load, drafters: Sequence[str] = DRAFTERS, repeats: int = 1
) -> Generator[tuple[float, str], None, Alignment]:
    """Race with each drafter at the gamma of the settings; yield the fraction done and its name, return all races.

    A drafter that this model cannot have is left out, and told to be. Raises UserError as the loops do.
    """
    races: list[Race] = []
    left_out: list[LeftOut] = []
    for index, drafter in enumerate(drafters):
        yield index / len(drafters), drafter
        settings = replace(racers.settings, drafter=drafter)
        try:
            draft = load(settings)
        except UserError as error:
            if error.code not in CANNOT_HAVE:
                raise
            left_out.append(LeftOut(drafter, error.code, racers.model.info.name))
            continue
        own = replace(racers, draft=draft, settings=settings)
        race = yield from _told(racing(own, repeats), index, len(drafters), drafter)
        races.append(race)
    return Alignment(racers.model.info, tuple(races), tuple(left_out))


def _told(
    running: Generator[float, None, Race], index: int, count: int, name: Name
) -> Generator[tuple[float, Name], None, Race]:
    """The fractions of part `index` of `count` as fractions of the whole, each with the part's name."""
    while True:
        try:
            done = next(running)
        except StopIteration as end:
            return end.value
        yield (index + done) / count, name

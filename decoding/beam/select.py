"""Which candidates go on, which end a text, which are cut, and when a search ends.

The selection is that of transformers' `generate(num_beams=W)`, of `stochastic` that of Kool et al. 2019,
arXiv:1903.06059. Scores are in nats; W is the width of the beam, or of one group of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from decoding.beam.options import Option
from decoding.beam.paths import normalised
from decoding.trace import Cut, Fate, Hypothesis

Ending = Literal["full", "hopeless", "length", "no_beams"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The fate of each option, in their order, and its cut where pruned.

    `ratings`: by place, the score of each option that ended a text and is held; `held`: how many of the texts
    held before stay, the best of them.
    """

    fates: tuple[tuple[Fate, Cut | None], ...]
    ratings: dict[int, float]
    held: int


def choose(
    options: Sequence[Option],
    held: Sequence[float],
    width: int,
    ends: Callable[[Option], bool],
    rate: Callable[[Option], float],
    last: bool,
) -> Choice:
    """The W best that do not end a text go on; of the W best of all, those that end one are held if good enough.

    `options`: best first. `held`: scores of the texts held, best first. `ends`: whether an option ends a text;
    at the `last` depth each does. `rate`: the score of an option as a finished text.
    """
    alive = [place for place, option in enumerate(options) if option.cut is None]
    ended = {place for place in alive if last or ends(options[place])}
    going = [place for place in alive if place not in ended][:width]
    ratings = {place: rate(options[place]) for place in alive[:width] if place in ended}
    texts = sorted([(-score, -1) for score in held] + [(-rating, place) for place, rating in ratings.items()])[:width]
    admitted = {place: ratings[place] for _, place in texts if place >= 0}  # of equals, those held before come first
    lowest = options[going[-1] if going else alive[:width][-1]].score

    def judge(place: int) -> tuple[Fate, Cut | None]:
        option = options[place]
        if option.cut is not None:
            return "pruned", option.cut
        if place in going:
            return "kept", None
        if place in ratings:
            worse = Cut("worse_finish", ratings[place], -texts[-1][0])
            return ("finished", None) if place in admitted else ("pruned", worse)
        if place in ended and not last and (len(going) < width or place < going[-1]):
            return "pruned", Cut("late_end", option.score, options[alive[width - 1]].score)
        return "pruned", Cut("width", option.score, lowest)

    fates = tuple(judge(place) for place in range(len(options)))
    return Choice(fates, admitted, len(texts) - len(admitted))


def choose_perturbed(
    options: Sequence[Option], held: Sequence[float], width: int, ends: Callable[[Option], bool], last: bool
) -> Choice:
    """The W highest perturbed scores, of texts finished before and of options alike, go on or are held.

    Since every open beam has a child with its own score, the scores kept are those of an exact sample.
    """
    places = sorted([(-score, -1) for score in held] + [(-option.score, at) for at, option in enumerate(options)])
    taken = {at for _, at in places[:width]}
    stay = sum(at < 0 for _, at in places[:width])
    lowest = -places[:width][-1][0]
    ended = {at for at in taken if at >= 0 and (last or ends(options[at]))}

    def judge(at: int) -> tuple[Fate, Cut | None]:
        if at in taken:
            return ("finished" if at in ended else "kept"), None
        return "pruned", Cut("width", options[at].score, lowest)

    fates = tuple(judge(at) for at in range(len(options)))
    return Choice(fates, {at: options[at].score for at in sorted(ended)}, stay)


def merged(held: Sequence[Hypothesis], new: Collection[Hypothesis]) -> tuple[Hypothesis, ...]:
    """The texts held, best first; of equals, those held before come first."""
    return tuple(sorted([*held, *new], key=lambda hypothesis: -hypothesis.score))


def attainable(
    logprob: float, depth: int, longest: int, length_penalty: float, early_stopping: bool | Literal["never"]
) -> float:
    """The length-normalised score that the best open beam is credited with, by transformers' rule.

    Its present log-probability at its present length; with "never" and a positive penalty, at the longest length,
    which no continuation exceeds. With False it is an estimate: a longer text may still score above it.
    """
    hopeful = early_stopping == "never" and length_penalty > 0
    return normalised(logprob, longest if hopeful else depth, length_penalty)


def ending(
    last: bool, best: float | None, held: Sequence[Hypothesis], width: int, early_stopping: bool | Literal["never"]
) -> Ending | None:
    """Why a search ends here, None where it goes on. `best`: what is attainable, None where no beam is open."""
    if last:
        return "length"
    if best is None:
        return "no_beams"
    if len(held) == width:
        if early_stopping is True:
            return "full"
        if best <= held[-1].score:
            return "hopeless"
    return None

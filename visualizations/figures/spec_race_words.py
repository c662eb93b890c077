"""What a race came to, in words: who was first, by how much, and what the cost model says to it."""

from __future__ import annotations

from decoding.speculative.cost import predicted, round_cost
from decoding.speculative.values import Race
from visualizations.figures.step_cost import ms
from visualizations.figures.style import View, decimal, number
from visualizations.figures.words import Caption, caption

__all__ = ["digits", "ms", "race_caption", "times"]


WITHIN = 0.05
"""One race alone does not tell a smaller difference than this from chance."""


def times(ratio: float) -> str:
    """1.12"""
    return decimal(ratio, 2 if ratio < 10 else 1)


def digits(race: Race) -> int:
    """Digits of the seconds of a race after the point: more where it is short."""
    longest = max(race.plain.total, race.speculative.total)
    return 1 if longest >= 20 else 2 if longest >= 1 else 3


def race_caption(race: Race, at: int, view: View) -> Caption:
    """Who is faster; how far both were after round `at`, from 0; the cost model; and what is compared."""
    said = [_moment(race, at, view), _model(race, view)]
    said.append(view.text("race.same" if race.same_text else "race.differ"))
    if len(race.speedups) > 1:
        said += _spread(race, view)
    return caption(_title(race, view), said, view)


def _title(race: Race, view: View) -> str:
    """The finding; no winner where the repeats disagree, or where one race alone is too close to tell."""
    ratio = times(race.speedup)
    if ratio == times(1):
        return view.text("race.equal")
    if _disagree(race) or (len(race.speedups) == 1 and abs(race.speedup - 1) < WITHIN):
        return view.text("race.close", ratio=ratio)
    return view.text("race.faster" if race.speedup > 1 else "race.slower", ratio=ratio)


def _moment(race: Race, at: int, view: View) -> str:
    """How far both were; at the end, how long both took for as many tokens."""
    plain, drafts, after = race.plain, race.speculative, digits(race)
    if at + 1 >= len(drafts.seconds):
        took = {"drafts": decimal(drafts.total, after), "plain": decimal(plain.total, after)}
        return view.text("race.end", tokens=number(drafts.written[-1]), **took)
    now = drafts.seconds[max(0, at)]
    done = {"drafts": number(drafts.written[max(0, at)]), "plain": number(plain.written_by(now))}
    return view.text("race.moment", round=max(0, at) + 1, seconds=decimal(now, after), **done)


def _model(race: Race, view: View) -> str:
    """What the cost model makes of the costs of this race."""
    values = {"ratio": times(predicted(race)), "tokens": times(race.counts.tau), "cost": times(round_cost(race))}
    if race.draft_cost is None:
        return view.text("race.predicted_alone", **values)
    drafts = decimal(race.counts.draft_passes / race.counts.target_passes, 1)
    return view.text("race.predicted", drafts=drafts, c=times(race.draft_cost), check=times(race.check_cost), **values)


def _spread(race: Race, view: View) -> list[str]:
    """How much the repeats differ."""
    low, high = min(race.speedups), max(race.speedups)
    said = [view.text("race.spread", repeats=number(len(race.speedups)), low=times(low), high=times(high))]
    return [*said, view.text("race.unsure")] if _disagree(race) else said


def _disagree(race: Race) -> bool:
    """Whether drafts won some repeats and lost others."""
    return min(race.speedups) < 1 < max(race.speedups)

"""What a sweep over gamma found, in sentences: which is best, and what a round costs there."""

from __future__ import annotations

from decoding.speculative import cost
from decoding.speculative.values import GammaSweep, Race
from decoding.values import ForwardTimes
from visualizations.figures.spec_align_words import told
from visualizations.figures.style import View
from visualizations.figures.words import Caption, caption

USUAL = 4
"""The gamma whose cost is told where none gains: a draft of four, checked with T(5)."""


def best(found: GammaSweep) -> Race:
    """The quickest race; where nothing is timed, that with the most tokens a pass. Of equals the smallest gamma."""
    if found.target_times is None:
        return max(found.races, key=lambda race: (race.counts.tau, -race.gamma))
    return max(found.races, key=lambda race: (race.speedup, -race.gamma))


def predicted(found: GammaSweep, gamma: int) -> float | None:
    """By acceptance at each position and the times measured; None where either is missing."""
    shares = [place.share or 0.0 for place in found.places]
    if not shares or found.target_times is None:
        return None
    return cost.timed_speedup(shares, gamma, found.target_times, found.draft_times)


def sweep_caption(found: GammaSweep, view: View) -> Caption:
    """The best gamma, why it is that one or why none gains, and what the names mean."""
    text, top = view.text, best(found)
    end = text("sweep.one_text", tokens=max(race.plain.written[-1] for race in found.races))
    if found.acceptance is None:
        return caption(text("sweep.nothing"), [end], view)
    if found.target_times is None:
        title = text("sweep.tokens", tau=told(top.counts.tau), gamma=top.gamma)
        return caption(title, [text("sweep.later"), text("sweep.table", model=found.model.name), end], view)
    gains = round(top.speedup, 2) > 1
    title = text("sweep.gain" if gains else "sweep.no_gain", gamma=top.gamma, speedup=told(top.speedup))
    shown = top if gains else _usual(found)
    check, drafting = _steps(shown.gamma, found.target_times, found.draft_times)
    paid = shown.counts.tau > check + drafting
    why = _reason(gains, paid, top.gamma < found.races[-1].gamma)
    full = caption(title, [_round(shown, check, drafting, view), why and text(why)], view)
    full["text"] += "\n" + caption("", [text("sweep.names"), text("sweep.line"), end], view)["text"]
    return full


def _reason(gains: bool, paid: bool, then_falls: bool) -> str:
    """Why the gain ends, or why there is none; `paid`: passes alone gain; `then_falls`: a larger gamma is slower."""
    if gains:
        return "sweep.more" if then_falls else ""
    return "sweep.not_forward" if paid else "sweep.not_paid"


def _steps(gamma: int, target: ForwardTimes, draft: ForwardTimes | None) -> tuple[float, float]:
    """What the check of a round costs, and its drafts, in plain steps."""
    return target.of_tokens(gamma + 1) / target.of_tokens(1), gamma * cost.draft_cost(target, draft)


def _round(race: Race, check: float, drafting: float, view: View) -> str:
    """What a round costs at this gamma, and what it gives."""
    values = {"gamma": race.gamma, "count": race.gamma + 1, "check": told(check), "tau": told(race.counts.tau)}
    if not drafting:
        return view.text("sweep.round_free", **values)
    allowed = race.counts.tau / (check + drafting)
    return view.text(
        "sweep.round", drafting=told(drafting), cost=told(check + drafting), allowed=told(allowed), **values
    )


def _usual(found: GammaSweep) -> Race:
    """The race with a draft of four, or the nearest there is."""
    return min(found.races, key=lambda race: (abs(race.gamma - USUAL), race.gamma))

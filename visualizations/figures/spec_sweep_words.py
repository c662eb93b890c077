"""What a sweep over gamma found, in sentences: which is best, and what a round costs there."""

from __future__ import annotations

from decoding.speculative import cost
from decoding.speculative.values import GammaSweep, Race
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


def predicted(found: GammaSweep, race: Race) -> float | None:
    """tau by what a round costs by the times measured; None where none were, or no draft was judged."""
    if found.target_times is None or not race.counts.judged:
        return None
    return race.counts.tau / sum(cost.timed_round(race, found.target_times))


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
    drafting, check = cost.timed_round(shown, found.target_times)
    paid = shown.counts.tau > check + drafting
    why = _reason(gains, paid, top.gamma < found.races[-1].gamma)
    full = caption(title, [_round(shown, check, drafting, view), why and text(why)], view)
    names = text("sweep.names" if drafting else "sweep.names_free")
    full["text"] += "\n" + caption("", [names, end], view)["text"]
    return full


def _reason(gains: bool, paid: bool, then_falls: bool) -> str:
    """Why the gain ends, or why there is none; `paid`: passes alone gain; `then_falls`: a larger gamma is slower."""
    if gains:
        return "sweep.more" if then_falls else ""
    return "sweep.not_forward" if paid else "sweep.not_paid"


def _round(race: Race, check: float, drafting: float, view: View) -> str:
    """What a round costs at this gamma, and what it gives."""
    drafts = race.counts.drafted / race.counts.target_passes
    values = {"gamma": race.gamma, "drafts": f"{drafts:.1f}", "count": 1 + round(drafts), "check": told(check)}
    values |= {"tau": told(race.counts.tau), "allowed": told(race.counts.tau / (check + drafting))}
    if not drafting:
        return view.text("sweep.round_free", **values)
    return view.text("sweep.round", c=told(race.draft_cost or 0.0), cost=told(check + drafting), **values)


def _usual(found: GammaSweep) -> Race:
    """The race with a draft of four, or the nearest there is."""
    return min(found.races, key=lambda race: (abs(race.gamma - USUAL), race.gamma))

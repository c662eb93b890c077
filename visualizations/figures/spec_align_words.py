"""What swapping the drafter showed, in sentences, and what drafters are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from decoding.speculative.values import Alignment, LeftOut, Race
from visualizations.figures.style import View, decimal
from visualizations.figures.words import Caption, caption, list_of
from visualizations.text import STRINGS


def told(value: float) -> str:
    """1.24; one decimal where it is large."""
    return decimal(value, 2 if value < 10 else 1)


def name_of(drafter: str, text: Callable[..., str]) -> str:
    """A drafter inside a sentence: one of the kinds by its name, another model by its own."""
    if (key := f"align.name_{drafter}") in STRINGS or (key := f"model.{drafter}") in STRINGS:
        return text(key)
    return drafter


def ordered(found: Alignment) -> list[Race]:
    """The races, those with more accepted first, those with nothing judged last."""
    return sorted(found.races, key=_alpha, reverse=True)


def timed(found: Alignment) -> bool:
    """Whether its times say anything: those of tables do not."""
    return not found.model.is_table


def quickest(found: Alignment) -> Race:
    """The race with the largest speed-up."""
    return max(found.races, key=lambda race: race.speedup)


def _alpha(race: Race) -> float:
    alpha = race.counts.acceptance
    return -1.0 if alpha is None else alpha


def alignment_caption(found: Alignment, view: View) -> Caption:
    """Which drafter is quickest, the rule, its two extremes, who is left out, and what the names mean."""
    text, clock = view.text, timed(found)
    said = [text("align.lesson" if clock else "align.lesson_table"), *_extremes(found, view)]
    if not clock:
        said.append(text("align.table", model=found.model.name))
    full = caption(_title(found, view), said, view)
    codes = dict.fromkeys(each.code for each in found.left_out)
    left = [_left_out([each for each in found.left_out if each.code == code], view) for code in codes]
    names = text("align.names" if clock else "align.names_table")
    full["text"] += "\n" + caption("", [*left, names], view)["text"]
    return full


def _left_out(some: Sequence[LeftOut], view: View) -> str:
    """Drafters that the model cannot have, all for one reason."""
    reason = view.text(f"align.why_{some[0].code}", model=some[0].model)
    names = list_of([name_of(each.drafter, view.text) for each in some], view)
    return view.text("align.left_out", drafter=names, reason=reason)


def _title(found: Alignment, view: View) -> str:
    text = view.text
    if timed(found):
        best = quickest(found)
        key = "align.gain" if round(best.speedup, 2) > 1 else "align.no_gain"
        return text(key, drafter=name_of(best.drafter, text), speedup=told(best.speedup))
    first = ordered(found)[0]
    if first.counts.acceptance is None:
        return text("align.nothing")
    return text("align.accepts", drafter=name_of(first.drafter, text), alpha=told(first.counts.acceptance))


def _extremes(found: Alignment, view: View) -> list[str]:
    """The drafter that is as good as can be, and the one that is as cheap as can be, with their numbers."""
    said = []
    for race in ordered(found):
        alpha, cost = race.counts.acceptance, race.draft_cost
        if alpha is None:
            continue
        if race.drafter == "oracle" and (cost is None or not timed(found)):
            said.append(view.text("align.oracle_table", alpha=told(alpha)))
        elif race.drafter == "oracle" and cost is not None:
            said.append(view.text("align.oracle", alpha=told(alpha), cost=told(cost)))
        elif race.drafter == "random" and timed(found):
            said.append(view.text("align.random", alpha=told(alpha)))
    return said

"""The probability of each token at one stage: kept bars solid, removed ones hollow with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from decoding.trace import Distribution, SampleStep, Stage
from visualizations.figures import rows as table
from visualizations.figures.rows import Row
from visualizations.figures.rules import Fate, Story, candidates, others, rule_name, story
from visualizations.figures.style import Figure, View, number, percent, percent_label, quoted, token_label
from visualizations.figures.words import Caption, caption, list_of, spaced

HOW = {
    "drawn": ("bars.drawn", "bars.drawn_model"),
    "argmax": ("bars.picked", "bars.picked_model"),
    "forced": ("bars.chosen", "bars.chosen_model"),
}
"""How a token came about, by the kind of its draw: where rules changed its probability, and where not."""


def bars(step: SampleStep, view: View, stage: int = -1, top_n: int = 20, x_max: float = 1.0) -> Figure:
    """Token probabilities after `stages[stage]`; removed tokens stand at what they had just before."""
    rows = _rows(story(step.stages, view), stage % len(step.stages), step.token.id, top_n)
    return table.draw(rows, view, x_max)


def law_bars(
    law: Distribution,
    view: View,
    top_n: int = 20,
    before: Distribution | None = None,
    rule: str = "",
    x_max: float = 1.0,
) -> Figure:
    """The same picture of a law alone; `before` is the law that `rule` (its name, in words) cut."""
    laws = [law] if before is None else [before, law]
    stages = [Stage("law", {}, each, kept_count(each), 1.0) for each in laws]
    names = [view.text("rule.law"), rule or view.text("rule.law_cut")][: len(laws)]
    return table.draw(_rows(story(stages, view, names), len(laws) - 1, None, top_n), view, x_max)


def kept_count(law: Distribution) -> int:
    """How many tokens a law keeps."""
    return law.tail_count + sum(c.kept for c in law.top)


def _rows(told: Story, last: int, drawn: int | None, top_n: int) -> list[Row]:
    found = told.fates(last)
    shown = found[:top_n] + [f for f in found[top_n:] if f.token.id == drawn]
    made = [_row(fate, fate.token.id == drawn, told) for fate in shown]
    return made + _rest(told.stages[: last + 1], [fate.token.id for fate in shown], told.view)


def _row(fate: Fate, chosen: bool, told: Story) -> Row:
    view, note = told.view, ""
    if fate.cut_by is not None:
        note = spaced(view.text("rows.cut_short" if view.narrow else "rows.cut", rule=told.names[fate.cut_by]))
    return Row(
        label=token_label(fate.token.text, table.label_limit(view)),
        prob=fate.prob,
        amount=percent_label(fate.prob) if fate.kept else f"({percent_label(fate.prob)})",
        hover=told.hover(fate.token),
        id=fate.token.id,
        state="kept" if fate.kept else "cut",
        note=note,
        chosen=chosen,
    )


def _rest(stages: Sequence[Stage], shown: Sequence[int], view: View) -> list[Row]:
    rest = others(stages, shown)
    if not rest.count:
        return []
    label, amount = table.rest_label(rest.count, view), percent_label(rest.mass)
    values = {"count": number(rest.count), "kept": number(rest.kept), "mass": amount}
    if not rest.kept:
        note, hover = view.text("rows.all_cut"), view.text("hover.others_cut", **values)
        return [Row(label, rest.mass, f"({amount})", hover, state="cut", note=note)]
    note = view.text("rows.some_kept", **values) if rest.kept < rest.count else ""
    return [Row(label, rest.mass, amount, view.text("hover.others", **values), state="rest", note=note)]


def bars_caption(step: SampleStep, view: View, stage: int = -1) -> Caption:
    """What happened to the drawn token, then what the rules left."""
    index = stage % len(step.stages)
    stages = step.stages[: index + 1]
    last, text = stages[-1], view.text
    here = candidates([last])[0].get(step.token.id)
    token = quoted(step.token.text)
    if here is not None and here.kept:
        unchanged = index == 0 or percent(here.prob) == percent(step.model_prob)
        key = HOW.get(step.draw.kind, HOW["drawn"])[unchanged]
        parts = [text(key, token=token, prob=percent(here.prob), model=percent(step.model_prob))]
    else:
        parts = [text("bars.drawn_cut", token=token, model=percent(step.model_prob))]
    parts.append(_kept_sentence(stages, view))
    parts.append(text("entropy", bits=f"{last.result.entropy:.2f}"))
    if last.kept_count < stages[0].kept_count:
        parts.append(text("bars.brackets"))
    return caption(_title(step.position, stages, view), parts, view)


def _title(position: int, stages: Sequence[Stage], view: View) -> str:
    names = [rule_name(s, view) for s in stages[1:]]
    if not names:
        return view.text("bars.title_model", step=position + 1)
    if len(names) > 3:
        return view.text("bars.title_many", step=position + 1, count=len(names), last=names[-1])
    return view.text("bars.title", step=position + 1, rules=list_of(names, view))


def _kept_sentence(stages: Sequence[Stage], view: View) -> str:
    total, last = stages[0].kept_count, stages[-1]
    values = {"kept": number(last.kept_count), "total": number(total)}
    if last.kept_count >= total:
        return view.text("bars.all_kept", **values)
    cut = [now for was, now in pairwise(stages) if now.kept_count < was.kept_count]
    key = "bars.kept" if len(cut) == 1 else "bars.kept_last"
    return spaced(view.text(key, rule=rule_name(cut[-1], view), mass=percent(cut[-1].kept_mass), **values))


def law_caption(law: Distribution, view: View, temperature: float, top_p: float, total: int = 0) -> Caption:
    """The law at this temperature and top-p in one sentence."""
    best = max(law.top, key=lambda c: c.prob)
    kept = kept_count(law)
    parts = [view.text("law.best", token=quoted(best.token.text), prob=percent(best.prob))]
    if total > kept:
        parts.append(view.text("law.kept", kept=number(kept), total=number(total)))
    parts.append(view.text("entropy", bits=f"{law.entropy:.2f}"))
    return caption(view.text("law.title", t=f"{temperature:.2f}", p=f"{top_p:.2f}"), parts, view)

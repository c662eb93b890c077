"""Raw logits beside the probabilities softmax makes of them, for the same tokens."""

from __future__ import annotations

import math

from decoding.trace import Candidate, SampleStep
from visualizations.figures import base
from visualizations.figures import rows as table
from visualizations.figures.rows import Columns, Row
from visualizations.figures.rules import Story, story
from visualizations.figures.style import (
    BODY,
    SMALL,
    Figure,
    View,
    decimal,
    number,
    percent,
    percent_label,
    quoted,
    token_label,
)
from visualizations.figures.words import Caption, caption

ABOVE = 24
"""Room for the column heads, px."""
NUMBER = 52
"""Width of the column of logits, px."""


def logits_softmax(step: SampleStep, view: View, top_n: int = 15, x_max: float = 1.0) -> Figure:
    """The model's own law: logits as points on a line from zero, softmax, probabilities as bars."""
    told = story(step.stages[:1], view)
    shown = _shown(step, top_n)
    rows = [_row(c, c.token.id == step.token.id, told) for c in shown] + _rest(step, shown, view)
    at = table.columns(view, x_max, middle=NUMBER + (52 if view.narrow else 0.26 * view.width))
    data = [
        table.target(rows, at),
        *table.solid(rows, view, x_max),
        *table.labels(rows, view, at),
        table.amounts(rows, view, at),
        *_logits(shown, view, at),
        *_heads(view, at),
    ]
    return base.figure(data, table.frame(len(rows), view, at, ABOVE), x_max=x_max)


def _shown(step: SampleStep, top_n: int) -> list[Candidate]:
    found = sorted((c for c in step.stages[0].result.top if c.kept), key=lambda c: (-c.prob, c.token.id))
    return found[:top_n] + [c for c in found[top_n:] if c.token.id == step.token.id]


def _row(candidate: Candidate, chosen: bool, told: Story) -> Row:
    return Row(
        label=token_label(candidate.token.text, table.label_limit(told.view)),
        prob=candidate.prob,
        amount=percent_label(candidate.prob),
        hover=told.hover(candidate.token),
        id=candidate.token.id,
        chosen=chosen,
    )


def _tail(step: SampleStep, shown: list[Candidate]) -> tuple[int, float]:
    """How many tokens have no row, and their mass."""
    first = step.stages[0].result
    ids = {c.token.id for c in shown}
    hidden = [c.prob for c in first.top if c.kept and c.token.id not in ids]
    return first.tail_count + len(hidden), first.tail_mass + sum(hidden)


def _rest(step: SampleStep, shown: list[Candidate], view: View) -> list[Row]:
    count, mass = _tail(step, shown)
    if not count:
        return []
    values = {"count": number(count), "kept": number(count), "mass": percent_label(mass)}
    label, hover = table.rest_label(count, view), view.text("hover.others", **values)
    return [Row(label, mass, values["mass"], hover, state="rest")]


def _logits(shown: list[Candidate], view: View, at: Columns) -> list[base.Trace]:
    """Points on stalks from the zero line, and their values in a column to the left."""
    values = [c.logit or 0.0 for c in shown]
    left, right = -(at.middle - NUMBER - 8), -18.0  # px from the bars' zero
    low, high = min([0.0, *values]), max([0.0, *values])
    scale = (right - left) / ((high - low) or 1.0)
    zero = left - low * scale
    points = [((left + (value - low) * scale) * at.unit, i) for i, value in enumerate(values)]
    soft, kept, end = view.color("soft"), view.color("kept"), len(shown) - 0.5
    marker = {"size": 7, "color": kept, "line": {"width": 0}}
    numbers = [(-(at.middle - NUMBER) * at.unit, i, decimal(value)) for i, value in enumerate(values)]
    return [
        base.lines([((zero * at.unit, -0.5), (zero * at.unit, end))], view.color("line"), 1),
        base.lines([((zero * at.unit, i), (x, i)) for x, i in points], soft, 1),
        {
            "type": "scatter",
            "mode": "markers",
            "x": [x for x, _ in points],
            "y": [i for _, i in points],
            "marker": marker,
            "customdata": values,
            "hoverinfo": "skip",
        },
        base.texts(numbers, soft, "middle left", BODY, mono=True),
    ]


def _heads(view: View, at: Columns) -> list[base.Trace]:
    y = -0.5 - ABOVE / table.ROW / 2
    heads = [(-(at.middle - NUMBER) * at.unit, y, view.text("logits.head_logit"))]
    arrow = [(-8 * at.unit, y, view.text("logits.head_softmax"))]
    right = [(at.high - 2 * at.unit, y, view.text("logits.head_prob"))]
    soft = view.color("soft")
    return [
        base.texts(heads, soft, "middle left", SMALL),
        base.texts(arrow, soft, "middle center", SMALL),
        base.texts(right, soft, "middle left", SMALL),
    ]


def logits_caption(step: SampleStep, view: View, top_n: int = 15) -> Caption:
    """What softmax made of the best logit, then of the rest."""
    shown = _shown(step, top_n)
    best, parts = shown[0], []
    values = {"token": quoted(best.token.text), "logit": decimal(best.logit or 0.0), "prob": percent(best.prob)}
    parts.append(view.text("logits.best", **values))
    if len(shown) > 1 and best.logit is not None and shown[1].logit is not None:
        gap = best.logit - shown[1].logit
        ratio = f"{math.exp(gap):,.1f}" if gap < 20 else f"{math.exp(min(gap, 700)):.1e}"
        key = "logits.ratio" if gap >= 0.005 else "logits.tie"
        parts.append(view.text(key, gap=f"{gap:.2f}", second=quoted(shown[1].token.text), ratio=ratio))
    count, mass = _tail(step, shown)
    if count:
        parts.append(view.text("logits.rest", count=number(count), mass=percent(mass)))
    parts.append(view.text("entropy", bits=f"{step.stages[0].result.entropy:.2f}"))
    return caption(view.text("logits.title"), parts, view)

"""Many draws from one law: how often each token came, over what the law says."""

from __future__ import annotations

from decoding.values import Histogram
from visualizations.figures import base
from visualizations.figures import rows as table
from visualizations.figures.rows import Row
from visualizations.figures.rules import token_lines
from visualizations.figures.style import (
    SMALL,
    Figure,
    View,
    literal,
    number,
    percent,
    percent_label,
    quoted,
    text_px,
    token_label,
)
from visualizations.figures.words import Caption, caption

ABOVE = 24
"""Room for the words that name the marks, px."""


def histogram(found: Histogram, view: View, top_n: int = 15, x_max: float = 1.0) -> Figure:
    """Solid bars as often as drawn; an upright mark where the exact law is."""
    rows, exact = _rows(found, view, top_n)
    at = table.columns(view, x_max, amount=72 if view.narrow else 136)
    marks = [((min(p, x_max), i - 0.46), (min(p, x_max), i + 0.46)) for i, p in enumerate(exact)]
    y = -0.5 - ABOVE / table.ROW / 2
    drawn = [(0, y, view.text("histogram.drawn", count=number(found.draws)))]
    law = [((text_px(drawn[0][2], SMALL) + 18) * at.unit, y, view.text("histogram.exact"))]
    data = [
        table.target(rows, at),
        *table.solid(rows, view, x_max),
        base.lines(marks, view.color("ink"), 2.2, customdata=[p for p in exact for _ in range(3)]),
        *table.labels(rows, view, at),
        table.amounts(rows, view, at),
        base.texts(drawn, view.color("kept"), size=SMALL),
        base.texts(law, view.color("ink"), size=SMALL),
    ]
    return base.figure(data, table.frame(len(rows), view, at, ABOVE), x_max=x_max)


def _rows(found: Histogram, view: View, top_n: int) -> tuple[list[Row], list[float]]:
    """The rows, and each one's exact probability."""
    rows, exact = [], []
    pairs = sorted(zip(found.law.top, found.counts, strict=True), key=lambda pair: (-pair[0].prob, pair[0].token.id))
    for candidate, count in pairs[:top_n]:
        share = count / found.draws if found.draws else 0.0
        label = token_label(candidate.token.text, table.label_limit(view))
        hover = [*token_lines(candidate.token, view), _hover(count, share, candidate.prob, view)]
        rows.append(Row(label, share, _amount(count, share, view), "<br>".join(hover), candidate.token.id))
        exact.append(candidate.prob)
    hidden = pairs[top_n:]
    count = found.tail_count + sum(c for _, c in hidden)
    mass = found.law.tail_mass + sum(c.prob for c, _ in hidden)
    if mass > 0 or count:
        share = count / found.draws if found.draws else 0.0
        kept = found.law.tail_count + sum(c.kept for c, _ in hidden)
        label = table.rest_label(kept, view)
        rows.append(Row(label, share, _amount(count, share, view), _hover(count, share, mass, view), state="rest"))
        exact.append(mass)
    return rows, exact


def _amount(count: int, share: float, view: View) -> str:
    text = percent(share)
    return literal(text if view.narrow else f"{number(count)} {text:>9}")


def _hover(count: int, share: float, prob: float, view: View) -> str:
    values = {"share": percent_label(share), "prob": percent_label(prob)}
    return view.text("histogram.hover", count=number(count), **values)


def histogram_caption(found: Histogram, view: View) -> Caption:
    """How the most likely token fared, then the distance between the two."""
    parts = []
    if found.law.top and found.draws:
        best, count = max(zip(found.law.top, found.counts, strict=True), key=lambda pair: pair[0].prob)
        values = {"count": number(count), "share": percent(count / found.draws), "prob": percent(best.prob)}
        parts.append(view.text("histogram.best", token=quoted(best.token.text), **values))
    distances = {"distance": percent(found.total_variation), "expected": percent(found.expected)}
    parts.append(view.text("histogram.distance", draws=number(found.draws), **distances))
    return caption(view.text("histogram.title", draws=number(found.draws)), parts, view)

"""Many draws from one law: how often each token came, over what the law says."""

from __future__ import annotations

from decoding.trace import Distribution
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
from visualizations.figures.words import Caption, caption, spaced

ABOVE = 24
"""Room for the words that name the marks, px."""


def histogram(
    found: Histogram,
    view: View,
    top_n: int = 15,
    x_max: float = 1.0,
    before: Distribution | None = None,
    rule: str = "",
) -> Figure:
    """Solid bars as often as drawn; an upright mark where the exact law is.

    `before` is the law that `rule` (its name, in words) cut: what it removed cannot be drawn, and stands hollow at
    what it held then.
    """
    rows, exact = _rows(found, view, top_n)
    rows += _cut_rows(found, view, top_n, before, rule) if before is not None else []
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
        table.notes(rows, view, at),
    ]
    return base.figure(data, table.frame(len(rows), view, at, ABOVE), x_max=x_max)


def _rows(found: Histogram, view: View, top_n: int) -> tuple[list[Row], list[float]]:
    """The rows of what can be drawn, and each one's exact probability."""
    rows, exact = [], []
    pairs = sorted(zip(found.law.top, found.counts, strict=True), key=lambda pair: (-pair[0].prob, pair[0].token.id))
    pairs = [pair for pair in pairs if pair[0].kept]
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
        label = table.rest_label(found.law.tail_count + len(hidden), view)
        rows.append(Row(label, share, _amount(count, share, view), _hover(count, share, mass, view), state="rest"))
        exact.append(mass)
    return rows, exact


def _cut_rows(found: Histogram, view: View, top_n: int, before: Distribution, rule: str) -> list[Row]:
    """The likeliest of the removed tokens while there is room, then the others as one row."""
    kept = {c.token.id for c in found.law.top if c.kept}
    listed = sorted((c for c in before.top if c.token.id not in kept), key=lambda c: (-c.prob, c.token.id))
    shown = listed[: max(0, top_n - len(kept))]
    note = spaced(view.text("rows.cut_short" if view.narrow else "rows.cut", rule=rule))
    rows = []
    for c in shown:
        label, share = token_label(c.token.text, table.label_limit(view)), f"({percent_label(c.prob)})"
        hover = "<br>".join([*token_lines(c.token, view), view.text("hover.removed", name=rule)])
        rows.append(Row(label, c.prob, share, hover, c.token.id, state="cut", note=note))
    count = before.tail_count + len(before.top) - len(kept) - found.law.tail_count - len(shown)
    if count > 0:
        mass = max(0.0, before.tail_mass + sum(c.prob for c in listed[len(shown) :]) - _tail_before(found, before))
        values = {"count": number(count), "kept": "0", "mass": percent_label(mass)}
        hover, note = view.text("hover.others_cut", **values), view.text("rows.all_cut")
        label = table.rest_label(count, view)
        rows.append(Row(label, mass, f"({percent_label(mass)})", hover, state="cut", note=note))
    return rows


def _tail_before(found: Histogram, before: Distribution) -> float:
    """What the tokens that are kept but not listed held before the cut: the cut rescales all alike."""
    best = max((c for c in found.law.top if c.kept), key=lambda c: c.prob)
    was = next((c.prob for c in before.top if c.token.id == best.token.id), best.prob)
    return found.law.tail_mass * was / best.prob


def _amount(count: int, share: float, view: View) -> str:
    text = percent(share)
    return literal(text if view.narrow else f"{number(count)} {text:>9}")


def _hover(count: int, share: float, prob: float, view: View) -> str:
    values = {"share": percent_label(share), "prob": percent_label(prob)}
    return view.text("histogram.hover", count=number(count), **values)


def histogram_caption(found: Histogram, view: View, point: tuple[float, float] | None = None) -> Caption:
    """How the most likely token fared, then the distance between the two; `point`: the temperature and top-p."""
    parts = []
    if found.law.top and found.draws:
        best, count = max(zip(found.law.top, found.counts, strict=True), key=lambda pair: pair[0].prob)
        values = {"count": number(count), "share": percent(count / found.draws), "prob": percent(best.prob)}
        parts.append(view.text("histogram.best", token=quoted(best.token.text), **values))
    distances = {"distance": percent(found.total_variation), "expected": percent(found.expected)}
    parts.append(view.text("histogram.distance", draws=number(found.draws), **distances))
    title = view.text("histogram.title", draws=number(found.draws))
    if point is not None:
        title = view.text("histogram.title_at", draws=number(found.draws), t=f"{point[0]:.2f}", p=f"{point[1]:.2f}")
    return caption(title, parts, view)

"""Gumbel-top-k: the orders, or the items, that draws without replacement hold, counted over exact."""

from __future__ import annotations

from typing import Literal

from decoding.experiments.values import Order, TopKDraws
from visualizations.figures import base
from visualizations.figures import rows as table
from visualizations.figures.lab_marks import columns, hovered, is_rest, item, said
from visualizations.figures.lab_tally import ABOVE, exact_marks
from visualizations.figures.lab_words import fit_sentences
from visualizations.figures.rows import Row
from visualizations.figures.style import (
    BODY,
    SMALL,
    Figure,
    View,
    number,
    percent,
    percent_label,
    text_px,
)
from visualizations.figures.words import Caption, caption

Show = Literal["orders", "items"]
ARROW = "→"


def lab_topk(topk: TopKDraws, view: View, show: Show = "orders", top_n: int = 10) -> Figure:
    """`orders`: the most likely ones and the rest as one bar; `items`: how often each item is among those drawn."""
    if show == "orders":
        rows, exact = _orders(topk, view, top_n)
    else:
        rows, exact = _items(topk, view)
    listed = [place for place, row in enumerate(rows) if row.state == "kept"]
    scale = min(1.0, 1.06 * max(value for place in listed for value in (exact[place], rows[place].prob)))
    label = max(80.0, (order_columns(topk, view, show) + 2) * BODY * 0.61 + 8)
    at = table.Columns(label, 66, max(60.0, view.width - label - 66), scale)
    drawn = view.text("histogram.drawn", count=number(topk.draws))
    y = -0.5 - ABOVE / table.ROW / 2
    data = [
        table.target(rows, at),
        *table.solid(rows, view, scale),
        exact_marks([p for p in exact if p <= scale], scale, view),
        _broken(rows, scale, view),
        *table.labels(rows, view, at),
        table.amounts(rows, view, at),
        base.texts([(0, y, drawn)], view.color("kept"), size=SMALL),
        base.texts(
            [((text_px(drawn, SMALL) + 16) * at.unit, y, view.text("histogram.exact"))], view.color("ink"), size=SMALL
        ),
    ]
    return base.figure(data, table.frame(len(rows), view, at, ABOVE), x_max=scale)


def _broken(rows: list[Row], scale: float, view: View) -> base.Trace:
    """A gap in each bar that is longer than the scale."""
    places = [place for place, row in enumerate(rows) if row.prob > scale]
    return base.bars([0.012 * scale] * len(places), places, view.color("panel"), 1, 0.94 * scale)


def order_columns(topk: TopKDraws, view: View, show: Show) -> int:
    """How many columns the longest label takes."""
    most = 18 if view.narrow else 30
    if show == "items":
        return columns(topk.law, table.label_limit(view), view)
    return max(13, min(most, topk.size * (_limit(topk, view) + 3) - 3))


def _limit(topk: TopKDraws, view: View) -> int:
    """Columns of one name in an order: as long as the longest, as long as they all fit."""
    return max(1, columns(topk.law, ((18 if view.narrow else 30) + 3) // topk.size - 3, view))


def _order_label(topk: TopKDraws, order: Order, limit: int, view: View) -> str:
    between = f" {ARROW} "
    return between.join(item(topk.law, i, limit, view) for i in order.indices)


def _orders(topk: TopKDraws, view: View, top_n: int) -> tuple[list[Row], list[float]]:
    rows, exact = [], []
    limit = _limit(topk, view)
    for place, order in enumerate(topk.orders[:top_n]):
        share = order.count / topk.draws if topk.draws else 0.0
        words = {"count": number(order.count), "share": percent_label(share), "prob": percent_label(order.prob)}
        hover = f"<b>{_order_label(topk, order, 24, view)}</b><br>{view.text('histogram.hover', **words)}"
        rows.append(Row(_order_label(topk, order, limit, view), share, _share(share), hover, place))
        exact.append(order.prob)
    hidden = topk.orders[top_n:]
    if hidden:
        count, prob = sum(o.count for o in hidden), sum(o.prob for o in hidden)
        share = count / topk.draws if topk.draws else 0.0
        words = {"count": number(count), "share": percent_label(share), "prob": percent_label(prob)}
        label = view.text("lab.topk.orders_more", count=number(len(hidden)))
        rows.append(Row(label, share, _share(share), view.text("histogram.hover", **words), state="rest"))
        exact.append(prob)
    return rows, exact


def _items(topk: TopKDraws, view: View) -> tuple[list[Row], list[float]]:
    rows = []
    for i, (count, prob) in enumerate(zip(topk.included, topk.inclusion, strict=True)):
        share = count / topk.draws if topk.draws else 0.0
        words = {"count": number(count), "share": percent_label(share), "prob": percent_label(prob)}
        hover = f"{hovered(topk.law, i, view)}<br>{view.text('histogram.hover', **words)}"
        rest = is_rest(topk.law, i)
        label = table.rest_label(topk.law.others, view) if rest else item(topk.law, i, table.label_limit(view), view)
        rows.append(Row(label, share, _share(share), hover, None if rest else i, "rest" if rest else "kept"))
    return rows, list(topk.inclusion)


def _share(share: float) -> str:
    return percent_label(share).replace(" ", "\u00a0")


def lab_topk_caption(topk: TopKDraws, view: View, show: Show = "orders") -> Caption:
    """How the likeliest order fared, or the likeliest item, then the rule."""
    text, law = view.text, topk.law
    if show == "orders":
        best = topk.orders[0]
        names = f" {ARROW} ".join(said(law, i, view) for i in best.indices)
        values = {"count": number(best.count), "draws": number(topk.draws), "prob": percent(best.prob)}
        parts = [text("lab.topk.best", order=names, share=percent(best.count / topk.draws), **values)]
    else:
        most = max(range(len(law.items)), key=lambda i: law.probs[i])
        values = {"token": said(law, most, view), "prob": percent(law.probs[most]), "size": number(topk.size)}
        shares = {"share": percent(topk.included[most] / topk.draws), "inclusion": percent(topk.inclusion[most])}
        parts = [text("lab.topk.item", **values, **shares)]
    parts += fit_sentences(topk.fit, view, "lab.fit.pooled_orders")
    return caption(text("lab.topk.title", size=number(topk.size)), [*parts, text("lab.topk.why")], view)

"""Horizontal bars, one row a token: the geometry shared by the bars, the histogram and the logits.

The hidden x axis spans the whole width of the figure: labels stand left of 0, the bars run from 0
to `x_max`, numbers stand in one column at the right. One row is always as high, wherever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from visualizations.figures import base
from visualizations.figures.style import BODY, SMALL, Figure, View, literal, text_px

ROW = 24
"""Height of a row, px."""
THICK = 0.66
"""Thickness of a bar, in rows."""
EDGE = 4
"""Room above the first row and below the last, px."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `label`, `note`, `amount` and `hover` are safe for Plotly; `id` answers a click (None: nothing).

    `state`: kept (solid), cut (dashed and struck through) or rest (hatched: many tokens as one).
    """

    label: str
    prob: float
    amount: str
    hover: str
    id: int | None = None
    state: str = "kept"
    note: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Columns:
    """Where things stand: px of the label column, the bars and the number column; `unit` is x per px.

    `middle`: px kept free between the labels and the bars.
    """

    label: float
    amount: float
    bar: float
    x_max: float
    middle: float = 0.0

    @property
    def unit(self) -> float:
        """How much of the x axis one px is."""
        return self.x_max / self.bar

    @property
    def low(self) -> float:
        """x at the left edge."""
        return -(self.label + self.middle) * self.unit

    @property
    def high(self) -> float:
        """x at the right edge."""
        return self.x_max + self.amount * self.unit


def label_limit(view: View) -> int:
    """How many columns of a monospaced label fit."""
    return 10 if view.narrow else 15


def columns(view: View, x_max: float, amount: float = 72, middle: float = 0) -> Columns:
    """The columns for this width."""
    label = (label_limit(view) + 2) * BODY * 0.61 + 8
    return Columns(label, amount, max(60.0, view.width - label - amount - middle), x_max, middle)


def height(count: int, above: float = 0) -> float:
    """Height of a figure of so many rows, px."""
    return count * ROW + 2 * EDGE + above


def draw(rows: Sequence[Row], view: View, x_max: float = 1.0, amount: float = 72) -> Figure:
    """The bars of these rows on a scale from 0 to `x_max`."""
    at = columns(view, x_max, amount)
    data = [target(rows, at), *solid(rows, view, x_max), *labels(rows, view, at), notes(rows, view, at)]
    data.append(amounts(rows, view, at))
    return base.figure(data, frame(len(rows), view, at), x_max=x_max)


def frame(count: int, view: View, at: Columns, above: float = 0) -> dict[str, Any]:
    """The layout of so many rows, with `above` px free at the top."""
    edge = EDGE / ROW
    axis = base.axis(count - 0.5 + edge, -0.5 - edge - above / ROW)
    return base.layout(view, height(count, above), xaxis=base.axis(at.low, at.high), yaxis=axis)


def target(rows: Sequence[Row], at: Columns) -> base.Trace:
    """The whole row answers to pointer and click with its token's id."""
    edges = [i - 0.5 for i in range(len(rows) + 1)]
    return base.targets([at.low, at.high], edges, [[row.hover] for row in rows], [[row.id] for row in rows])


def solid(rows: Sequence[Row], view: View, x_max: float) -> list[base.Trace]:
    """Kept bars solid, removed ones hollow and dashed, the rest hatched. Always three traces."""
    kept = [(i, row) for i, row in enumerate(rows) if row.state == "kept"]
    rest = [(i, row) for i, row in enumerate(rows) if row.state == "rest"]
    cut = [(i, row) for i, row in enumerate(rows) if row.state == "cut" and row.prob > 0]
    ids = [row.id for _, row in kept]
    blue = view.color("kept")
    half = THICK / 2
    return [
        base.bars([min(r.prob, x_max) for _, r in kept], [i for i, _ in kept], blue, THICK, customdata=ids),
        base.hatched(base.bars([min(r.prob, x_max) for _, r in rest], [i for i, _ in rest], blue, THICK), view),
        base.dashed([(0, i - half, min(r.prob, x_max), i + half) for i, r in cut], view.color("cut")),
    ]


def labels(rows: Sequence[Row], view: View, at: Columns) -> list[base.Trace]:
    """Token labels at the left, monospaced; the rest in words. Struck through once removed; ▸ marks the draw."""
    x = -(at.middle + 6) * at.unit
    tokens, colors, words = [], [], []
    for i, row in enumerate(rows):
        if row.id is None:
            words.append((x, i, row.label))
            continue
        text = f"<s>{row.label}</s>" if row.state == "cut" else row.label
        tokens.append((x, i, f"▸ <b>{text}</b>" if row.chosen else text))
        colors.append(view.color("soft" if row.state == "cut" and not row.chosen else "ink"))
    return [
        base.texts(tokens, colors, "middle left", mono=True),
        base.texts(words, view.color("soft"), "middle left", SMALL),
    ]


def notes(rows: Sequence[Row], view: View, at: Columns) -> base.Trace:
    """The reason beside a bar, or, where the bar leaves no room, at its right end (a hollow bar's inside)."""
    points, colors = [], []
    for i, row in enumerate(rows):
        if not row.note:
            continue
        wide = text_px(row.note, SMALL) * at.unit
        x = min(row.prob, at.x_max) + 7 * at.unit
        if x + wide > at.high - 62 * at.unit:
            if row.state == "rest":
                continue
            x = max(3 * at.unit, min(row.prob, at.x_max) - wide)
        points.append((x, i, row.note))
        colors.append(view.color("cut" if row.state == "cut" else "soft"))
    return base.texts(points, colors, "middle right", SMALL)


def amounts(rows: Sequence[Row], view: View, at: Columns) -> base.Trace:
    """The numbers, in one column that ends at the right edge."""
    points = [(at.high - 2 * at.unit, i, row.amount) for i, row in enumerate(rows)]
    colors = [view.color("ink" if row.chosen else "soft") for row in rows]
    return base.texts(points, colors, "middle left", BODY, mono=True)


def rest_label(count: int, view: View) -> str:
    """`49,143 others`."""
    return literal(view.text("rows.others", count=f"{count:,}"))

"""The alias table: columns of one size, each shared by at most two tokens; u picks a column, a coin a part."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.trace import AliasColumn, AliasDraw
from visualizations.figures import base
from visualizations.figures.style import (
    BODY,
    SMALL,
    Figure,
    View,
    apart,
    literal,
    mix,
    short,
    text_px,
    token_label,
    visible,
)

PIN, TOP, TALL = 10, 30, 150
"""y of u's label and of the columns' top, and their height, px."""
GUTTER = 92
"""Room at the left for the coin's label, px."""


def alias(draw: AliasDraw, view: View) -> Figure:
    """Each column: its own token up to the threshold, its alias above; the chosen part is solid."""
    columns = draw.columns
    wide = (view.width - GUTTER - 2) / len(columns)
    at = next(i for i, c in enumerate(columns) if c.index == draw.column)
    named = wide >= 58
    foot = TOP + TALL + (24 if named else 8)
    data = [_targets(columns, wide, view), *_parts(draw, at, wide, view)]
    if named:
        data += _names(columns, at, wide, view)
    data += _pins(draw, at, wide, view)
    data += _words(draw, columns[at], GUTTER + wide * (at + 0.5), foot, view)
    high = foot + 44
    frame = base.layout(view, high, xaxis=base.axis(0, view.width), yaxis=base.axis(high, 0))
    return base.figure(data, frame)


def _y(share: float) -> float:
    return TOP + TALL * (1 - share)


def _parts(draw: AliasDraw, at: int, wide: float, view: View) -> list[base.Trace]:
    """Four traces: own parts, alias parts, and of the chosen column the part drawn."""
    columns = draw.columns
    centers = [GUTTER + wide * (i + 0.5) for i in range(len(columns))]
    thick = max(1.0, wide - (3 if wide > 8 else 1))
    own = [TALL * c.threshold for c in columns]
    other = [TALL * (1 - c.threshold) for c in columns]
    floor = TOP + TALL
    drawn = (own[at], floor) if not draw.took_alias else (other[at], floor - own[at])

    def stack(xs: Sequence[float], heights: Sequence[float], floors: Sequence[float], color: str) -> base.Trace:
        trace = base.bars(xs, [-h for h in heights], color, thick, floors, upright=True)
        trace["marker"]["cornerradius"] = 0
        return trace

    return [
        stack(centers, own, [floor] * len(own), mix(view.color("kept_soft"), view.color("kept"), 0.2)),
        stack(centers, other, [floor - h for h in own], mix(view.color("panel"), view.color("line"), 0.6)),
        stack([centers[at]], [drawn[0]], [drawn[1]], view.color("kept")),
    ]


def _names(columns: Sequence[AliasColumn], at: int, wide: float, view: View) -> list[base.Trace]:
    room = int((wide - 4) / (SMALL * 0.61))
    own = []
    for i, column in enumerate(columns):
        label = token_label(column.token.text, room)
        own.append((GUTTER + wide * (i + 0.5), TOP + TALL + 11, f"<b>{label}</b>" if i == at else label))
    return [base.texts(own, view.color("soft"), "middle center", SMALL, mono=True)]


def _pins(draw: AliasDraw, at: int, wide: float, view: View) -> list[base.Trace]:
    column = draw.columns[at]
    inside = draw.uniform * draw.column_count - draw.column
    x = GUTTER + wide * (at + min(max(inside, 0.0), 1.0))
    y = _y(draw.coin)
    digits = apart(draw.coin, column.threshold)
    u = f"u = {draw.uniform:.2f}"
    half = text_px(u, BODY, mono=True) / 2
    ink = view.color("ink")
    left = GUTTER + wide * at
    labels = [(min(max(x, half), view.width - half), PIN, u)]
    coin = [(0, min(max(y, TOP + 4), TOP + TALL - 4), view.text("draw.coin", coin=f"{draw.coin:.{digits}f}"))]
    return [
        base.lines([((x, PIN + 9), (x, TOP - 1))], ink, 2),
        base.lines([((GUTTER - 8, y), (left, y))], ink, 1, "2px,3px"),
        base.lines([((left, y), (left + wide - 1, y))], ink, 2.5),
        base.texts(labels, ink, "middle center", BODY, mono=True),
        base.texts(coin, ink, size=BODY, mono=True),
    ]


def _words(draw: AliasDraw, column: AliasColumn, x: float, y: float, view: View) -> list[base.Trace]:
    """What the two parts of the chosen column are, the part drawn in bold."""
    digits = apart(column.threshold, draw.coin)
    value = f"{column.threshold:.{digits}f}"
    rows = [("draw.part_below", column.token.text, not draw.took_alias)]
    if column.alias is not None:
        rows.insert(0, ("draw.part_above", column.alias.text, draw.took_alias))
    plain = [view.text(key, threshold=value, token=short(visible(text), 12)) for key, text, _ in rows]
    half = max(text_px(f"▸ {line}", SMALL, mono=True) for line in plain) / 2 + 4
    center = min(max(x, half), view.width - half)
    points = []
    for i, (key, text, drawn) in enumerate(rows):
        line = view.text(key, threshold=value, token=literal(short(visible(text), 12)))
        points.append((center, y + 12 + 18 * i, f"<b>▸ {line}</b>" if drawn else line))
    colors = [view.color("ink" if drawn else "soft") for _, _, drawn in rows]
    return [base.texts(points, colors, "middle center", SMALL, mono=True)]


def _targets(columns: Sequence[AliasColumn], wide: float, view: View) -> base.Trace:
    hover = []
    for c in columns:
        lines = [view.text("draw.column", column=c.index + 1)]
        if c.alias is not None:
            lines.append(
                view.text("draw.part_above", threshold=f"{c.threshold:.4f}", token=token_label(c.alias.text, 32))
            )
        lines.append(view.text("draw.part_below", threshold=f"{c.threshold:.4f}", token=token_label(c.token.text, 32)))
        hover.append("<br>".join(lines))
    edges = [GUTTER + wide * i for i in range(len(columns) + 1)]
    return base.targets(edges, [TOP, TOP + TALL], [hover], [[c.token.id for c in columns]])

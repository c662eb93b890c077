"""What the laboratory's pictures share: items by name, blocks and marks in px, a line style for each sampler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from decoding.experiments.values import Law
from visualizations.figures import base
from visualizations.figures.style import (
    Figure,
    View,
    cells,
    literal,
    mix,
    number,
    percent_label,
    quoted,
    short,
    visible,
)

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in px from the top left corner."""

LINES: dict[str, tuple[str, str, float]] = {
    "direct": ("solid", "circle", 0.0),
    "binary": ("7px,3px", "square", 0.35),
    "alias": ("2px,2px", "diamond", 0.0),
    "alias_sorted": ("2px,4px", "diamond-open", 0.7),
    "gumbel": ("9px,3px,2px,3px", "triangle-up", 0.7),
    "multinomial": ("5px,5px", "x", 1.0),
}
"""How a sampler's line is drawn: dash, marker, and the share of soft ink in its ink."""


def sampler_name(sampler: str, view: View) -> str:
    """`Alias table`, in the reader's language; `multinomial` is torch's own."""
    return "torch.multinomial" if sampler == "multinomial" else view.text(f"sampler.{sampler}")


def ink_of(sampler: str, view: View) -> str:
    """The neutral ink of a sampler's line."""
    return mix(view.color("ink"), view.color("soft"), LINES[sampler][2])


def is_rest(law: Law, index: int) -> bool:
    """Whether the item stands for many tokens."""
    return bool(law.others) and index == len(law.items) - 1


def plain(law: Law, index: int, view: View) -> str:
    """An item in the reader's eyes: its text made visible, or how many tokens it stands for. Not escaped."""
    if is_rest(law, index):
        return view.text("rows.others", count=number(law.others))
    return visible(law.items[index].text) or "⟨⟩"


NO_SPACE = 5
"""In so few columns a leading ␣ would take the room of the letters that tell tokens apart."""


def cut(law: Law, index: int, limit: int, view: View) -> str:
    """An item in at most `limit` columns; the many others are ⋯ where their number has no room. Not escaped."""
    text = plain(law, index, view)
    if cells(text) > limit and is_rest(law, index):
        return "⋯"
    if cells(text) > limit and limit <= NO_SPACE:
        text = text.lstrip("␣") or text
    return short(text, max(1, limit))


def item(law: Law, index: int, limit: int, view: View) -> str:
    """An item's label: at most `limit` columns, safe for Plotly."""
    return literal(cut(law, index, limit, view))


def columns(law: Law, limit: int, view: View) -> int:
    """Columns that the longest name takes, at most `limit`."""
    return min(limit, max(cells(plain(law, i, view)) for i in range(len(law.items))))


def said(law: Law, index: int, view: View) -> str:
    """An item inside a sentence of the page: quoted, unless it stands for many. Not escaped."""
    if is_rest(law, index):
        return plain(law, index, view)
    return quoted(law.items[index].text)


def hovered(law: Law, index: int, view: View) -> str:
    """The first lines of an item's hover text: its name in full and its probability."""
    return f"<b>{item(law, index, 48, view)}</b><br>p = {percent_label(law.probs[index])}"


def frame(view: View, height: float) -> dict[str, Any]:
    """A layout whose unit is the px, y downwards."""
    return base.layout(view, height, xaxis=base.axis(0, view.width), yaxis=base.axis(round(height), 0))


def blocks(boxes: Sequence[Box], color: str, radius: float = 0, **more: Any) -> base.Trace:
    """Filled rectangles."""
    made = base.bars([c - a for a, _, c, _ in boxes], [(b + d) / 2 for _, b, _, d in boxes], color, 0.0, **more)
    made["base"] = [a for a, _, _, _ in boxes]
    made["width"] = [abs(d - b) for _, b, _, d in boxes]
    made["marker"]["cornerradius"] = radius
    return made


def outline(boxes: Sequence[Box], color: str, width: float = 2.0) -> base.Trace:
    """The outlines of rectangles, drawn inside them."""
    inner = [(a + width / 2, b, c - width / 2, d) for a, b, c, d in boxes]
    return base.lines([((a, b), (c, b), (c, d), (a, d), (a, b)) for a, b, c, d in inner], color, width)


def marks(points: Sequence[Point], symbols: str | list[str], color: str | list[str], size: float = 9) -> base.Trace:
    """Small symbols."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    marker = {"size": size, "symbol": symbols, "color": color, "line": {"width": 0}}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": xs,
        "y": ys,
        "marker": marker,
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def made(data: list[base.Trace], view: View, height: float, **meta: Any) -> Figure:
    """The figure of these traces in px."""
    return base.figure(data, frame(view, height), **meta)

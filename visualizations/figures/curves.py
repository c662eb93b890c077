"""What the pictures over temperature share: the axis, the cursor, and values between grid points.

The cursor and its words live in `layout.shapes` alone, so that moving it leaves `data` as it was;
`layout.meta.key` is the same as long as `data` is. A shape with a label moves in 2 ms, an annotation in 25.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from visualizations.figures import base
from visualizations.figures.style import MONO, SANS, SMALL, Figure, View, text_px

LEFT, TOP, BOTTOM = 46, 24, 44
"""Margins, px."""
NOTE = 18
"""Height of a note's box, px."""


def frame(view: View, height: float, right: float, **more: Any) -> dict[str, Any]:
    """A layout with a plot area of known size in px."""
    margin = {"l": LEFT, "r": right, "t": TOP, "b": BOTTOM, "pad": 0}
    return base.layout(view, height, **{"margin": margin, **more})


def temperature_axis(view: View, temperatures: Sequence[float]) -> dict[str, Any]:
    """T, with a tick at each half or whole."""
    ticks = {"tick0": 0, "dtick": 1 if view.narrow else 0.5}
    hover = {"unifiedhovertitle": {"text": view.text("curves.cursor", t="%{x:.2f}")}}
    named = title(view, "curves.temperature", standoff=6)
    return base.ruled(view, temperatures[0], temperatures[-1], **ticks, **hover, title=named)


def title(view: View, key: str, **more: Any) -> dict[str, Any]:
    """The title of an axis."""
    font = {"family": SANS, "size": SMALL, "color": view.color("soft")}
    return {"text": view.text(key), "font": font, **more}


def size(view: View, height: float, right: float) -> tuple[float, float]:
    """Width and height of the plot area, px."""
    return max(40.0, view.width - LEFT - right), height - TOP - BOTTOM


def at(temperatures: Sequence[float], values: Sequence[float], temperature: float) -> float:
    """The value at T, on the line drawn between two points of the grid."""
    return float(np.interp(temperature, temperatures, values))


def on_grid(temperatures: Sequence[float], temperature: float) -> bool:
    """Whether T is a point of the grid, so that a value there is exact."""
    return any(abs(point - temperature) < 1e-9 for point in temperatures)


def cursor(view: View, temperature: float) -> list[dict[str, Any]]:
    """The vertical line at T."""
    line = {"color": view.color("ink"), "width": 1, "dash": "2px,3px"}
    return [
        {
            "type": "line",
            "xref": "x",
            "yref": "paper",
            "x0": temperature,
            "x1": temperature,
            "y0": 0,
            "y1": 1,
            "line": line,
        }
    ]


def cursor_label(
    view: View, temperature: float, low: float, high: float, wide: float, right: float, value: str = ""
) -> dict[str, Any]:
    """`T = 0.70 · value` above the plot area, kept inside the figure; `wide` and `right` as given to `frame`, px."""
    label = view.text("curves.cursor", t=f"{temperature:.2f}")
    room = text_px(label + value, SMALL, mono=True)
    share = (temperature - low) / ((high - low) or 1)
    shift = max(0.0, room / 2 - LEFT - share * wide) - max(0.0, share * wide + room / 2 - wide - right)
    said = f"{label}<b>{value}</b>" if value else label
    return note(view, share, 1, said, room, xref="x domain", yref="paper", up=10, aside=shift, mono=True)


def note(
    view: View,
    x: float,
    y: float,
    text: str,
    room: float,
    *,
    side: str = "center",
    aside: float = 0.0,
    up: float = 0.0,
    mono: bool = False,
    color: str = "ink",
    **more: Any,
) -> dict[str, Any]:
    """A text as the label of a box of `room` px.

    The box begins (`side` left), is centred or ends (right) at (x, y), moved by `aside` and `up` px.
    """
    start = aside - {"left": 0.0, "center": room / 2, "right": room}[side]
    font = {"family": MONO if mono else SANS, "size": SMALL, "color": view.color(color)}
    return {
        "type": "rect",
        **{"xref": "x", "yref": "y", "xsizemode": "pixel", "ysizemode": "pixel", "xanchor": x, "yanchor": y},
        **{"x0": start, "x1": start + room, "y0": up - NOTE / 2, "y1": up + NOTE / 2, "line": {"width": 0}},
        "label": {"text": text, "font": font, "textposition": f"middle {side}", "padding": 0},
        **more,
    }


def dot(view: View, x: float, y: float, color: str, radius: float = 4.5) -> dict[str, Any]:
    """A round mark of fixed size, as a shape."""
    return {
        "type": "circle",
        **{"xref": "x", "yref": "y", "xsizemode": "pixel", "ysizemode": "pixel", "xanchor": x, "yanchor": y},
        **{"x0": -radius, "x1": radius, "y0": -radius, "y1": radius},
        "fillcolor": color,
        "line": {"color": view.color("panel"), "width": 1.5},
    }


def keyed(data: list[base.Trace], layout: dict[str, Any], numbers: Sequence[Any], words: Sequence[Any]) -> Figure:
    """The figure, with a key that stays while `data` stays: a checksum of the numbers and words it is made of."""
    check = zlib.crc32(repr(tuple(words)).encode())
    for each in numbers:
        check = zlib.crc32(np.asarray(each, dtype=float).tobytes(), check)
    return base.figure(data, layout, key=f"{check:08x}")

"""How many tokens top-p keeps, over top-p and temperature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from decoding.values import Effects
from visualizations.figures import base, curves
from visualizations.figures.style import SANS, SMALL, Figure, Theme, View, number, text_px
from visualizations.figures.words import Caption, caption

HEIGHT = 320
RIGHT = 74

SCALES: dict[Theme, tuple[str, ...]] = {
    "light": ("#eef5fa", "#c2dcee", "#96c3e2", "#69a9d4", "#428ec4", "#0874b3", "#025a90", "#03416d", "#032a4c"),
    "dark": ("#252c33", "#2b4454", "#2d5d78", "#35779b", "#4490bd", "#54abe0", "#83c4ef", "#b5dcf8", "#e6f4ff"),
}
"""One hue in steps of equal lightness (OKLab); more tokens are farther from the panel's colour."""


def kept_heatmap(effects: Effects, view: View, temperature: float, top_p: float, kept: int | None = None) -> Figure:
    """Tokens kept, on a colour scale by powers of ten; `kept` is the number at the cross where off the grid."""
    most = max(max(row) for row in effects.kept)
    data = [_cells(effects, view, most)]
    count = _at(effects, temperature, top_p) if kept is None else kept
    frame = curves.frame(
        view,
        HEIGHT,
        RIGHT,
        xaxis={**curves.temperature_axis(view, effects.temperatures), "range": _edges(effects.temperatures)},
        yaxis=base.ruled(
            view,
            *_edges(effects.top_ps),
            dtick=0.2,
            tick0=0,
            tickformat=".1f",
            title=curves.title(view, "heatmap.axis", standoff=6),
        ),
        shapes=[*_cross(effects, view, temperature, top_p), *_notes(effects, view, temperature, top_p, count)],
    )
    numbers = [effects.temperatures, effects.top_ps, effects.kept]
    return curves.keyed(data, frame, numbers, ["kept", view.theme, data[0]["hovertemplate"]])


def _edges(values: Sequence[float]) -> list[float]:
    """The grid's range, half a cell beyond its first and last value."""
    if len(values) < 2:
        return [values[0] - 0.5, values[0] + 0.5]
    return [values[0] - (values[1] - values[0]) / 2, values[-1] + (values[-1] - values[-2]) / 2]


def _cells(effects: Effects, view: View, most: int) -> base.Trace:
    ticks = _ticks(most)
    colors = SCALES[view.theme]
    said = view.text("heatmap.hover", t="%{x:.2f}", p="%{y:.2f}", count="%{customdata:,}")
    return {
        "type": "heatmap",
        "x": list(effects.temperatures),
        "y": list(effects.top_ps),
        "z": np.log10(np.maximum(1, effects.kept)).tolist(),
        "customdata": [list(row) for row in effects.kept],
        "zmin": 0,
        "zmax": max(1.0, math.log10(max(1, most))),
        "colorscale": [[i / (len(colors) - 1), color] for i, color in enumerate(colors)],
        "hovertemplate": said + "<extra></extra>",
        "colorbar": {
            **{"thickness": 10, "outlinewidth": 0, "len": 1, "y": 0.5, "x": 1, "xpad": 10, "ypad": 0},
            **{"tickvals": [math.log10(n) for n in ticks], "ticktext": [number(n) for n in ticks], "ticks": ""},
            "title": curves.title(view, "heatmap.bar", side="top"),
            "tickfont": {"family": SANS, "size": SMALL, "color": view.color("soft")},
        },
    }


def _ticks(most: int) -> list[int]:
    """1, 10, 100, …; of small numbers, more of them."""
    if most <= 12:
        return sorted({n for n in (1, 2, 3, 5, 8, most) if n <= most})
    return [10**n for n in range(math.floor(math.log10(most)) + 1)]


def _at(effects: Effects, temperature: float, top_p: float) -> int:
    """The number at the nearest point of the grid."""
    j = min(range(len(effects.temperatures)), key=lambda i: abs(effects.temperatures[i] - temperature))
    k = min(range(len(effects.top_ps)), key=lambda i: abs(effects.top_ps[i] - top_p))
    return effects.kept[k][j]


def _cross(effects: Effects, view: View, temperature: float, top_p: float) -> list[dict[str, Any]]:
    """Lines of ink on wider lines of the panel's colour: seen on any cell."""
    (left, right), (low, high) = _edges(effects.temperatures), _edges(effects.top_ps)
    path = f"M{left},{top_p}L{right},{top_p}M{temperature},{low}L{temperature},{high}"
    made: list[dict[str, Any]] = [
        {"type": "path", "path": path, "xref": "x", "yref": "y", "line": {"color": view.color(role), "width": width}}
        for role, width in (("panel", 3), ("ink", 1.2))
    ]
    return [*made, curves.dot(view, temperature, top_p, view.color("ink"), 5)]


def _notes(effects: Effects, view: View, temperature: float, top_p: float, count: int) -> list[dict[str, Any]]:
    (left, right), (low, high) = _edges(effects.temperatures), _edges(effects.top_ps)
    wide, tall = curves.size(view, HEIGHT, RIGHT)
    label = view.text("heatmap.count", count=number(count))
    room = text_px(label, SMALL) + 12
    at_right = (right - temperature) / (right - left) * wide > room + 18
    above = (high - top_p) / (high - low) * tall > 34
    side: dict[str, Any] = {"side": "left", "aside": 10} if at_right else {"side": "right", "aside": -10}
    box = curves.note(view, temperature, top_p, f"<b>{label}</b>", room, up=16 if above else -16, **side)
    box["label"]["textposition"] = "middle center"
    return [
        {**box, "fillcolor": view.color("panel")},
        curves.cursor_label(view, temperature, left, right, wide, RIGHT),
    ]


def heatmap_caption(effects: Effects, view: View, temperature: float, top_p: float, kept: int | None = None) -> Caption:
    """How many are kept here, then why."""
    count = _at(effects, temperature, top_p) if kept is None else kept
    values = {"t": f"{temperature:.2f}", "p": f"{top_p:.2f}", "count": number(count)}
    here = view.text("heatmap.one" if count == 1 else "heatmap.now", **values)
    return caption(view.text("heatmap.title"), [here, view.text("heatmap.why")], view)

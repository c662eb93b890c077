"""What all figures share: the quiet layout, and traces for text, dashed outlines and click targets.

Axes are laid out so that one unit of a hidden axis is one px where that helps; labels are text
traces (far quicker to redraw than annotations) and hover comes from one transparent heat map whose
cells are the rows or columns, so that the whole row answers to the pointer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from visualizations.figures.style import BODY, MONO, SANS, SMALL, Figure, View

CLEAR = "rgba(0,0,0,0)"

Trace = dict[str, Any]


def layout(view: View, height: float, **more: Any) -> dict[str, Any]:
    """A layout without frame, grid, legend, zoom or title."""
    return {
        "autosize": True,
        "height": round(height),
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": SANS, "size": BODY, "color": view.color("ink")},
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "hoverdistance": 24,
        "hoverlabel": {
            "bgcolor": view.color("panel"),
            "bordercolor": view.color("soft"),
            "font": {"family": MONO, "size": SMALL, "color": view.color("ink")},
            "align": "left",
            "namelength": -1,
            "showarrow": False,
        },
        "uirevision": "keep",
        "bargap": 0,
        "barmode": "overlay",
        **more,
    }


def axis(low: float, high: float, **more: Any) -> dict[str, Any]:
    """A hidden axis that nobody can drag."""
    return {"range": [low, high], "visible": False, "fixedrange": True, "autorange": False, **more}


def ruled(view: View, low: float, high: float, **more: Any) -> dict[str, Any]:
    """An axis with a line and a few ticks."""
    return {
        "range": [low, high],
        "fixedrange": True,
        "autorange": False,
        "showgrid": False,
        "zeroline": False,
        "showline": True,
        "linecolor": view.color("line"),
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": view.color("line"),
        "tickfont": {"family": SANS, "size": SMALL, "color": view.color("soft")},
        **more,
    }


def texts(
    points: Sequence[tuple[float, float, str]],
    color: str | list[str],
    position: str = "middle right",
    size: int = BODY,
    mono: bool = False,
) -> Trace:
    """Text drawn at (x, y, text); `position` says where it stands from that point.

    A point without words is left out: Plotly draws no node for it, and then loses another's when it redraws.
    """
    said = [bool(text) for _, _, text in points]
    if isinstance(color, list):
        color = [each for each, kept in zip(color, said, strict=True) if kept]
    points = [point for point, kept in zip(points, said, strict=True) if kept]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [x for x, _, _ in points],
        "y": [y for _, y, _ in points],
        "text": [text for _, _, text in points],
        "textposition": position,
        "textfont": {"family": MONO if mono else SANS, "size": size, "color": color},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def lines(
    paths: Sequence[Sequence[tuple[float, float]]], color: str, width: float = 1.0, dash: str = "solid", **more: Any
) -> Trace:
    """Separate straight paths drawn in one stroke style."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for path in paths:
        xs += [x for x, _ in path]
        ys += [y for _, y in path]
        xs.append(None)
        ys.append(None)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "line": {"color": color, "width": width, "dash": dash},
        "connectgaps": False,
        "hoverinfo": "skip",
        "cliponaxis": False,
        **more,
    }


def dashed(boxes: Sequence[tuple[float, float, float, float]], color: str) -> Trace:
    """Hollow bars: the dashed outlines of boxes (x0, y0, x1, y1)."""
    corners = [((a, b), (c, b), (c, d), (a, d), (a, b)) for a, b, c, d in boxes]
    return lines(corners, color, width=1.3, dash="3px,2px")


def bars(
    xs: Sequence[float],
    ys: Sequence[float],
    colors: str | list[str],
    thickness: float,
    base: float | Sequence[float] = 0.0,
    upright: bool = False,
    **more: Any,
) -> Trace:
    """Solid bars; `xs` (or `ys` where upright) are their lengths from `base`."""
    return {
        "type": "bar",
        "orientation": "v" if upright else "h",
        "x": list(xs),
        "y": list(ys),
        "base": base if isinstance(base, (int, float)) else list(base),
        "width": thickness,
        "marker": {"color": colors, "line": {"width": 0}, "cornerradius": 2},
        "hoverinfo": "skip",
        **more,
    }


def hatched(trace: Trace, view: View) -> Trace:
    """The same bars, hatched: many tokens as one."""
    pattern = {"shape": "/", "size": 6, "solidity": 0.45, "fgcolor": view.color("soft"), "bgcolor": view.color("line")}
    trace["marker"] = {**trace["marker"], "color": view.color("line"), "pattern": {**pattern, "fgopacity": 0.55}}
    return trace


def targets(
    xs: Sequence[float], ys: Sequence[float], hover: Sequence[Sequence[str]], data: Sequence[Sequence[Any]]
) -> Trace:
    """Transparent cells between the edges `xs` and `ys`: each has a hover text and a value for a click.

    `hover[row][column]`, `data[row][column]`; a cell without hover text still answers a click.
    """
    return {
        "type": "heatmap",
        "x": list(xs),
        "y": list(ys),
        "z": [[0] * len(row) for row in data],
        "customdata": [list(row) for row in data],
        "hovertext": [list(row) for row in hover],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "colorscale": [[0, CLEAR], [1, CLEAR]],
        "showscale": False,
    }


def figure(data: list[Trace], frame: dict[str, Any], **meta: Any) -> Figure:
    """The picture as a plain dict; `meta` travels in the layout."""
    if meta:
        frame["meta"] = meta
    return {"data": data, "layout": frame}

"""Curves over decades: two logarithmic axes, and names at the right, each with a sample of its line."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from visualizations.figures import base
from visualizations.figures.lab_marks import LINES, ink_of
from visualizations.figures.style import SANS, SMALL, View, mix, spread, text_px

LEFT, BOTTOM = 60, 44
"""Margins at the left and below, px."""
HAIR, SAMPLE = 12, 22
"""Width of a hair from a line's end, and of the sample of the line before its name, px."""
LINE, KEY = 16, 19
"""Height of a line of a name at the right, and of a name below, px."""
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Named:
    """A line with its name: `lines` are what stands beside it, the second in soft ink.

    `style`: a sampler's, or empty for what is expected: `strong`, or thin and dashed. `marked`: the points with a mark.
    """

    xs: Sequence[float]
    ys: Sequence[float | None]
    lines: Sequence[str]
    hover: Sequence[str]
    style: str = ""
    strong: bool = False
    marked: Sequence[bool] | None = None

    @property
    def end(self) -> float | None:
        """Its last value."""
        return next((y for y in reversed(self.ys) if y is not None), None)


@dataclass(frozen=True, slots=True)
class Plot:
    """The plot area: `x` and `y` are the least and the greatest value, `top` px lie above it.

    The names stand at its right, each near its line's end; on a phone below it, in the order of the ends.
    """

    view: View
    named: Sequence[Named]
    area: float
    x: tuple[float, float]
    y: tuple[float, float]
    top: float = 12

    @property
    def right(self) -> float:
        """Room at the right of the plot area, px."""
        return 24.0 if self.view.narrow else HAIR + SAMPLE + 10 + self.first

    @property
    def first(self) -> float:
        """Width of the longest name, px."""
        lines = [each.lines[:1] if self.view.narrow else each.lines for each in self.named]
        return max(text_px(line, SMALL) for each in lines for line in each)

    @property
    def key(self) -> float:
        """Room below for the names, px."""
        return KEY * len(self.named) + 10 if self.view.narrow else 0.0

    @property
    def wide(self) -> float:
        """Width of the plot area, px."""
        return max(60.0, self.view.width - LEFT - self.right)

    @property
    def height(self) -> float:
        """Height of the figure, px."""
        return self.top + self.area + BOTTOM + self.key

    def px(self, value: float) -> float:
        """How far a value of y lies above the axis, px."""
        return self.area * math.log(value / self.y[0]) / math.log(self.y[1] / self.y[0])


def padded(values: Sequence[float | None], share: float = 0.04) -> tuple[float, float]:
    """Least and greatest of the positive values, with a little air."""
    some = [value for value in values if value is not None and value > 0] or [1.0]
    low, high = min(some), max(some)
    if high <= low:
        return low / 2, high * 2
    air = (high / low) ** share
    return low / air, high * air


def layout(plot: Plot, x_title: str, y_ticks: Callable[[int], str], **more: Any) -> dict[str, Any]:
    """Both axes with a tick at each decade that has room; a second pair of axes, in px, for the names."""
    view, narrow = plot.view, plot.view.narrow
    share = plot.wide / (plot.wide + plot.right)
    below = BOTTOM + plot.key if narrow else 0.0
    whole = plot.area + below
    font = {"family": SANS, "size": SMALL, "color": view.color("soft")}
    title = {"text": x_title, "font": font, "standoff": 6}
    beside = base.axis(0, plot.wide + plot.right) if narrow else base.axis(0, plot.right, domain=[share, 1])
    tall = plot.key if narrow else plot.area
    return base.layout(
        view,
        plot.height,
        margin={"l": LEFT, "r": 0, "t": plot.top, "b": 0 if narrow else BOTTOM, "pad": 0},
        xaxis=_axis(view, plot.x, plot.wide, decade, text_px("100,000") + 8, domain=[0, share], title=title),
        yaxis=_axis(view, plot.y, plot.area, y_ticks, 26, domain=[below / whole, 1]),
        xaxis2={**beside, "anchor": "y2"},
        yaxis2=base.axis(0, tall, domain=[0, tall / whole], anchor="x2"),
        **more,
    )


def _axis(
    view: View, ends: tuple[float, float], length: float, words: Callable[[int], str], room: float, **more: Any
) -> dict[str, Any]:
    low, high = (math.log10(end) for end in ends)
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    every = max(1, math.ceil(room / (length / max(high - low, 1e-9))))
    powers = [power for power in range(first, last + 1) if (power - first) % every == 0]
    ticks = {"tickvals": [10.0**power for power in powers], "ticktext": [words(power) for power in powers]}
    return base.ruled(view, low, high, type="log", **ticks, **more)


def heading(view: View, words: str) -> dict[str, Any]:
    """What the y axis counts, above it at the left edge."""
    font = {"family": SANS, "size": SMALL, "color": view.color("soft")}
    where = {"xref": "paper", "x": 0, "xanchor": "left", "xshift": -LEFT, "yref": "paper", "y": 1, "yanchor": "bottom"}
    return {"text": words, "font": font, "showarrow": False, "yshift": 6, **where}


def decade(power: int) -> str:
    """1, 10, ..., 100,000, 10⁶"""
    return f"{10**power:,}" if 0 <= power <= 5 else "10" + str(power).translate(SUPERSCRIPT)


def line(each: Named, view: View) -> base.Trace:
    """The curve itself: a sampler's dash and markers, or a thin line of soft ink."""
    trace: base.Trace = {
        "type": "scatter",
        "mode": "lines+markers" if each.style else "lines",
        "x": list(each.xs),
        "y": [y if y is not None and y > 0 else None for y in each.ys],
        "line": _stroke(each, view),
        "name": each.lines[0],
        "hovertext": list(each.hover),
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    if each.style:
        sizes = 7 if each.marked is None else [7 if marked else 0 for marked in each.marked]
        trace["marker"] = {"symbol": LINES[each.style][1], "size": sizes, "color": _ink(each, view)}
    return trace


def _stroke(each: Named, view: View) -> dict[str, Any]:
    if each.strong:
        return {"color": view.color("ink"), "width": 2.6, "dash": "solid"}
    if not each.style:
        return {"color": mix(view.color("soft"), view.color("panel"), 0.15), "width": 1.2, "dash": "3px,3px"}
    return {"color": _ink(each, view), "width": 2 if each.marked is None else 1.4, "dash": LINES[each.style][0]}


def _ink(each: Named, view: View) -> str:
    """A sampler's ink; soft where its points are many and what is expected is the picture."""
    return ink_of(each.style, view) if each.marked is None else view.color("soft")


def places(plot: Plot) -> list[float]:
    """The middle of each name, px above the foot of its axis: near its line's end, never over another."""
    named = plot.named
    ends = [plot.px(each.end) if each.end else 0.0 for each in named]
    order = sorted(range(len(named)), key=lambda i: (ends[i], -i))
    if plot.view.narrow:
        found = [KEY * (rank + 0.5) for rank in range(len(named))]
    else:
        tallest = LINE * max(len(each.lines) for each in named)
        found = spread([ends[i] for i in order], tallest + 2, tallest / 2, plot.area - tallest / 2)
    return [place for _, place in sorted(zip(order, found, strict=True))]


def names(plot: Plot) -> list[base.Trace]:
    """Each name after a sample of its line; at the right of the plot a hair leads to it from the line's end."""
    view, narrow = plot.view, plot.view.narrow
    hairs, words, second, samples = [], [], [], []
    left = 0.0 if narrow else float(HAIR)
    for each, place in zip(plot.named, places(plot), strict=True):
        up = 0.0 if narrow else LINE / 2 * (len(each.lines) - 1)
        if each.end and not narrow:
            hairs.append([(1.0, plot.px(each.end)), (HAIR - 2.0, place + up)])
        samples += _sample(each, left, place + up, view)
        words.append((left + SAMPLE + 5, place + up, each.lines[0]))
        for text in each.lines[1:]:
            x, y = left + (SAMPLE + 11 + plot.first if narrow else 0.0), place if narrow else place - LINE / 2
            samples += _sample(Named((), (), (), ()), x, y, view)
            second.append((x + SAMPLE + 5, y, text))
    colors = [view.color("ink" if each.style or each.strong else "soft") for each in plot.named]
    soft = mix(view.color("soft"), view.color("panel"), 0.5)
    traces = [base.lines(hairs, soft, 1), *samples, base.texts(words, colors, size=SMALL)]
    traces.append(base.texts(second, view.color("soft"), size=SMALL))
    return [{**trace, "xaxis": "x2", "yaxis": "y2"} for trace in traces]


def _sample(each: Named, x: float, y: float, view: View) -> list[base.Trace]:
    trace = base.lines([[(x, y), (x + SAMPLE / 2, y), (x + SAMPLE, y)]], "")
    trace["line"] = _stroke(each, view)
    if each.style:
        marker = {"symbol": LINES[each.style][1], "size": [0, 7, 0, 0], "color": _ink(each, view)}
        trace |= {"mode": "lines+markers", "marker": {**marker, "opacity": [0, 1, 0, 0]}}
    return [trace]

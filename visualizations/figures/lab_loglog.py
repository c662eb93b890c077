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
LINE = 16
"""Height of a line of a name, px."""
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Named:
    """A line with its name: `lines` are what stands beside it (the second in soft ink), `end` the value it ends at.

    `style`: a sampler's, or empty for a thin line of what is expected.
    """

    xs: Sequence[float]
    ys: Sequence[float | None]
    lines: Sequence[str]
    hover: Sequence[str]
    style: str = ""

    @property
    def end(self) -> float | None:
        """Its last value."""
        return next((y for y in reversed(self.ys) if y is not None), None)


@dataclass(frozen=True, slots=True)
class Plot:
    """The plot area: `x` and `y` are the least and the greatest value, `top` px lie above it, `right` beside it."""

    view: View
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    right: float
    top: float = 12

    @property
    def wide(self) -> float:
        """Width, px."""
        return max(60.0, self.view.width - LEFT - self.right)

    @property
    def tall(self) -> float:
        """Height, px."""
        return self.height - self.top - BOTTOM

    def px(self, value: float) -> float:
        """How far a value of y lies above the axis, px."""
        return self.tall * math.log(value / self.y[0]) / math.log(self.y[1] / self.y[0])

    def value(self, px: float) -> float:
        """The value of y so many px above the axis."""
        return self.y[0] * (self.y[1] / self.y[0]) ** (px / self.tall)


def padded(values: Sequence[float | None], share: float = 0.04) -> tuple[float, float]:
    """Least and greatest of the positive values, with a little air."""
    some = [value for value in values if value is not None and value > 0] or [1.0]
    low, high = min(some), max(some)
    if high <= low:
        return low / 2, high * 2
    air = (high / low) ** share
    return low / air, high * air


def right_of(named: Sequence[Named]) -> float:
    """The room that the names need at the right, px."""
    return HAIR + SAMPLE + 10 + max(text_px(line, SMALL) for each in named for line in each.lines)


def layout(plot: Plot, x_title: str, y_ticks: Callable[[int], str], **more: Any) -> dict[str, Any]:
    """Both axes with a tick at each decade that has room, and the column of the names."""
    view, share = plot.view, plot.wide / (plot.wide + plot.right)
    margin = {"l": LEFT, "r": 0, "t": plot.top, "b": BOTTOM, "pad": 0}
    font = {"family": SANS, "size": SMALL, "color": view.color("soft")}
    title = {"text": x_title, "font": font, "standoff": 6}
    return base.layout(
        view,
        plot.height,
        margin=margin,
        xaxis=_axis(view, plot.x, plot.wide, decade, text_px("100,000") + 8, domain=[0, share], title=title),
        xaxis2=base.axis(0, plot.right, domain=[share, 1], anchor="y"),
        yaxis=_axis(view, plot.y, plot.tall, y_ticks, 26),
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
        "line": _stroke(each.style, view),
        "name": each.lines[0],
        "hovertext": list(each.hover),
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    if each.style:
        trace["marker"] = {"symbol": LINES[each.style][1], "size": 7, "color": ink_of(each.style, view)}
    return trace


def _stroke(style: str, view: View) -> dict[str, Any]:
    if not style:
        return {"color": mix(view.color("soft"), view.color("panel"), 0.15), "width": 1.2, "dash": "3px,3px"}
    return {"color": ink_of(style, view), "width": 2, "dash": LINES[style][0]}


def places(named: Sequence[Named], plot: Plot) -> list[float]:
    """The middle of each name, px above the axis: near its line's end, never over another."""
    tallest = max(len(each.lines) for each in named)
    ends = [plot.px(each.end) if each.end else 0.0 for each in named]
    order = sorted(range(len(named)), key=lambda i: (ends[i], -i))
    half = LINE * tallest / 2
    found = spread([ends[i] for i in order], LINE * tallest + 2, half, plot.tall - half)
    return [place for _, place in sorted(zip(order, found, strict=True))]


def names(named: Sequence[Named], plot: Plot) -> list[base.Trace]:
    """From each line's end a hair to its name, before which stands a sample of the line."""
    view, hairs, words, second, samples = plot.view, [], [], [], []
    for each, place in zip(named, places(named, plot), strict=True):
        y = plot.value(place + LINE / 2 * (len(each.lines) - 1))
        if each.end:
            hairs.append([(1.0, each.end), (HAIR, y)])
        samples.append(_sample(each, y, view))
        words.append((HAIR + SAMPLE + 5, y, each.lines[0]))
        second += [(HAIR + SAMPLE + 5, plot.value(place - LINE / 2), text) for text in each.lines[1:]]
    colors = [view.color("ink" if each.style else "soft") for each in named]
    soft = mix(view.color("soft"), view.color("panel"), 0.5)
    return [
        base.lines(hairs, soft, 1, xaxis="x2"),
        *samples,
        {**base.texts(words, colors, size=SMALL), "xaxis": "x2"},
        {**base.texts(second, view.color("soft"), size=SMALL), "xaxis": "x2"},
    ]


def _sample(each: Named, y: float, view: View) -> base.Trace:
    trace = base.lines([[(HAIR, y), (HAIR + SAMPLE / 2, y), (HAIR + SAMPLE, y)]], "", xaxis="x2")
    trace["line"] = _stroke(each.style, view)
    if each.style:
        sizes = [0, 7, 0, 0]
        marker = {
            "symbol": LINES[each.style][1],
            "size": sizes,
            "color": ink_of(each.style, view),
            "line": {"width": 0},
        }
        trace |= {"mode": "lines+markers", "marker": marker}
    return trace

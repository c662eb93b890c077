"""What one forward takes against its number of new tokens: flat while the weights are read, then a slope.

A roofline turned upside down (Williams, Waterman and Patterson 2009, doi:10.1145/1498765.1498785): time instead
of speed, so that the roof is a floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from decoding.values import ForwardTimes
from visualizations.figures import base
from visualizations.figures.style import SANS, SMALL, Figure, View, decimal, text_px
from visualizations.text import Text

LEFT, RIGHT, BOTTOM = 62, 18, 44
"""Margins, px."""
AREA, AREA_NARROW = 250, 230
STRIP, HEAD = 30, 20
"""Room on top for the two parts: their bars lie so far below the edge, their names half of HEAD, px."""
LABEL = 18
"""Height of a label, px."""
MANY = 5
"""So many tokens at once are compared with one: a draft of four, checked."""
TICK_STEPS = (1, 2, 5)
FLAT = 1.5
"""A ratio T(5) / T(1) up to which the time is that of what all tokens share."""
STEEP = 3.0
"""And one from which it is the arithmetic."""
AT_FLOOR = 0.98
"""A share of T(1) from which the floor is what T(1) itself has shown."""


@dataclass(frozen=True, slots=True)
class _Plot:
    """The plot area in px and ms: x from 0 to a little after the last n, y from 0 ms."""

    times: ForwardTimes
    view: View

    @property
    def area(self) -> int:
        return AREA_NARROW if self.view.narrow else AREA

    @property
    def wide(self) -> float:
        return max(120.0, self.view.width - LEFT - RIGHT)

    @property
    def right(self) -> float:
        """The end of the x axis, in tokens."""
        return self.times.tokens[-1].count * 1.02

    @property
    def top(self) -> float:
        """The upper end of the y axis in ms, the strip of the two parts included."""
        return max(each.milliseconds for each in self.times.tokens) * self.area / (self.area - STRIP - 3 * LABEL)

    def ms(self, px: float) -> float:
        """So many px as ms."""
        return px * self.top / self.area

    def tokens(self, px: float) -> float:
        """So many px as tokens."""
        return px * self.right / self.wide

    def above(self, start: float, words: str) -> float:
        """Ms above all points under a label that begins at `start` tokens."""
        end = start + self.tokens(text_px(words) + 8)
        under = [each.milliseconds for each in self.times.tokens if start <= each.count <= end]
        return max([*under, self.times.of_tokens(round(min(end, self.times.tokens[-1].count)))]) + self.ms(LABEL)


def step_cost(times: ForwardTimes, view: View) -> Figure:
    """T(n) as measured, the floor that the weights and the bandwidth give, and the two parts named."""
    plot = _Plot(times, view)
    data = [*_parts(plot), *_floor(plot), *_marks(plot), _measured(plot)]
    return base.figure(data, _layout(plot))


def _layout(plot: _Plot) -> dict[str, Any]:
    view, last = plot.view, plot.times.tokens[-1].count
    font = {"family": SANS, "size": SMALL, "color": view.color("soft")}
    every = max(1, last // (4 if view.narrow else 8))
    ticks = [1, *range(max(every, 2), last + 1, every)]
    step = _tick_step(max(each.milliseconds for each in plot.times.tokens))
    high = [step * i for i in range(int((plot.top - plot.ms(STRIP)) / step) + 1)]
    digits = 0 if step >= 1 else 1 if step >= 0.1 else 3
    words = [view.text("cost.tick", ms=f"{value:.{digits}f}") for value in high]
    title = {"text": view.text("cost.x_short" if view.narrow else "cost.x"), "font": font, "standoff": 6}
    return base.layout(
        view,
        plot.area + BOTTOM,
        margin={"l": LEFT, "r": RIGHT, "t": 0, "b": BOTTOM, "pad": 0},
        xaxis=base.ruled(view, 0, plot.right, tickvals=ticks, ticktext=list(map(str, ticks)), title=title),
        yaxis=base.ruled(view, 0, plot.top, tickvals=high, ticktext=words, showline=False),
    )


def _tick_step(most: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are three to seven ticks."""
    power = 10.0 ** (len(str(int(most))) - 2) if most >= 1 else 0.001
    while True:
        for factor in TICK_STEPS:
            if most / (factor * power) <= 6:
                return factor * power
        power *= 10


def _measured(plot: _Plot) -> base.Trace:
    """The points and the line through them."""
    view, times = plot.view, plot.times
    one = times.of_tokens(1)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [each.count for each in times.tokens],
        "y": [each.milliseconds for each in times.tokens],
        "line": {"color": view.color("ink"), "width": 2},
        "marker": {"color": view.color("ink"), "size": 6 if view.narrow else 7},
        "name": "T(n)",
        "hovertext": [
            view.text("cost.hover", n=each.count, ms=ms(each.milliseconds), ratio=ratio(each.milliseconds / one))
            for each in times.tokens
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "cliponaxis": False,
    }


def _floor(plot: _Plot) -> list[base.Trace]:
    """The dashed floor with its words at the right: below it where there is room, else above."""
    times, view = plot.times, plot.view
    floor = times.floor
    words = view.text("cost.floor_short", floor=ms(floor)) if view.narrow else view.text("cost.floor", **numbers(times))
    below = floor > plot.ms(LABEL + 6)
    y = floor + plot.ms(-LABEL / 2 - 1 if below else LABEL / 2 + 1)
    line = base.lines([[(0, floor), (plot.right, floor)]], view.color("soft"), 1.6, "5px,4px")
    return [line, base.texts([(plot.right, y, words)], view.color("soft"), "middle left", SMALL)]


def reads(times: ForwardTimes) -> bool:
    """Whether most of T(1) is the reading of the weights, as on a quiet CPU, and not the starting of operations."""
    return times.floor >= times.of_tokens(1) / 2


def bends(times: ForwardTimes) -> bool:
    """Whether the arithmetic ever takes longer than the reading."""
    return times.ridge < times.tokens[-1].count


def _parts(plot: _Plot) -> list[base.Trace]:
    """Two bars on top, one for each part, with their names above; a hair where one part ends."""
    view, narrow, ridge = plot.view, plot.view.narrow, plot.times.ridge
    y, name = plot.top - plot.ms(STRIP), plot.top - plot.ms(HEAD / 2)
    gap = plot.tokens(2)
    if reads(plot.times):
        waits = view.text("cost.memory_short" if narrow else "cost.memory")
    else:
        waits = view.text("cost.once_short" if narrow else "cost.once")
    compute = view.text("cost.compute_short") if narrow else view.text("cost.compute", slope=ms(plot.times.slope))
    flat = base.lines([[(0, y), (ridge - gap, y)]], view.color("soft"), 5)
    traces = [flat, base.texts([(0, name, waits)], view.color("ink"), "middle right", SMALL)]
    if bends(plot.times):
        rise = base.lines([[(ridge + gap, y), (plot.right, y)]], view.color("ink"), 5)
        hair = base.lines([[(ridge, 0), (ridge, y)]], view.color("line"), 1)
        words = base.texts([(plot.right, name, compute)], view.color("ink"), "middle left", SMALL)
        traces += [rise, hair, words]
    return traces


def _marks(plot: _Plot) -> list[base.Trace]:
    """T(1) and T(5), written above the curve, each with a hair to its point."""
    times, view = plot.times, plot.view
    one, many = times.of_tokens(1), times.of_tokens(MANY)
    said = {"n": MANY, "ratio": ratio(many / one)}
    words = view.text("cost.many_short", **said) if view.narrow else view.text("cost.many", ms=ms(many), **said)
    first = view.text("cost.one", ms=ms(one))
    low = plot.above(MANY, words)
    high = max(plot.above(1, first), low + plot.ms(LABEL))
    hairs = [[(1, one), (1, high - plot.ms(6))], [(MANY, many), (MANY, low - plot.ms(6))]]
    places = [(1 - plot.tokens(4), high, first), (MANY - plot.tokens(4), low, words)]
    return [base.lines(hairs, view.color("soft"), 1), base.texts(places, view.color("ink"), "middle right", SMALL)]


def step_cost_caption(times: ForwardTimes, view: View) -> dict[str, str]:
    """Title, and the numbers: T(1), T(5) and why, the floor, and where the arithmetic begins to count."""
    text = view.text
    one, many = times.of_tokens(1), times.of_tokens(MANY)
    times_one = many / one
    flat = "cost.reading" if reads(times) else "cost.shared"
    why = flat if times_one <= FLAT else "cost.both" if times_one < STEEP else "cost.arithmetic"
    floor = "cost.floor_itself" if times.floor > AT_FLOOR * one else "cost.floor_text"
    said = [
        text("cost.takes"),
        text(why, count=MANY, ratio=ratio(times_one), **numbers(times)),
        text(floor, **numbers(times)),
        _end(times, text),
    ]
    title = text("cost.answer", one=ms(one), many=ms(many), count=MANY)
    return {"title": title, "text": text("join").join(said)}


def _end(times: ForwardTimes, text: Text) -> str:
    """What happens at the largest n."""
    if not bends(times):
        return text("cost.flat", last=times.tokens[-1].count)
    key = "cost.slope" if round(times.ridge) > 1 else "cost.slope_at_once"
    return text(key, ridge=round(times.ridge), slope=ms(times.slope))


def numbers(times: ForwardTimes) -> dict[str, str]:
    """Bytes of weights, bandwidth and floor in words."""
    return {
        "weights": size(times.weight_bytes),
        "bandwidth": decimal(times.bandwidth / 1e9, 1),
        "floor": ms(times.floor),
    }


def ms(value: float) -> str:
    """24.1; three digits where it is small, none after the point where it is large."""
    return decimal(value, 0 if value >= 100 else 1 if value >= 1 else 3)


def ratio(value: float) -> str:
    """1.19"""
    return decimal(value, 2 if value < 10 else 0)


def size(count: int) -> str:
    """538 MB, 1.2 GB"""
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if count >= 10**power:
            return f"{decimal(count / 10**power, 1 if count < 10 ** (power + 1) else 0)} {unit}"
    return f"{count} B"

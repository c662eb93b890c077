"""The speed-up against how many tokens are drafted a round: it rises, and then falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visualizations.figures import base
from visualizations.figures.style import SMALL, Figure, View, literal, text_px
from visualizations.figures.words import Caption, caption

TOP, PLOT, FOOT, LEFT, RIGHT = 44, 190, 62, 46, 16
"""Heights of the key with the best one's label, of the plot, of the axis with its words; margins, px."""
LINE = 18
"""Height of a line of words, px."""
GOOD = 1.0
"""Plain decoding."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """`speeds[gamma]` from 0, plain decoding, on; the `best` gamma; and those `named` in the notes."""

    alpha: float
    cost: float
    speeds: tuple[float, ...]
    best: int
    named: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Plot:
    found: Lengths
    view: View

    @property
    def bottom(self) -> float:
        return TOP + PLOT

    def x(self, gamma: float) -> float:
        wide = max(60.0, self.view.width - LEFT - RIGHT)
        return LEFT + wide * gamma / (len(self.found.speeds) - 1)

    def y(self, speed: float) -> float:
        return self.bottom - (PLOT - 8) * speed / max(self.found.speeds)


def lengths(found: Lengths, view: View) -> Figure:
    """The curve, its best point, plain decoding, and the lengths of the notes with their speed-ups below."""
    plot = _Plot(found, view)
    data = [_hover(plot), *_axes(plot), *_key(plot), *_curve(plot), *_named(plot)]
    height = plot.bottom + FOOT
    return base.figure(data, base.layout(view, height, xaxis=base.axis(0, view.width), yaxis=base.axis(height, 0)))


def _curve(plot: _Plot) -> list[base.Trace]:
    """The speed-up at every length; the best one filled and labelled above."""
    view, found = plot.view, plot.found
    points = [(plot.x(gamma), plot.y(speed)) for gamma, speed in enumerate(found.speeds)]
    x, y = points[found.best]
    words = literal(f"γ = {found.best}: {times(found.speeds[found.best])}")
    half = text_px(words) / 2
    middle = min(max(x, half), view.width - half)
    return [
        base.lines([points], view.color("kept"), 2.5),
        _marks(points, view.color("kept"), "circle", 5),
        _marks([(x, y)], view.color("kept"), "circle", 11),
        base.texts([(middle, y - 15, words)], view.color("kept"), "middle center", SMALL),
    ]


def _named(plot: _Plot) -> list[base.Trace]:
    """The lengths of the notes: hollow, a line down to the axis, and what each gives below its number."""
    view, found = plot.view, plot.found
    points = [(plot.x(gamma), plot.y(found.speeds[gamma])) for gamma in found.named]
    drops = [[(x, y), (x, plot.bottom)] for x, y in points]
    below = [
        (x, plot.bottom + 13 + LINE, literal(times(found.speeds[gamma])))
        for (x, _), gamma in zip(points, found.named, strict=True)
    ]
    return [
        base.lines(drops, view.color("cut"), 1, "2px,3px"),
        _marks(points, view.color("cut"), "diamond-open", 14),
        base.texts(below, view.color("cut"), "middle center", SMALL),
    ]


def _key(plot: _Plot) -> list[base.Trace]:
    """What the marks and the dashed line are."""
    view, y = plot.view, LINE / 2
    one, other = plot.found.named
    notes = view.text("lossless.key_notes", one=one, other=other)
    plain = view.text("lossless.key_plain")
    second = 18 + text_px(notes) + 12
    return [
        _marks([(7, y)], view.color("cut"), "diamond-open", 12),
        base.lines([[(second, y), (second + 18, y)]], view.color("soft"), 1.6, "5px,4px"),
        base.texts([(18, y, literal(notes)), (second + 24, y, literal(plain))], view.color("soft"), size=SMALL),
    ]


def _axes(plot: _Plot) -> list[base.Trace]:
    """Plain decoding as a dashed line; ticks in both directions."""
    view, found = plot.view, plot.found
    high = max(found.speeds)
    step = next(pace for pace in (0.5, 1, 2, 5) if high / pace <= 5)
    ticks = [step * i for i in range(int(high / step + 1e-9) + 1)]
    across = range(0, len(found.speeds), 4 if view.narrow else 2)
    return [
        base.lines([[(LEFT, TOP), (LEFT, plot.bottom), (view.width - RIGHT, plot.bottom)]], view.color("line"), 1),
        base.lines([[(LEFT, plot.y(GOOD)), (view.width - RIGHT, plot.y(GOOD))]], view.color("soft"), 1.6, "5px,4px"),
        base.texts([(LEFT - 5, plot.y(t), f"{t:g} ×") for t in ticks], view.color("soft"), "middle left", SMALL),
        base.texts([(plot.x(g), plot.bottom + 13, str(g)) for g in across], view.color("soft"), "middle center", SMALL),
        base.texts(
            [(view.width, plot.bottom + 13 + 2 * LINE, view.text("lossless.length_axis"))],
            view.color("soft"),
            "middle left",
            SMALL,
        ),
    ]


def _marks(points: Sequence[tuple[float, float]], color: str, symbol: str, size: float) -> base.Trace:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    marker = {"symbol": symbol, "size": size, "color": color, "line": {"width": 1.8 if "open" in symbol else 0}}
    return {"type": "scatter", "mode": "markers", "x": xs, "y": ys, "marker": marker, "hoverinfo": "skip"}


def _hover(plot: _Plot) -> base.Trace:
    """A column a length."""
    speeds = plot.found.speeds
    edges = [plot.x(gamma - 0.5) for gamma in range(len(speeds) + 1)]
    hover = [literal(f"γ = {gamma}: {times(speed)}") for gamma, speed in enumerate(speeds)]
    return base.targets(edges, [TOP, plot.bottom], [hover], [[None] * len(hover)])


def times(speed: float) -> str:
    """1.69 ×"""
    return f"{speed:.2f} ×"


def lengths_caption(found: Lengths, view: View) -> Caption:
    """The best length for this alpha and c, and what those of the notes give."""
    text = view.text
    given = {"alpha": f"{found.alpha:.2f}", "cost": f"{found.cost:.2f}"}
    best = {"best": found.best, "speed": f"{found.speeds[found.best]:.2f}"}
    title = text("lossless.length_best", **given, **best) if found.best else text("lossless.length_none", **given)
    others = [text("lossless.length_gives", gamma=g, speed=f"{found.speeds[g]:.2f}") for g in found.named]
    said = [text("lossless.length_notes", one=others[0], other=others[1])]
    if 0 < found.best < len(found.speeds) - 1:
        said.append(text("lossless.length_past"))
    return caption(title, said, view)

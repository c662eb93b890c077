"""How far each rule's tokens are from the target's law, beside what fair draws give by chance.

The axis goes with the square root of the distance, so that 0 is on it, and a noise of .005 and a distance of .3 both
can be read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.speculative.values import EmittedLaw, LawTest
from visualizations.figures import base
from visualizations.figures.spec_lossless_words import named, told
from visualizations.figures.spec_sheet import chance
from visualizations.figures.style import BODY, SMALL, Figure, View, literal, percent, text_px

HEAD, ROW, TALL, FOOT = 46, 32, 48, 46
"""Heights of the two lines on top, of a row, of one with its name above, and of the axis, px."""
LINE = 18
"""Height of a line of words, px."""
MARK = 5.5
"""Half the size of a mark, px."""
TICKS = (0.0, 1.0, 0.1, 0.01, 0.5, 0.2, 0.05, 0.02, 0.001, 0.005, 0.3)
"""Ticks, the first ones first where there is not room for all."""
ROOM = 64
"""Room of a number at the right of its mark, px."""


@dataclass(frozen=True, slots=True)
class _Plot:
    """Places in px from the top left; the scale ends at `most`."""

    test: LawTest
    view: View
    most: float

    @property
    def above(self) -> bool:
        """Whether a rule's name stands above its row."""
        return self.view.width < 520

    @property
    def left(self) -> float:
        """x of distance 0."""
        return 8.0 if self.above else max(text_px(named(each, self.view), BODY) for each in self.test.rules) + 18

    @property
    def accepts(self) -> float:
        """Room of the last column, what share of drafts is accepted; 0 where there is none."""
        return 0.0 if self.view.width < 640 else text_px(self.view.text("lossless.accepted"), SMALL) + 16

    @property
    def right(self) -> float:
        """x of the largest distance."""
        return max(self.left + 60, self.view.width - ROOM - self.accepts)

    @property
    def row(self) -> float:
        """Height of a row."""
        return TALL if self.above else ROW

    @property
    def bottom(self) -> float:
        """y of the axis."""
        return HEAD + self.row * len(self.test.rules) + 4

    def x(self, distance: float) -> float:
        """Where a distance stands."""
        return self.left + (self.right - self.left) * math.sqrt(max(distance, 0.0) / self.most)

    def y(self, place: int) -> float:
        """The middle of a row's marks."""
        return HEAD + self.row * (place + 1) - ROW / 2


def largest(tests: Sequence[LawTest]) -> float:
    """The largest distance in any of these tests: with one scale for all, the band is seen to narrow."""
    return max(max(test.high, *(max(law.exact, law.measured) for law in test.rules)) for test in tests)


def spec_lossless(test: LawTest, view: View, most: float) -> Figure:
    """A row a rule: measured filled, exact hollow, on the band of the noise; `most`: where the scale ends."""
    plot = _Plot(test, view, most)
    data = [_hover(plot), *_key(plot), *_band(plot), *_axis(plot)]
    for place, law in enumerate(test.rules):
        data += _row(plot, place, law)
    height = plot.bottom + FOOT
    frame = base.layout(view, height, xaxis=base.axis(0, view.width), yaxis=base.axis(height, 0))
    return base.figure([*data, *_accepted(plot)], frame)


def _band(plot: _Plot) -> list[base.Trace]:
    """The noise behind each row: shaded, its mean dashed, its end a line; a bracket on top says what it is."""
    view, end, mean = plot.view, plot.x(plot.test.high), plot.x(plot.test.expected)
    rows = [plot.y(place) for place in range(len(plot.test.rules))]
    half = ROW / 2 - (5 if plot.above else 0)
    band = base.bars([end - plot.left] * len(rows), rows, view.color("line"), 2 * half, plot.left)
    band["marker"]["cornerradius"] = 0
    words = _fitting(
        view.text("lossless.band", high=chance(plot.test.high)),
        view.text("lossless.band_short", high=chance(plot.test.high)),
        view.width - plot.accepts - plot.left,
    )
    return [
        band,
        base.lines([[(mean, y - half), (mean, y + half)] for y in rows], view.color("soft"), 1, "2px,3px"),
        base.lines([[(end, y - half), (end, y + half)] for y in rows], view.color("soft"), 1),
        base.lines([[(plot.left, HEAD - 3), (end, HEAD - 3)]], view.color("soft"), 3),
        base.texts([(plot.left, HEAD - LINE + 3, literal(words))], view.color("ink"), size=SMALL),
    ]


def _key(plot: _Plot) -> list[base.Trace]:
    """What the two marks are."""
    view, x, y = plot.view, plot.left + MARK + 2, LINE / 2
    data = []
    for name, hollow in (("measured", False), ("exact", True)):
        said = view.text(f"lossless.key_{name}")
        data.append(_marks([(x, y)], view.color("soft"), "circle", hollow))
        data.append(base.texts([(x + (13 if hollow else 9), y, said)], view.color("soft"), size=SMALL))
        x += text_px(said) + 34
    return data


def _row(plot: _Plot, place: int, law: EmittedLaw) -> list[base.Trace]:
    """A name, a line from 0 to what was measured, both marks, and the number."""
    view, y = plot.view, plot.y(place)
    color = view.color("kept" if law.lossless else "cut")
    measured, exact = plot.x(law.measured), plot.x(law.exact)
    furthest = max(measured, exact, plot.x(plot.test.high))  # a number stands beyond the band
    shape = "circle" if law.lossless else "diamond"
    name = (0.0, y - ROW / 2 - 3) if plot.above else (0.0, y)
    words = literal(named(law, view))
    return [
        base.texts([(*name, words if law.lossless else f"<b>{words}</b>")], view.color("ink")),
        base.lines([[(plot.left, y), (measured, y)]], color, 2.5, "solid" if law.lossless else "6px,3px"),
        _marks([(exact, y)], color, shape, hollow=True),
        _marks([(measured, y)], color, shape, hollow=False),
        base.texts([(furthest + 2 * MARK, y, literal(chance(law.measured)))], color, mono=True),
    ]


def _marks(points: Sequence[tuple[float, float]], color: str, shape: str, hollow: bool) -> base.Trace:
    """Marks; a hollow one is a ring around where a filled one may stand."""
    marker: dict[str, Any] = {"symbol": shape, "size": 2 * MARK - 3, "color": color}
    if hollow:
        marker = {"symbol": f"{shape}-open", "size": 2 * MARK + 3, "color": color, "line": {"width": 1.6}}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "marker": marker,
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _accepted(plot: _Plot) -> list[base.Trace]:
    """How often each rule accepts, where there is room for it."""
    view = plot.view
    if not plot.accepts:
        return []
    rows = [
        (float(view.width), plot.y(place), "–" if law.acceptance is None else percent(law.acceptance))
        for place, law in enumerate(plot.test.rules)
    ]
    head = (float(view.width), HEAD - LINE + 3, view.text("lossless.accepted"))
    return [
        base.texts([head], view.color("soft"), "middle left", SMALL),
        base.texts([(x, y, literal(said)) for x, y, said in rows], view.color("ink"), "middle left", mono=True),
    ]


def _axis(plot: _Plot) -> list[base.Trace]:
    """A line at 0 and below, as many ticks as have room, and what is measured."""
    view, placed = plot.view, ticks(plot.x, plot.most)
    line = [(plot.left, HEAD), (plot.left, plot.bottom), (plot.right, plot.bottom)]
    short = [[(x, plot.bottom), (x, plot.bottom + 4)] for x, _ in placed]
    labels = [(x, plot.bottom + 13, f"{value:g}") for x, value in placed]
    left = plot.left - MARK if plot.above else plot.left
    said = _fitting(view.text("lossless.axis"), view.text("lossless.axis_short"), view.width - left)
    return [
        base.lines([line, *short], view.color("soft"), 1),
        base.texts(labels, view.color("soft"), "middle center", SMALL),
        base.texts([(left, plot.bottom + 33, literal(said))], view.color("soft"), size=SMALL),
    ]


def _fitting(words: str, fewer: str, room: float) -> str:
    """The words where they have room, else fewer."""
    return words if text_px(words) <= room else fewer


def ticks(x: Callable[[float], float], most: float) -> list[tuple[float, float]]:
    """Places and values of the ticks that do not touch; `x` places a value."""
    placed: list[tuple[float, float]] = []
    for value in TICKS:
        half = text_px(f"{value:g}") / 2 + 5
        if value <= most and all(abs(x(value) - other) >= half + text_px(f"{v:g}") / 2 for other, v in placed):
            placed.append((x(value), value))
    return sorted(placed)


def _hover(plot: _Plot) -> base.Trace:
    """A row a rule: both numbers, and how often a draft is accepted."""
    view = plot.view
    said = []
    for law in plot.test.rules:
        lines = [named(law, view), view.text("lossless.hover", measured=chance(law.measured), exact=told(law))]
        if law.acceptance is not None:
            lines.append(view.text("lossless.hover_accepted", share=percent(law.acceptance)))
        said.append(["<br>".join(map(literal, lines))])
    edges = [HEAD + plot.row * place for place in range(len(said) + 1)]
    return base.targets([0, view.width], edges, said, [[None] for _ in said])

"""A law's items laid end to end from 0 to 1, with u's pin: the bar above a slow direct draw."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from decoding.experiments.values import Law
from visualizations.figures import base
from visualizations.figures.lab_marks import Box, blocks, hovered, outline, plain
from visualizations.figures.style import BODY, SMALL, View, literal, short, text_px

PIN, TOP, BOTTOM, LABELS = 10, 24, 52, 65
"""y of: u's label, the bar's top and bottom, and the names under it, px."""


@dataclass(frozen=True, slots=True)
class Line:
    """`bar` px are probability 1. `looked`: how many items were looked at; `at`: the one under the eye, if any."""

    law: Law
    view: View
    bar: float
    looked: int
    at: int | None
    chosen: int | None

    @property
    def edges(self) -> list[float]:
        """Where each item begins, and the last one ends."""
        sums = list(accumulate(self.law.probs, initial=0.0))
        return [min(total, 1.0) for total in sums[:-1]] + [1.0]

    def box(self, index: int) -> Box:
        """An item's stretch; a hair of room at its right, so that neighbours are seen apart."""
        low, high = (edge * self.bar for edge in self.edges[index : index + 2])
        return low, TOP, max(low + 0.75, high - (1 if high - low > 3 else 0)), BOTTOM


def draw(line: Line) -> list[base.Trace]:
    """Looked at: tinted; never: dashed, in grey; the drawn one solid; the one under the eye outlined."""
    view, some = line.view, [i for i, p in enumerate(line.law.probs) if p > 0]
    seen = [line.box(i) for i in some if i < line.looked and i != line.chosen]
    unseen = [(a + 1, b, max(a + 1, c - 1), d) for a, b, c, d in (line.box(i) for i in some if i >= line.looked)]
    chosen = [] if line.chosen is None else [line.box(line.chosen)]
    eye = [] if line.at is None else [line.box(line.at)]
    return [
        _hover(line),
        blocks(seen, view.color("kept_soft")),
        base.dashed(unseen, view.color("soft")),
        blocks(chosen, view.color("kept")),
        outline(eye, view.color("ink")),
        *_labels(line),
    ]


def _hover(line: Line) -> base.Trace:
    edges, hover = [0.0], []
    for i, (low, high) in enumerate(zip(line.edges, line.edges[1:], strict=False)):
        edges.append(max(edges[-1] + 0.01, high * line.bar))
        hover.append(f"{hovered(line.law, i, line.view)}<br>{low:.4f} – {high:.4f}")
    return base.targets(edges, [TOP, BOTTOM], [hover], [list(range(len(hover)))])


def _labels(line: Line) -> list[base.Trace]:
    """Names under the bar where they fit; that of the item under the eye always."""
    taken: list[tuple[float, float]] = []
    traces = []
    at = [] if line.at is None else [line.at]
    for group in (at, [i for i in range(len(line.law.items)) if i not in at]):
        points = []
        for i in group:
            x0, _, x1, _ = line.box(i)
            label = short(plain(line.law, i, line.view), 12)
            half = text_px(label, SMALL, mono=True) / 2 + 3
            x = min(max((x0 + x1) / 2, half), max(half, line.bar - half + 6))
            fits = i == line.at or 2 * half <= x1 - x0
            if fits and all(x + half <= a or x - half >= b for a, b in taken):
                taken.append((x - half, x + half))
                points.append((x, LABELS, f"<b>{literal(label)}</b>" if i == line.at else literal(label)))
        color = line.view.color("ink" if group == at else "soft")
        traces.append(base.texts(points, color, "middle center", SMALL, mono=True))
    return traces


def pin(line: Line, uniform: float, digits: int, first: float, last: float) -> list[base.Trace]:
    """u through the bar and, thinner, from `first` to `last`; the ends 0 and 1 of the scale."""
    x, view = uniform * line.bar, line.view
    label = f"u = {uniform:.{digits}f}"
    half = text_px(label, BODY, mono=True) / 2
    center = min(max(x, half), view.width - half)
    ends = [(0.0, "0", "right"), (line.bar, "1", "left")]
    ends = [end for end in ends if abs(end[0] - center) > half + 16]
    return [
        base.lines([((x, PIN + 9), (x, BOTTOM + 3))], view.color("ink"), 2),
        base.lines([((x, first), (x, last))], view.color("ink"), 1, "2px,3px"),
        base.texts([(center, PIN, label)], view.color("ink"), "middle center", BODY, mono=True),
        *(base.texts([(at, PIN + 4, name)], view.color("soft"), f"middle {side}", SMALL) for at, name, side in ends),
    ]

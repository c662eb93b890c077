"""Two pictures over the same items: side by side with one column of names, or one below the other on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.experiments.values import Law, Tally
from visualizations.figures import base
from visualizations.figures.lab_marks import Box, blocks, columns, hovered, is_rest, item, made, plain
from visualizations.figures.rows import ROW, THICK, label_limit
from visualizations.figures.style import BODY, SMALL, Figure, View, literal, number, percent_label, text_px

HEAD, GAP = 30, 26
"""Room for a panel's heading, and between the two, px."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars from `left` to `left + wide`, numbers that end at `right`, the first row's top at `top`; all px."""

    left: float
    wide: float
    right: float
    top: float
    named: bool

    def y(self, place: int) -> float:
        """The middle of a row."""
        return self.top + ROW * (place + 0.5)

    def x(self, share: float) -> float:
        """Where a share of the scale ends."""
        return self.left + self.wide * min(max(share, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Pair:
    """The two panels, a row for each item of the law."""

    view: View
    law: Law
    numbers: tuple[float, float]

    @property
    def count(self) -> int:
        """How many rows."""
        return len(self.law.items)

    @property
    def limit(self) -> int:
        """Columns of a name."""
        return columns(self.law, label_limit(self.view), self.view)

    @property
    def label(self) -> float:
        """Width of the column of names, px."""
        return (self.limit + 2) * BODY * 0.61 + 8

    @property
    def height(self) -> float:
        """Height of the figure, px."""
        one = HEAD + ROW * self.count + 6
        return 2 * one + 10 if self.view.narrow else one

    def panels(self) -> tuple[Panel, Panel]:
        """Left and right, or upper and lower."""
        first, second = self.numbers
        if self.view.narrow:
            wide = self.view.width - self.label
            below = 2 * HEAD + ROW * self.count + 16
            return (
                Panel(self.label, wide - first, self.view.width - 2, HEAD, True),
                Panel(self.label, wide - second, self.view.width - 2, below, True),
            )
        wide = (self.view.width - self.label - first - second - GAP) / 2
        middle = self.label + wide + first + GAP
        right = self.view.width - 2
        return Panel(self.label, wide, middle - GAP, HEAD, True), Panel(middle, wide, right, HEAD, False)


def names(pair: Pair, bold: int | None = None) -> list[base.Trace]:
    """The items' names, at the left of each panel that has them; the many others in words."""
    points, words = [], []
    for panel in pair.panels():
        for i in range(pair.count) if panel.named else ():
            if is_rest(pair.law, i):
                words.append((panel.left - 6, panel.y(i), literal(plain(pair.law, i, pair.view))))
                continue
            label = item(pair.law, i, pair.limit, pair.view)
            points.append((panel.left - 6, panel.y(i), f"▸ <b>{label}</b>" if i == bold else label))
    ink, soft = pair.view.color("ink"), pair.view.color("soft")
    return [base.texts(points, ink, "middle left", mono=True), base.texts(words, soft, "middle left", SMALL)]


def heads(pair: Pair, words: Sequence[str], colors: Sequence[str], exact: Sequence[bool]) -> list[base.Trace]:
    """The panels' headings; where there are marks, what they are."""
    panels = pair.panels()
    points = [(p.left, p.top - 13, word) for p, word in zip(panels, words, strict=True)]
    marked = [
        (p.left + text_px(word, SMALL) + 16, p.top - 13, pair.view.text("histogram.exact"))
        for p, word, known in zip(panels, words, exact, strict=True)
        if known
    ]
    return [
        base.texts(points, [pair.view.color(c) for c in colors], size=SMALL),
        base.texts(marked, pair.view.color("ink"), size=SMALL),
    ]


def counted(panel: Panel, tally: Tally, view: View, scale: float) -> list[base.Trace]:
    """Bars as often as drawn, upright marks at the exact law, the share as a number."""
    shares = [count / tally.draws if tally.draws else 0.0 for count in tally.counts]
    boxes: list[Box] = []
    rest: list[Box] = []
    paths, words = [], []
    for i, (share, prob) in enumerate(zip(shares, tally.law.probs, strict=True)):
        y, x = panel.y(i), panel.x(prob / scale)
        if share:
            where = rest if is_rest(tally.law, i) else boxes
            where.append((panel.left, y - ROW * THICK / 2, panel.x(share / scale), y + ROW * THICK / 2))
        paths.append(((x, y - ROW * 0.46), (x, y + ROW * 0.46)))
        words.append((panel.right, y, percent_label(share).replace(" ", "\u00a0")))
    return [
        blocks(boxes, view.color("kept"), 2),
        base.hatched(blocks(rest, view.color("kept"), 2), view),
        base.lines(paths, view.color("ink"), 2.2),
        base.texts(words, view.color("soft"), "middle left", BODY, mono=True),
    ]


def hover(panel: Panel, tally: Tally, view: View) -> base.Trace:
    """The rows of a panel answer to the pointer."""
    said = []
    for i, (count, prob) in enumerate(zip(tally.counts, tally.law.probs, strict=True)):
        values = {"share": percent_label(count / tally.draws if tally.draws else 0.0), "prob": percent_label(prob)}
        words = view.text("histogram.hover", count=number(count), **values)
        said.append([f"{hovered(tally.law, i, view)}<br>{words}"])
    edges = [panel.top + ROW * i for i in range(len(said) + 1)]
    return base.targets([panel.left, panel.right], edges, said, [[i] for i in range(len(said))])


def figure(pair: Pair, data: list[base.Trace]) -> Figure:
    """The figure of the pair."""
    return made(data, pair.view, pair.height)

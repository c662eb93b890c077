"""One slow binary search: the running sums as columns, u as a level, and a row for each probe."""

from __future__ import annotations

import math
from collections.abc import Sequence

from decoding.experiments.values import BinaryPlay, Law
from visualizations.figures import base
from visualizations.figures.lab_marks import Box, blocks, cut, hovered, item, made, marks, outline
from visualizations.figures.style import BODY, SMALL, Figure, View, apart, literal, mix, text_px

HEAD, TOP, TALL = 10, 26, 130
"""y of the words above, of a sum of 1, and the height of the columns, px."""
NAMES, ROWS, ROW = TOP + TALL + 12, TOP + TALL + 36, 20
"""y of the names, of the first probe's row, and the height of a row, px."""


def binary(play: BinaryPlay, law: Law, view: View, moment: int) -> Figure:
    """After `moment` probes."""
    probes = play.draw.probes
    digits = apart(play.draw.uniform, *(probe.cumulative for probe in probes))
    gutter = (digits + 9) * SMALL * 0.61 + 8
    wide = (view.width - gutter - 1) / len(law.items)
    low, high = interval(play, moment)
    chosen = play.chosen if low == high else None
    data = _columns(play, law, view, (gutter, wide), moment)
    data += _level(play.draw.uniform, digits, gutter, view)
    data += _rows(play, view, (gutter, wide), digits, moment)
    probed = probes[moment - 1].index if moment and chosen is None else None
    data += _names(law, view, (gutter, wide), chosen if chosen is not None else probed, chosen is not None)
    data.append(base.texts([(gutter, HEAD, view.text("lab.binary.head"))], view.color("soft"), size=SMALL))
    return made(data, view, ROWS + ROW * most_probes(len(law.items)))


def most_probes(count: int) -> int:
    """How many probes a search among so many can take."""
    return max(1, math.ceil(math.log2(max(1, count))))


def interval(play: BinaryPlay, moment: int) -> tuple[int, int]:
    """The first and the last item that can still be the one, after `moment` probes."""
    if moment >= len(play.draw.probes):
        return play.chosen, play.chosen
    return play.draw.probes[moment].low, play.draw.probes[moment].high


def _columns(play: BinaryPlay, law: Law, view: View, at: tuple[float, float], moment: int) -> list[base.Trace]:
    """Columns that can still be it tinted, thrown away ones dashed, the probed one outlined, the drawn one solid."""
    gutter, wide = at
    low, high = interval(play, moment)
    thin = 3 if wide > 8 else 0

    def box(i: int) -> Box:
        """A column."""
        x = gutter + wide * i
        return x, TOP + TALL * (1 - play.sums[i]), x + max(1.0, wide - thin), TOP + TALL

    inside = [box(i) for i in range(low, high + 1)] if low < high else []
    gone = [box(i) for i in range(len(play.sums)) if not low <= i <= high]
    probed = [box(play.draw.probes[moment - 1].index)] if moment else []
    hover = [f"{hovered(law, i, view)}<br>{view.text('lab.sum')} {s:.4f}" for i, s in enumerate(play.sums)]
    edges = [gutter + wide * i for i in range(len(play.sums) + 1)]
    return [
        base.targets(edges, [TOP, TOP + TALL], [hover], [list(range(len(hover)))]),
        blocks(inside, view.color("kept_soft")),
        base.dashed(gone, mix(view.color("soft"), view.color("panel"), 0.35)),
        blocks([box(low)] if low == high else [], view.color("kept")),
        outline(probed, view.color("ink")),
    ]


def _level(uniform: float, digits: int, gutter: float, view: View) -> list[base.Trace]:
    """u as a height, with its label at the left."""
    y, ink = TOP + TALL * (1 - uniform), view.color("ink")
    label = f"u = {uniform:.{digits}f}"
    return [
        base.lines([((gutter - 8, y), (view.width, y))], ink, 1.2, "2px,3px"),
        base.texts([(0, min(max(y, TOP), TOP + TALL), label)], ink, size=BODY, mono=True),
    ]


def _rows(play: BinaryPlay, view: View, at: tuple[float, float], digits: int, moment: int) -> list[base.Trace]:
    """Each probe so far: the half that stays, the half thrown away, and which way it went."""
    gutter, wide = at
    stay, gone, dots, symbols, words = [], [], [], [], []
    for i, probe in enumerate(play.draw.probes[:moment]):
        y = ROWS + ROW * i
        left, right = gutter + wide * probe.low, gutter + wide * (probe.high + 1) - 2
        edge = gutter + wide * (probe.index + 1) - 2
        parts: list[Sequence[tuple[float, float]]] = [((left, y), (edge, y)), ((edge + 2, y), (right, y))]
        stay.append(parts[0 if probe.went_left else 1])
        gone.append(parts[1 if probe.went_left else 0])
        dots.append((gutter + wide * (probe.index + 0.5) - 1, y))
        symbols.append("triangle-left" if probe.went_left else "triangle-right")
        text = literal(f"{probe.cumulative:.{digits}f} {'> u ←' if probe.went_left else '≤ u →'}")
        words.append((0, y, f"<b>{text}</b>" if i == moment - 1 else text))
    colors = [view.color("soft")] * (len(words) - 1) + [view.color("ink")]
    return [
        base.lines(gone, mix(view.color("soft"), view.color("panel"), 0.4), 1.2, "2px,2px"),
        base.lines(stay, mix(view.color("kept"), view.color("panel"), 0.45), 7),
        marks(dots, symbols, view.color("ink"), 10),
        base.texts(words, colors[-len(words) :] if words else [], size=SMALL, mono=True),
    ]


def _names(law: Law, view: View, at: tuple[float, float], bold: int | None, drawn: bool) -> list[base.Trace]:
    """Names under the columns where there is room; that of the item in question always, in bold."""
    gutter, wide = at
    room = int((wide - 4) / (SMALL * 0.61))
    points, strong, half = [], [], 0.0
    if bold is not None:
        label = ("▸ " if drawn else "") + cut(law, bold, max(room - 2 * drawn, 8), view)
        half = text_px(label, SMALL, mono=True) / 2
        x = min(max(gutter + wide * (bold + 0.5), half), view.width - half)
        strong.append((x, NAMES, f"<b>{literal(label)}</b>"))
    for i in range(len(law.items)) if room >= 2 else ():
        x = gutter + wide * (i + 0.5)
        if (
            i != bold
            and cut(law, i, room, view) != "…"
            and all(abs(x - other) > wide / 2 + half for other, _, _ in strong)
        ):
            points.append((x, NAMES, item(law, i, room, view)))
    return [
        base.texts(points, view.color("soft"), "middle center", SMALL, mono=True),
        base.texts(strong, view.color("ink"), "middle center", SMALL, mono=True),
    ]

"""One slow draw from an alias table: u picks a column, a coin picks one of its two parts."""

from __future__ import annotations

from decoding.experiments.values import AliasPlay, Law
from visualizations.figures import base
from visualizations.figures.lab_marks import Box, blocks, cut, item, made, marks, outline
from visualizations.figures.style import BODY, SMALL, Figure, View, apart, literal, mix, text_px

PIN, MARK, ABOVE, TOP, TALL = 10, 25, 42, 52, 140
"""y of: u's label, the mark under it, the names above, the columns' top; and their height, px."""
BELOW, WORDS = TOP + TALL + 12, TOP + TALL + 36
"""y of the names below, and of the first of two lines of words, px."""
GUTTER = 92
"""Room at the left for the coin, px."""


def alias(play: AliasPlay, law: Law, view: View, moment: int) -> Figure:
    """Moment 0: the table; then the column, the coin, and the item drawn."""
    wide = (view.width - GUTTER - 1) / len(play.others)
    data = [_hover(play, law, wide, view), *_parts(play, wide, view, moment), *_names(play, law, wide, view, moment)]
    data += _pin(play, wide, view, moment)
    data += _coin(play, wide, view, moment)
    data.append(_words(play, law, wide, view, moment))
    return made(data, view, WORDS + 30)


def _box(play: AliasPlay, column: int, above: bool, wide: float) -> Box:
    """The part of a column that is its own item's, or the one above it."""
    x, share = GUTTER + wide * column, play.draw.columns[column].threshold
    edge = TOP + TALL * (1 - share)
    right = x + max(1.0, wide - (3 if wide > 8 else 0))
    return (x, TOP, right, edge) if above else (x, edge, right, TOP + TALL)


def _parts(play: AliasPlay, wide: float, view: View, moment: int) -> list[base.Trace]:
    draw, count = play.draw, len(play.others)
    own = [_box(play, i, False, wide) for i in range(count)]
    other = [_box(play, i, True, wide) for i in range(count) if play.others[i] != i]
    drawn = [_box(play, draw.column, draw.took_alias, wide)] if moment >= 3 else []
    x0, _, x1, _ = own[draw.column]
    return [
        blocks(own, mix(view.color("kept_soft"), view.color("kept"), 0.2)),
        blocks(other, mix(view.color("panel"), view.color("line"), 0.75)),
        blocks(drawn, view.color("kept")),
        outline([(x0, TOP, x1, TOP + TALL)] if moment >= 1 else [], view.color("ink"), 1.6),
    ]


def _names(play: AliasPlay, law: Law, wide: float, view: View, moment: int) -> list[base.Trace]:
    """Under each column its own item, above it its alias; of the drawn part in bold."""
    room = int((wide - 4) / (SMALL * 0.61))
    points, colors = [], []
    for i, other in enumerate(play.others if room >= 1 else ()):
        at = moment >= 1 and i == play.draw.column
        for index, y, above in ((i, BELOW, False), (other, ABOVE, True)):
            if above and other == i:
                continue
            if cut(law, index, room, view) == "…":
                continue
            label = item(law, index, room, view)
            drawn = at and moment >= 3 and above == play.draw.took_alias
            points.append((GUTTER + wide * i + (wide - 3) / 2, y, f"<b>{label}</b>" if drawn else label))
            colors.append(view.color("ink" if at else "soft"))
    heads = [(0, ABOVE, view.text("lab.alias.above")), (0, BELOW, view.text("lab.alias.own"))] if room >= 1 else []
    return [
        base.texts(points, colors, "middle center", SMALL, mono=True),
        base.texts(heads, view.color("soft"), size=SMALL),
    ]


def _pin(play: AliasPlay, wide: float, view: View, moment: int) -> list[base.Trace]:
    """u over the columns, and where in its column it points."""
    x = GUTTER + play.draw.uniform * wide * len(play.others)
    label = f"u = {play.draw.uniform:.{_digits(play)}f}"
    half = text_px(label, BODY, mono=True) / 2
    shown = moment >= 1
    points = [(min(max(x, half), view.width - half), PIN, label)] if shown else []
    return [
        base.texts(points, view.color("ink"), "middle center", BODY, mono=True),
        marks([(x, MARK)] if shown else [], "triangle-down", view.color("ink"), 10),
    ]


def _digits(play: AliasPlay) -> int:
    count = len(play.others)
    return apart(play.draw.uniform, play.draw.column / count, (play.draw.column + 1) / count)


def _coin(play: AliasPlay, wide: float, view: View, moment: int) -> list[base.Trace]:
    """The coin as a height, from its label at the left through the column."""
    draw, ink = play.draw, view.color("ink")
    y = TOP + TALL * (1 - draw.coin)
    digits = apart(draw.coin, draw.columns[draw.column].threshold)
    x0, _, x1, _ = _box(play, draw.column, False, wide)
    label = view.text("draw.coin", coin=f"{draw.coin:.{digits}f}")
    shown = moment >= 2
    return [
        base.lines([((GUTTER - 8, y), (x0, y))] if shown else [], ink, 1, "2px,3px"),
        base.lines([((x0 - 4, y), (x1 + 4, y))] if shown else [], ink, 2.5),
        base.texts([(0, min(max(y, TOP + 8), TOP + TALL - 8), label)] if shown else [], ink, size=BODY, mono=True),
    ]


def _words(play: AliasPlay, law: Law, wide: float, view: View, moment: int) -> base.Trace:
    """What the two parts of the column are, the drawn one in bold."""
    draw, points, colors = play.draw, [], []
    threshold = draw.columns[draw.column].threshold
    value = f"{threshold:.{apart(threshold, draw.coin)}f}"
    rows = [("draw.part_above", play.others[draw.column], True), ("draw.part_below", draw.column, False)]
    if play.others[draw.column] == draw.column:
        rows.pop(0)
    names = [cut(law, index, 14, view) for _, index, _ in rows]
    plain_lines = [view.text(key, threshold=value, token=name) for (key, _, _), name in zip(rows, names, strict=True)]
    half = max(text_px(f"▸ {line}", SMALL, mono=True) for line in plain_lines) / 2 + 4
    center = min(max(GUTTER + wide * (draw.column + 0.5), half), view.width - half)
    for i, ((key, _, above), name) in enumerate(zip(rows, names, strict=True) if moment >= 1 else ()):
        line = view.text(key, threshold=value, token=literal(name))
        drawn = moment >= 3 and above == draw.took_alias
        points.append((center, WORDS + 18 * i, f"<b>▸ {line}</b>" if drawn else line))
        colors.append(view.color("ink" if drawn or moment < 3 else "soft"))
    return base.texts(points, colors, "middle center", SMALL, mono=True)


def _hover(play: AliasPlay, law: Law, wide: float, view: View) -> base.Trace:
    hover = []
    for i, other in enumerate(play.others):
        share = f"{play.draw.columns[i].threshold:.4f}"
        lines = [view.text("draw.column", column=i + 1)]
        if other != i:
            lines.append(view.text("draw.part_above", threshold=share, token=item(law, other, 32, view)))
        lines.append(view.text("draw.part_below", threshold=share, token=item(law, i, 32, view)))
        hover.append("<br>".join(lines))
    edges = [GUTTER + wide * i for i in range(len(hover) + 1)]
    return base.targets(edges, [TOP, TOP + TALL], [hover], [list(range(len(hover)))])

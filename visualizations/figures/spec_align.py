"""A row for each drafter: how much of it is accepted, what that gives, what drafting costs, and the speed-up.

All places are in px from the top left corner.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoding.speculative.values import Alignment, Race
from visualizations.figures import base
from visualizations.figures.spec_align_words import name_of, ordered, quickest, timed, told
from visualizations.figures.style import SMALL, Figure, View, literal, number, short, text_px

HEAD, ROW, BAR = 26, 34, 14
"""Heights in px: the headings, a row, a bar."""
BLOCK, LINE = 76, 22
"""On a phone: a drafter's lines together, and one of them, px."""
SIDE = 620
"""From this width on a drafter is one row."""
CELL, NUMBER, FACTOR = 52, 46, 62
"""Widths in px: a column of numbers; the number at the right of an acceptance; that of a speed-up."""
GAP = 20
NAMES = ((800, 36), (480, 24), (0, 18))
"""From a width on, the most columns of a drafter's name."""


@dataclass(frozen=True, slots=True)
class _Bars:
    """A column of bars: where it begins, the px of a value of 1, and the end of the numbers at its right."""

    left: float
    unit: float
    right: float


def alignment(found: Alignment, view: View) -> Figure:
    """The rows, those with more accepted first."""
    data, height = _rows(found, view) if view.width >= SIDE else _blocks(found, view)
    frame = base.layout(view, height, xaxis=base.axis(0, view.width), yaxis=base.axis(height, 0))
    return base.figure(data, frame)


def _rows(found: Alignment, view: View) -> tuple[list[base.Trace], float]:
    """One row a drafter, in columns with headings."""
    races, text, clock = ordered(found), view.text, timed(found)
    names = [_name(race, view) for race in races]
    left = max(text_px(name, SMALL) for name in names) + GAP
    cells = CELL * (2 if clock else 1)
    bars = (view.width - left - cells - GAP * (2 if clock else 1) - 2) / (2 if clock else 1)
    alpha = _Bars(left, bars - NUMBER, left + bars)
    ys = [HEAD + ROW * i + ROW / 2 for i in range(len(races))]
    ends = [alpha.right + GAP + CELL * (i + 1) - 8 for i in range(2)]
    height = HEAD + ROW * len(races) + 4
    heads = [(left, text("align.head_alpha"), "middle right"), (ends[0], text("align.head_tau"), "middle left")]
    data = [_hover(races, [HEAD + ROW * i for i in range(len(races) + 1)], view)]
    data += _names([(0, y, name) for y, name in zip(ys, names, strict=True)], races, found, view)
    data += _alphas(races, ys, alpha, view)
    data.append(_numbers([(ends[0], y, told(race.counts.tau)) for y, race in zip(ys, races, strict=True)], view))
    if clock:
        speeds = _Bars(left + bars + GAP + cells + GAP, 0, view.width - 2)
        speeds = _scaled(found, speeds)
        data.append(_numbers([(ends[1], y, _cost(race)) for y, race in zip(ys, races, strict=True)], view))
        data += _speeds(found, races, ys, speeds, view, (HEAD, height))
        heads += [(ends[1], text("align.head_cost"), "middle left"), *_over(speeds, view)]
    for side in ("middle right", "middle left", "middle center"):
        points = [(x, HEAD / 2, words) for x, words, where in heads if where == side]
        data.append(base.texts(points, view.color("soft"), side, SMALL))
    return data, height


def _over(bars: _Bars, view: View) -> list[tuple[float, str, str]]:
    """The headings of the speed-ups: the column's at its left, the rule's over it, where both fit; else one."""
    short, rule, both = (view.text(f"align.head_{name}") for name in ("speedup_short", "plain", "speedup"))
    one, half = bars.left + bars.unit, text_px(rule, SMALL) / 2
    if one - half >= bars.left + text_px(short, SMALL) + 8 and one + half <= bars.right:
        return [(bars.left, short, "middle right"), (one, rule, "middle center")]
    room = bars.right - bars.left
    return [(bars.left, both if text_px(both, SMALL) <= room else short, "middle right")]


def _blocks(found: Alignment, view: View) -> tuple[list[base.Trace], float]:
    """On a phone: a drafter's name and numbers, and its bars below, each named at its left."""
    races, text, clock = ordered(found), view.text, timed(found)
    labels = [text("align.head_alpha"), *([text("align.head_speedup_short")] if clock else [])]
    left = max(text_px(words, SMALL) for words in labels) + 10
    block = BLOCK if clock else BLOCK - LINE
    tops = [block * i for i in range(len(races))]
    alpha = _Bars(left, view.width - left - NUMBER - 2, view.width - 2)
    data = [_hover(races, [*tops, block * len(races)], view)]
    names = [(0.0, top + LINE / 2, _name(race, view)) for top, race in zip(tops, races, strict=True)]
    data += _names(names, races, found, view)
    notes = [f"τ {told(race.counts.tau)}" + (f"  c {_cost(race)}" if clock else "") for race in races]
    data.append(_numbers([(view.width - 2, y, note) for (_, y, _), note in zip(names, notes, strict=True)], view))
    ys = [top + LINE * 1.5 for top in tops]
    data += _alphas(races, ys, alpha, view)
    data.append(base.texts([(0, y, labels[0]) for y in ys], view.color("soft"), size=SMALL))
    if clock:
        speeds = _scaled(found, alpha)
        ys = [top + LINE * 2.5 for top in tops]
        for y, race in zip(ys, races, strict=True):
            data += _speeds(found, [race], [y], speeds, view, (y - LINE / 2 + 1, y + LINE / 2 - 1))
        data.append(base.texts([(0, y, labels[1]) for y in ys], view.color("soft"), size=SMALL))
    return data, block * len(races)


def _scaled(found: Alignment, bars: _Bars) -> _Bars:
    """The column with a scale on which the largest speed-up and plain decoding fit."""
    most = max(1.0, *(race.speedup for race in found.races))
    return _Bars(bars.left, (bars.right - bars.left - FACTOR) / most, bars.right)


def _name(race: Race, view: View) -> str:
    """For a label; cut where there is little room."""
    return short(name_of(race.drafter, view.text), next(limit for width, limit in NAMES if view.width >= width))


def _names(points: list[tuple[float, float, str]], races: list[Race], found: Alignment, view: View) -> list[base.Trace]:
    """Names at the left; the quickest that gains is bold and marked."""
    best = quickest(found) if timed(found) else None
    marked = [race is best and race.speedup > 1 for race in races]
    words = [
        (x, y, f"<b>{literal(name)}</b>" if mark else literal(name))
        for (x, y, name), mark in zip(points, marked, strict=True)
    ]
    return [base.texts(words, view.color("ink"), size=SMALL)]


def _alphas(races: list[Race], ys: list[float], bars: _Bars, view: View) -> list[base.Trace]:
    """Acceptance on a track from 0 to 1, the number at its right."""
    shares = [race.counts.acceptance for race in races]
    words = [view.text("align.none") if share is None else told(share) for share in shares]
    ends = [bars.left + (share or 0.0) * bars.unit for share in shares]
    tracks = [((end, y), (bars.left + bars.unit, y)) for end, y in zip(ends, ys, strict=True)]
    return [
        base.lines(tracks, view.color("line"), 1),
        base.bars([(share or 0.0) * bars.unit for share in shares], ys, view.color("kept"), BAR, base=bars.left),
        _numbers([(bars.right, y, word) for y, word in zip(ys, words, strict=True)], view),
    ]


def _speeds(
    found: Alignment, races: list[Race], ys: list[float], bars: _Bars, view: View, rule: tuple[float, float]
) -> list[base.Trace]:
    """Speed-up from 0, with a rule at 1, where plain decoding is; what is slower is hatched."""
    fast = [(y, race.speedup) for y, race in zip(ys, races, strict=True) if race.speedup > 1]
    slow = [(y, race.speedup) for y, race in zip(ys, races, strict=True) if race.speedup <= 1]
    lengths = [[speed * bars.unit for _, speed in some] for some in (fast, slow)]
    solid = base.bars(lengths[0], [y for y, _ in fast], view.color("kept"), BAR, base=bars.left)
    hollow = base.bars(lengths[1], [y for y, _ in slow], "", BAR, base=bars.left)
    one = bars.left + bars.unit
    words = [view.text("align.times", value=told(race.speedup)) for race in races]
    return [
        *([solid] if fast else []),
        *([base.hatched(hollow, view)] if slow else []),
        base.lines([((one, rule[0]), (one, rule[1]))], view.color("ink"), 1.5),
        _numbers([(bars.right, y, word) for y, word in zip(ys, words, strict=True)], view),
    ]


def _numbers(points: list[tuple[float, float, str]], view: View) -> base.Trace:
    return base.texts(points, view.color("ink"), "middle left", SMALL, mono=True)


def _cost(race: Race) -> str:
    """c in this race."""
    return "–" if race.draft_cost is None else told(race.draft_cost)


def _hover(races: list[Race], edges: list[float], view: View) -> base.Trace:
    """A row for each drafter, and which model it is."""
    hover = []
    for race in races:
        made = race.counts
        name = name_of(race.drafter, view.text)
        values = {"judged": number(made.judged), "accepted": number(made.accepted), "tokens": number(made.emitted)}
        whole = f"{name}: {race.draft.name}" if race.draft else name
        hover.append([view.text("align.hover", drafter=literal(whole), passes=number(made.target_passes), **values)])
    return base.targets([0, view.width], edges, hover, [[None]] * len(races))

"""Two clocks: plain decoding and speculation write from one prompt, and where the time of a token goes.

All places are in px from the top left corner. A wide picture has the lanes at the left and the costs beside them,
one row for each of the two loops; a narrow one has the costs below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from decoding.speculative.values import Clocked, Race
from visualizations.figures import base
from visualizations.figures.spec_race_words import digits, ms
from visualizations.figures.style import SMALL, Figure, View, decimal, mix, number, percent_label, text_px

WIDE = 720
"""Width from which the costs stand beside the lanes, px."""
LANES, GAP = 0.58, 36
"""Share of the width for the lanes, and room between them and the costs, px."""
HEAD, LINE, TRACK, AXIS = 26, 18, 20, 26
"""Height of a heading, of a line of words, of a lane, and of the axis, px."""
BETWEEN = 10
"""Room between two rows, px."""
LEAST_STEP = 5.0
"""Least mean width of a step whose border is drawn, px."""
BORDER, FAINT = 0.55, 0.72
"""Share of the panel's colour in the borders of steps: those taken, and those to come."""
TICK_STEPS = (1, 2, 5)

Label = tuple[float, str]
"""Where its centre is wanted, and the words."""


@dataclass(slots=True)
class _Sheet:
    """The picture in the making."""

    view: View
    race: Race
    at: int
    data: list[base.Trace] = field(default_factory=list)

    @property
    def now(self) -> float:
        """Seconds of speculation after the round that is shown."""
        seconds = self.race.speculative.seconds
        return seconds[max(0, min(self.at, len(seconds) - 1))]

    @property
    def runs(self) -> tuple[tuple[str, str, Clocked], ...]:
        """Name, role, and clock of both loops, from the top."""
        text = self.view.text
        return (
            (text("race.plain"), "soft", self.race.plain),
            (text("race.drafts"), "kept", self.race.speculative),
        )

    def say(self, x: float, y: float, words: str, color: str = "soft", position: str = "middle right") -> None:
        self.data.append(base.texts([(x, y, words)], self.view.color(color), position, SMALL))


@dataclass(frozen=True, slots=True)
class _Area:
    """A part of the picture: its edges, its top, and the pitch of its rows."""

    left: float
    right: float
    top: float
    pitch: float

    @property
    def wide(self) -> float:
        return self.right - self.left

    def row(self, index: int) -> float:
        """Top of a loop's row."""
        return self.top + HEAD + self.pitch * index


def race(race: Race, at: int, view: View) -> Figure:
    """The race up to the moment after round `at`, from 0, of the speculative run; and what a token cost each."""
    sheet = _Sheet(view, race, at)
    beside = view.width >= WIDE
    edge = view.width - 1.0
    left = round(LANES * view.width) + GAP if beside else 0.0
    rows = max(len(_placed(_amounts(sheet, left, edge, run)[1], left, edge)) for _, _, run in sheet.runs)
    pitch = 2 * LINE + TRACK + BETWEEN
    if beside:
        pitch += LINE * (rows - 1)
    lanes = _Area(0.0, left - GAP if beside else edge, 0.0, pitch)
    below = lanes.row(len(sheet.runs)) - BETWEEN + 4
    costs = _Area(left, edge, 0.0 if beside else below + AXIS + BETWEEN, LINE * (1 + rows) + TRACK + BETWEEN)
    _lanes(sheet, lanes)
    _axis(sheet, lanes, below)
    _costs(sheet, costs if not beside else _Area(left, edge, 0.0, pitch))
    height = below + AXIS if beside else costs.row(len(sheet.runs))
    frame = base.layout(view, height, xaxis=base.axis(0, view.width), yaxis=base.axis(height, 0))
    return base.figure(sheet.data, frame)


def _end(sheet: _Sheet) -> float:
    return max(run.total for _, _, run in sheet.runs)


def _lanes(sheet: _Sheet, area: _Area) -> None:
    """A lane each: solid up to the moment, dashed from there on; the tokens written stand at its head."""
    view, text = sheet.view, sheet.view.text
    scale, after = area.wide / _end(sheet), digits(sheet.race)
    sheet.say(area.left, HEAD / 2 - 2, text("race.now", seconds=decimal(sheet.now, after)), "ink")
    for index, (name, role, run) in enumerate(sheet.runs):
        top = area.row(index) + LINE
        took = text("race.took", tokens=number(run.written[-1]), seconds=decimal(run.total, after))
        if text_px(name) + text_px(took) + 8 > area.wide:
            took = text("race.seconds", seconds=decimal(run.total, after))
        sheet.say(area.left, top - LINE / 2, name, "ink")
        sheet.say(area.right, top - LINE / 2, took, position="middle left")
        head = area.left + min(sheet.now, run.total) * scale
        _track(sheet, run, role, [area.left + scale * s for s in (0.0, *run.seconds)], (top, head))
        words = text("race.tokens", tokens=number(run.written_by(sheet.now)))
        half = text_px(words) / 2
        center = min(max(head, area.left + half), area.right - half)
        sheet.data.append(base.lines([[(head, top - 2), (head, top + TRACK + 3)]], view.color("ink"), 2.5))
        sheet.say(center, top + TRACK + LINE / 2 + 2, f"<b>{words}</b>", "ink", "middle center")


def _track(sheet: _Sheet, run: Clocked, role: str, edges: Sequence[float], place: tuple[float, float]) -> None:
    """One lane whose steps end at `edges`; `place`: its top, and its head."""
    (top, head), view, after = place, sheet.view, digits(sheet.race)
    bottom, end = top + TRACK, edges[-1]
    hover = [
        view.text("race.hover", tokens=number(n), seconds=decimal(s, after))
        for n, s in zip(run.written, run.seconds, strict=True)
    ]
    sheet.data.append(base.targets(edges, [top, bottom], [hover], [[None] * len(hover)]))
    sheet.data.append(base.bars([head - edges[0]], [top + TRACK / 2], view.color(role), TRACK, base=edges[0]))
    if end - head > 3:
        sheet.data.append(base.dashed([(head, top + 0.7, end, bottom - 0.7)], view.color(role)))
    if (end - edges[0]) / len(hover) < LEAST_STEP:
        return
    for inside, share in ((True, BORDER), (False, FAINT)):
        color = mix(view.color(role), view.color("panel"), share)
        borders = [x for x in edges[1:-1] if (x < head - 1) == inside and abs(x - head) > 1]
        if borders:
            sheet.data.append(base.lines([[(x, top + 2), (x, bottom - 2)] for x in borders], color, 1))


def _axis(sheet: _Sheet, area: _Area, y: float) -> None:
    """Seconds under the lanes."""
    end, view = _end(sheet), sheet.view
    scale = area.wide / end
    sheet.data.append(base.lines([[(area.left, y), (area.right, y)]], view.color("line"), 1))
    ticks, places = seconds_ticks(end)
    sheet.data.append(base.lines([[(area.left + scale * s, y), (area.left + scale * s, y + 4)] for s in ticks],
                                 view.color("line"), 1))  # fmt: skip
    for tick in ticks:
        words = view.text("race.seconds", seconds=decimal(tick, places)) if tick else "0"
        half = text_px(words) / 2
        x = max(area.left + half, area.left + scale * tick)
        if x + half <= area.right:
            sheet.say(x, y + 4 + LINE / 2, words, position="middle center")


def seconds_ticks(end: float) -> tuple[list[float], int]:
    """At most six round numbers of seconds from 0 to `end`, and the digits they need."""
    power = -6
    while True:
        for factor in TICK_STEPS:
            step = factor * 10.0**power
            if end / step <= 5:
                return [round(step * i, 9) for i in range(int(end / step) + 1)], max(0, -power)
        power += 1


def _costs(sheet: _Sheet, area: _Area) -> None:
    """A bar each, as long as a token took, of what the time went into."""
    text = sheet.view.text
    sheet.say(area.left, area.top + HEAD / 2 - 2, text("race.goes"), "ink")
    for index, (name, _, run) in enumerate(sheet.runs):
        top = area.row(index) + LINE
        sheet.say(area.left, top - LINE / 2, name, "ink")
        per_token = text("race.per_token", ms=ms(1000 * run.per_token))
        sheet.say(area.right, top - LINE / 2, per_token, position="middle left")
        edges, labels = _amounts(sheet, area.left, area.right, run)
        _segments(sheet, run, edges, top)
        for row, placed in enumerate(_placed(labels, area.left, area.right)):
            for x, words in placed:
                sheet.say(x, top + TRACK + LINE * (row + 0.5) + 1, words, position="middle center")


def _segments(sheet: _Sheet, run: Clocked, edges: Sequence[float], top: float) -> None:
    """The target's part solid, the draft's striped, the rest hollow."""
    view, middle = sheet.view, top + TRACK / 2
    parts = list(zip(_parts(run), edges, edges[1:], strict=False))
    for (name, seconds), low, high in parts:
        if seconds <= 0:
            continue
        if name == "others":
            box = [(low + 0.5, top + 1), (high, top + 1), (high, top + TRACK - 1), (low + 0.5, top + TRACK - 1)]
            sheet.data.append(base.lines([[*box, box[0]]], view.color("soft"), 1.2))
            continue
        bar = base.bars([high - low], [middle], view.color("kept" if name == "target" else "draft"), TRACK, base=low)
        if name == "draft":
            stripes = {"shape": "/", "size": 5, "solidity": 0.25, "fgcolor": view.color("panel"), "fillmode": "overlay"}
            bar["marker"]["pattern"] = stripes
        sheet.data.append(bar)
    hover = [_told(sheet.view, name, seconds, run) for name, seconds in _parts(run)]
    kept = [(h, low, high) for h, low, high in zip(hover, edges, edges[1:], strict=False) if high > low]
    cells = [kept[0][1], *(high for _, _, high in kept)]
    sheet.data.append(base.targets(cells, [top, top + TRACK], [[h for h, _, _ in kept]], [[None] * len(kept)]))


def _told(view: View, name: str, seconds: float, run: Clocked) -> str:
    per_token = ms(1000 * seconds / run.written[-1])
    return view.text(f"race.hover_{name}", ms=per_token, share=percent_label(seconds / run.total))


def _parts(run: Clocked) -> tuple[tuple[str, float], ...]:
    """What the seconds went into."""
    return ("target", run.target), ("draft", run.draft), ("others", run.rest)


MARKS = {"target": "■", "draft": "▨", "others": "□"}


def _amounts(sheet: _Sheet, left: float, right: float, run: Clocked) -> tuple[list[float], list[Label]]:
    """Edges of the bar's segments, and a label for each that is there."""
    scale = (right - left) / max(each.per_token for _, _, each in sheet.runs) / run.written[-1]
    edges, labels = [left], []
    for name, seconds in _parts(run):
        edges.append(edges[-1] + scale * seconds)
        if seconds > 0:
            words = sheet.view.text(f"race.part.{name}", ms=ms(1000 * seconds / run.written[-1]))
            labels.append(((edges[-2] + edges[-1]) / 2, f"{MARKS[name]} {words}"))
    return edges, labels


def _placed(labels: Sequence[Label], left: float, right: float, gap: float = 10) -> list[list[Label]]:
    """Lines of labels, none over another: each near where it is wanted; what does not fit goes a line down."""
    widths = [text_px(words) for _, words in labels]
    if len(labels) > 1 and sum(widths) + gap * (len(labels) - 1) > right - left:
        return [*_placed(labels[:-1], left, right, gap), *_placed(labels[-1:], left, right, gap)]
    starts: list[float] = []
    for (center, _), width in zip(labels, widths, strict=True):
        starts.append(max(center - width / 2, starts[-1] + widths[len(starts) - 1] + gap if starts else left))
    end = right
    for i in reversed(range(len(starts))):
        starts[i] = min(starts[i], end - widths[i])
        end = starts[i] - gap
    return [[(s + w / 2, words) for s, w, (_, words) in zip(starts, widths, labels, strict=True)]]

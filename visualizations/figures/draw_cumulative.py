"""Drawing by a uniform number: the kept tokens end to end from 0 to 1, and the search for the one it hits.

All places are in px from the top left corner. The search's rows share the bar's scale, so that the
pin of u runs straight down through them; their words stand in a column at the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.trace import BinarySearchDraw, Candidate, DirectDraw, SampleStep
from visualizations.figures import base
from visualizations.figures.style import (
    BODY,
    SMALL,
    Figure,
    View,
    apart,
    literal,
    mix,
    number,
    percent_label,
    short,
    text_px,
    token_label,
    visible,
)

PIN, TOP, BOTTOM, LABELS, ROWS = 10, 24, 52, 65, 100
"""y of: u's label, the bar's top and bottom, the labels under it, the search's first row."""
MOST_SEGMENTS = 24
MOST_SCANNED = 6
"""Most tokens with a stretch of their own, and most rows of a scan."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the bar: one token (`candidate`) or, where that is None, several without a name."""

    low: float
    high: float
    candidate: Candidate | None
    chosen: bool = False


def segments(step: SampleStep, low: float, high: float) -> list[Segment]:
    """The bar's stretches in order: the likeliest tokens, the drawn one over [low, high), and the rest between."""
    kept = sorted((c for c in step.stages[-1].result.top if c.kept), key=lambda c: -c.prob)
    drawn = next((c for c in kept if c.token.id == step.token.id), None)
    others = [c for c in kept if c is not drawn][:MOST_SEGMENTS]
    made: list[Segment] = []
    total = 0.0
    while others and total + others[0].prob <= low + 1e-9:
        total = _add(made, total, others.pop(0))
    whole = low - total <= 1e-9
    if not whole:
        made.append(Segment(total, low, None))
    made.append(Segment(low, high, drawn, chosen=True))
    total = high
    while whole and others and total + others[0].prob <= 1 + 1e-9:
        total = _add(made, total, others.pop(0))
    if 1 - total > 1e-9:
        made.append(Segment(total, 1.0, None))
    return made


def _add(made: list[Segment], total: float, candidate: Candidate) -> float:
    made.append(Segment(total, total + candidate.prob, candidate))
    return total + candidate.prob


@dataclass(frozen=True, slots=True)
class Place:
    """The scale: `bar` px are probability 1; words of the rows start at `words`."""

    view: View
    bar: float

    @property
    def words(self) -> float:
        """x of the words beside the rows."""
        return self.bar + 12


def direct(step: SampleStep, draw: DirectDraw, view: View) -> Figure:
    """The scan: one row for each token looked at, its sum against u."""
    bar = segments(step, draw.low, draw.high)
    rows = _scan_rows(bar, draw)
    digits = apart(draw.uniform, draw.low, draw.high)
    place = _place(view, max(len(label) for label, _, _ in rows) + digits + 5)
    data = _bar(bar, view, place)
    paths, words = [], []
    for i, (label, high, passed) in enumerate(rows):
        y = ROWS + 20 * i
        paths.append(((0, y), (high * place.bar, y)))
        mark = f"{high:.{digits}f} {'✓' if passed else '→'}"
        words.append((place.words, y, literal(f"{label} {mark}")))
    data.append(base.lines(paths[:-1], mix(view.color("kept"), view.color("panel"), 0.45), 7))
    data.append(base.lines(paths[-1:], view.color("kept"), 7))
    data.append(base.texts(words, view.color("soft"), size=SMALL, mono=True))
    head = [(place.words, ROWS - 20, view.text("draw.sums"))]
    data.append(base.texts(head, view.color("soft"), size=SMALL))
    return _figure(data, draw.uniform, digits, ROWS + 20 * len(rows), view, place)


def _scan_rows(bar: Sequence[Segment], draw: DirectDraw) -> list[tuple[str, float, bool]]:
    """(label, sum, passed u) of the tokens scanned; a long scan keeps its ends."""
    scanned = [s for s in bar if s.high <= draw.low + 1e-9]
    named = [(_name(s), s.high, False) for s in scanned if s.candidate is not None]
    last = (_name(next(s for s in bar if s.chosen)), draw.high, True)
    if len(named) == draw.scanned - 1 and len(named) < MOST_SCANNED:
        return [*named, last]
    head = named[: min(MOST_SCANNED - 2, draw.scanned - 2)]
    skipped = draw.scanned - 1 - len(head)
    return [*head, (f"⋯ {number(skipped)}".ljust(7), draw.low, False), last]


def _name(segment: Segment) -> str:
    text = segment.candidate.token.text if segment.candidate is not None else ""
    return short(visible(text), 7).ljust(7)


def binary(step: SampleStep, draw: BinarySearchDraw, view: View) -> Figure:
    """The bisection: one row for each probe; what it throws away thins to a line."""
    digits = apart(draw.uniform, *(probe.cumulative for probe in draw.probes))
    rank = max((len(number(probe.index + 1)) for probe in draw.probes), default=1)
    place = _place(view, rank + digits + 5)
    data = _bar(segments(step, draw.low, draw.high), view, place)
    row = 20 if len(draw.probes) <= 9 else 16
    stay, gone, dots, words = [], [], [], []
    low, high = 0.0, 1.0
    for i, probe in enumerate(draw.probes):
        y, middle = ROWS + row * i, probe.cumulative
        keep, lose = ((low, middle), (middle, high)) if probe.went_left else ((middle, high), (low, middle))
        stay.append(((keep[0] * place.bar, y), (keep[1] * place.bar, y)))
        gone.append(((lose[0] * place.bar, y), (lose[1] * place.bar, y)))
        dots.append((middle * place.bar, y))
        arrow = "←" if probe.went_left else "→"
        words.append((place.words, y, f"{number(probe.index + 1):>{rank}} {middle:.{digits}f} {arrow}"))
        low, high = keep
    data.append(base.lines(gone, mix(view.color("soft"), view.color("panel"), 0.5), 1, "2px,2px"))
    data.append(base.lines(stay, mix(view.color("kept"), view.color("panel"), 0.45), 7))
    data.append(_dots(dots, view))
    data.append(base.texts(words, view.color("soft"), size=SMALL, mono=True))
    head = [(place.words, ROWS - 20, view.text("draw.probe_head"))] if draw.probes else []
    data.append(base.texts(head, view.color("soft"), size=SMALL))
    return _figure(data, draw.uniform, digits, ROWS + row * max(1, len(draw.probes)), view, place)


def _dots(points: Sequence[tuple[float, float]], view: View) -> base.Trace:
    marker = {"size": 8, "color": view.color("kept"), "line": {"width": 1.5, "color": view.color("panel")}}
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return {"type": "scatter", "mode": "markers", "x": xs, "y": ys, "marker": marker, "hoverinfo": "skip"}


def _place(view: View, columns: int) -> Place:
    """Room for so many monospaced columns of words beside the bar."""
    return Place(view, view.width - max(112, columns * SMALL * 0.61 + 14))


def _bar(bar: Sequence[Segment], view: View, place: Place) -> list[base.Trace]:
    named = [s for s in bar if s.candidate is not None and not s.chosen]
    parts = [_boxes([s for s in bar if s.chosen], view.color("kept"), place)]
    parts.append(_boxes(named, view.color("kept_soft"), place))
    parts.append(base.hatched(_boxes([s for s in bar if s.candidate is None], view.color("line"), place), view))
    return [_hover(bar, view, place), *parts, *_labels(bar, view, place)]


def _boxes(bar: Sequence[Segment], color: str, place: Place) -> base.Trace:
    """Stretches with a hair of room at their right, so that neighbours are seen apart."""
    widths = [max(0.75, (s.high - s.low) * place.bar - (1 if (s.high - s.low) * place.bar > 3 else 0)) for s in bar]
    trace = base.bars(widths, [(TOP + BOTTOM) / 2] * len(bar), color, BOTTOM - TOP, [s.low * place.bar for s in bar])
    trace["marker"]["cornerradius"] = 0
    return trace


def _hover(bar: Sequence[Segment], view: View, place: Place) -> base.Trace:
    edges = [0.0]
    hover: list[str] = []
    ids: list[int | None] = []
    for s in bar:
        edges.append(max(edges[-1] + 0.01, s.high * place.bar))
        name = view.text("draw.many") if s.candidate is None else f"<b>{token_label(s.candidate.token.text, 48)}</b>"
        values = {"low": f"{s.low:.4f}", "high": f"{s.high:.4f}", "prob": percent_label(s.high - s.low)}
        hover.append(name + "<br>" + view.text("draw.covers", **values))
        ids.append(None if s.candidate is None else s.candidate.token.id)
    return base.targets(edges, [TOP, BOTTOM], [hover], [ids])


def _labels(bar: Sequence[Segment], view: View, place: Place) -> list[base.Trace]:
    """Names under the bar where they fit; the drawn token's always."""
    chosen = next(s for s in bar if s.chosen)
    taken: list[tuple[float, float]] = []
    traces = []
    for group in ([chosen], [s for s in bar if not s.chosen and s.candidate is not None]):
        points = []
        for s in group:
            if s.candidate is None:
                continue
            label = short(visible(s.candidate.token.text), 12)
            half = text_px(label, SMALL, mono=True) / 2 + 3
            x = min(max((s.low + s.high) / 2 * place.bar, half), place.bar - half + 6)
            fits = s.chosen or 2 * half <= (s.high - s.low) * place.bar
            if fits and all(x + half <= a or x - half >= b for a, b in taken):
                taken.append((x - half, x + half))
                name = literal(label)
                points.append((x, LABELS, f"<b>{name}</b>" if s.chosen else name))
        traces.append(
            base.texts(points, view.color("ink" if group == [chosen] else "soft"), "middle center", SMALL, True)
        )
    return traces


def _figure(data: list[base.Trace], uniform: float, digits: int, high: float, view: View, place: Place) -> Figure:
    """Adds the pin of u, through the bar and, thinner, through the rows, and the ends 0 and 1 of the scale."""
    x = uniform * place.bar
    label = f"u = {uniform:.{digits}f}"
    half = text_px(label, BODY, mono=True) / 2
    ink = view.color("ink")
    data.append(base.lines([((x, PIN + 9), (x, BOTTOM + 3))], ink, 2))
    data.append(base.lines([((x, ROWS - 12), (x, high - 8))], ink, 1, "2px,3px"))
    center = min(max(x, half), view.width - half)
    data.append(base.texts([(center, PIN, label)], ink, "middle center", BODY, mono=True))
    ends = [(at, PIN + 4, name, side) for at, name, side in ((0, "0", "right"), (place.bar, "1", "left"))]
    for at, y, name, side in ends:
        if abs(at - center) > half + 16:
            data.append(base.texts([(at, y, name)], view.color("soft"), f"middle {side}", SMALL))
    high = max(high, 150)
    return base.figure(data, base.layout(view, high, xaxis=base.axis(0, view.width), yaxis=base.axis(high, 0)))

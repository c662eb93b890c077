"""Speed-up and tokens per pass for every gamma, and acceptance by position: three charts with places in px."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from decoding.speculative.values import GammaSweep, Race
from visualizations.figures import base
from visualizations.figures.spec_align_words import told
from visualizations.figures.spec_sweep_words import best, predicted
from visualizations.figures.style import SMALL, Figure, View, number, spread, text_px

HEAD, STRIP, LINE, ROW, AXIS, GAP = 22, 22, 16, 18, 40, 22
"""Heights in px: a heading; the strip above a chart for its best value; a label; a bar; the axis; between charts."""
TALL = 28
"""Height of a bar where there are few, px."""
SPEED, TAU = 150, 84
"""Heights of the two plots without their strips, px."""
TICKS = 48
"""Room for the numbers at the left, px."""
SIDE = 640
"""From this width on the bars stand beside the curves."""
STEPS = (0.5, 1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class _Plot:
    """One chart over gamma: its box in px without the strip above, and the value at its upper edge."""

    view: View
    gammas: Sequence[int]
    left: float
    wide: float
    top: float
    high: float
    most: float

    def x(self, gamma: float) -> float:
        first, last = self.gammas[0] - 0.6, self.gammas[-1] + 0.6
        return self.left + (gamma - first) / (last - first) * self.wide

    def y(self, value: float) -> float:
        return self.top + self.high * (1 - value / self.most)

    @property
    def bottom(self) -> float:
        return self.top + self.high

    @property
    def right(self) -> float:
        return self.left + self.wide


def sweep(found: GammaSweep, view: View) -> Figure:
    """Curves over gamma at the left, bars at the right; on a phone one below the other."""
    beside = view.width >= SIDE
    wide = view.width * 0.6 if beside else view.width
    data, height = _curves(found, view, wide)
    left, top = (wide + 28, 0.0) if beside else (0.0, height + GAP)
    row = (height - HEAD) / max(1, len(found.places)) if beside else ROW
    bars, bottom = _places(found, view, left, top, min(max(ROW, row), TALL))
    height = max(height, bottom)
    frame = base.layout(view, height, xaxis=base.axis(0, view.width), yaxis=base.axis(height, 0))
    return base.figure(data + bars, frame)


def _curves(found: GammaSweep, view: View, wide: float) -> tuple[list[base.Trace], float]:
    """The charts over gamma, and the height they take."""
    timed = found.target_times is not None
    names = _names(view, wide) if timed else {}
    room = max((text_px(name, SMALL) for name in names.values()), default=0.0) + 14
    gammas = [race.gamma for race in found.races]
    box = {"view": view, "gammas": gammas, "left": TICKS, "wide": max(40.0, wide - TICKS - room)}
    data: list[base.Trace] = []
    y = 0.0
    if timed:
        line = _line(found)
        most = 1.04 * max(1.0, *(race.speedup for race in found.races), *(value for _, value in line))
        plot = _Plot(**box, top=HEAD + STRIP, high=SPEED, most=most)  # type: ignore[arg-type]
        data += _speeds(found, plot, line, names)
        y = plot.bottom + GAP
    high = TAU if timed else SPEED
    most = 1.04 * max(race.counts.tau for race in found.races)
    plot = _Plot(**box, top=y + HEAD + STRIP, high=high, most=max(most, 1.04))  # type: ignore[arg-type]
    data += [*_taus(found, plot), *_axis(plot)]
    data.insert(0, _hover(found, plot))
    return data, plot.bottom + AXIS


def _names(view: View, wide: float) -> dict[str, str]:
    """What the lines are called at their ends."""
    plain = "sweep.name_plain" if wide >= 520 else "sweep.name_plain_short"
    return {
        "measured": view.text("sweep.name_measured"),
        "predicted": view.text("sweep.name_predicted"),
        "plain": view.text(plain),
    }


def _line(found: GammaSweep) -> list[tuple[int, float]]:
    """The speed-up predicted for each gamma; nothing where no draft was judged."""
    values = [(race.gamma, predicted(found, race)) for race in found.races]
    return [(gamma, value) for gamma, value in values if value is not None]


def _speeds(
    found: GammaSweep, plot: _Plot, line: Sequence[tuple[int, float]], names: dict[str, str]
) -> list[base.Trace]:
    """Measured as points, predicted as a dashed line, plain decoding as a rule at 1; each named at its end."""
    view, races = plot.view, found.races
    points = [(plot.x(race.gamma), plot.y(race.speedup)) for race in races]
    dashes = [(plot.x(gamma), plot.y(value)) for gamma, value in line]
    ends = {"measured": points[-1][1], "plain": plot.y(1), **({"predicted": dashes[-1][1]} if dashes else {})}
    colors = {"measured": "kept", "plain": "ink", "predicted": "soft"}
    order = sorted(ends, key=ends.__getitem__)
    places = spread([ends[name] for name in order], LINE, plot.top, plot.bottom)
    labels = [(plot.right + 6, y, names[name]) for name, y in zip(order, places, strict=True)]
    head = _fitting(view, plot.right, "sweep.head_speedup", "sweep.head_speedup_short")
    top = best(found)
    label = view.text("sweep.best", gamma=top.gamma, value=told(top.speedup))
    return [
        *_ground(plot, head, lambda value: view.text("sweep.times", value=f"{value:g}")),
        base.lines([[(plot.left, plot.y(1)), (plot.right, plot.y(1))]], view.color("ink"), 1),
        base.lines([dashes], view.color("soft"), 2, "5px,4px"),
        _dots(plot, points, [race.gamma == top.gamma for race in races]),
        base.texts(labels, [view.color(colors[name]) for name in order], size=SMALL),
        *_marked(plot, top.gamma, top.speedup, label),
    ]


def _taus(found: GammaSweep, plot: _Plot) -> list[base.Trace]:
    """Tokens per pass of the target, measured."""
    view, top = plot.view, best(found)
    points = [(plot.x(race.gamma), plot.y(race.counts.tau)) for race in found.races]
    head = _fitting(view, plot.right, "sweep.head_tau", "sweep.head_tau_short")
    label = view.text("sweep.best_tau", gamma=top.gamma, value=told(top.counts.tau))
    return [
        *_ground(plot, head, lambda value: f"{value:g}"),
        base.lines([points], view.color("kept"), 1.5),
        _dots(plot, points, [race.gamma == top.gamma for race in found.races]),
        *_marked(plot, top.gamma, top.counts.tau, label),
    ]


def _ground(plot: _Plot, head: str, tick: Callable[[float], str]) -> list[base.Trace]:
    """The heading, a few values at the left with hairs, and the base line."""
    view = plot.view
    step = next(step for step in (*STEPS, plot.most) if plot.most / step <= 4.5)
    values = [step * i for i in range(int(plot.most / step) + 1)]
    hairs = [[(plot.left, plot.y(value)), (plot.right, plot.y(value))] for value in values]
    numbers = [(plot.left - 6, plot.y(value), tick(value)) for value in values]
    return [
        base.texts([(0, plot.top - STRIP - HEAD / 2, head)], view.color("soft"), size=SMALL),
        base.lines(hairs, view.color("line"), 1),
        base.texts(numbers, view.color("soft"), "middle left", SMALL),
    ]


def _dots(plot: _Plot, points: Sequence[tuple[float, float]], marked: Sequence[bool]) -> base.Trace:
    """A point for each gamma; the best is a larger diamond."""
    view = plot.view
    marker = {
        "color": view.color("kept"),
        "size": [13 if best else 7 for best in marked],
        "symbol": ["diamond" if best else "circle" for best in marked],
        "opacity": 1,
        "line": {"width": 1.5, "color": view.color("panel")},
    }
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return {"type": "scatter", "mode": "markers", "x": xs, "y": ys, "marker": marker, "hoverinfo": "skip"}


def _marked(plot: _Plot, gamma: int, value: float, words: str) -> list[base.Trace]:
    """The best value in the strip above the chart, with a hair down to its point."""
    view, half = plot.view, text_px(words, SMALL) / 2
    x, y = plot.x(gamma), plot.top - STRIP / 2
    center = max(min(x, plot.right - half + 6), plot.left + half)  # beside the numbers of the scale, not over them
    hair = [[(x, y + 8), (x, plot.y(value) - 7)]] if plot.y(value) - 7 > y + 8 else []
    return [
        base.lines(hair, view.color("kept"), 1),
        base.texts([(center, y, f"<b>{words}</b>")], view.color("kept"), "middle center", SMALL),
    ]


def _axis(plot: _Plot) -> list[base.Trace]:
    """Gammas under the lowest chart, as many as there is room for."""
    view = plot.view
    pitch = plot.x(plot.gammas[-1]) - plot.x(plot.gammas[0])
    every = next(n for n in (1, 2, 4, 8, 16) if n * pitch / max(1, len(plot.gammas) - 1) >= 20 or n == 16)
    shown = [gamma for gamma in plot.gammas if every == 1 or gamma == plot.gammas[0] or gamma % every == 0]
    if every > 1 and len(shown) > 1 and plot.x(shown[1]) - plot.x(shown[0]) < 16:
        del shown[1]
    ticks = [(plot.x(gamma), plot.bottom + 11, str(gamma)) for gamma in shown]
    words = view.text("sweep.axis")
    x = max((plot.left + plot.right) / 2, text_px(words, SMALL) / 2)
    return [
        base.lines([[(plot.left, plot.bottom), (plot.right, plot.bottom)]], view.color("soft"), 1),
        base.texts(ticks, view.color("soft"), "middle center", SMALL),
        base.texts([(x, plot.bottom + 29, words)], view.color("soft"), "middle center", SMALL),
    ]


def _hover(found: GammaSweep, plot: _Plot) -> base.Trace:
    """A column for each gamma, over all charts."""
    gammas = plot.gammas
    middles = [(plot.x(a) + plot.x(b)) / 2 for a, b in pairwise(gammas)]
    words = [_said(found, race, plot.view) for race in found.races]
    edges = [plot.left, *middles, plot.right]
    return base.targets(edges, [0, plot.bottom], [words], [[None] * len(words)])


def _said(found: GammaSweep, race: Race, view: View) -> str:
    said = [view.text("sweep.hover", gamma=race.gamma, tau=told(race.counts.tau))]
    if found.target_times is not None:
        said.append(view.text("sweep.hover_measured", value=told(race.speedup)))
        value = predicted(found, race)
        if value is not None:
            said.append(view.text("sweep.hover_predicted", value=told(value)))
    return "<br>".join(said)


def _places(found: GammaSweep, view: View, left: float, top: float, row: float) -> tuple[list[base.Trace], float]:
    """Of the drafts judged at each position, the share accepted; and where the chart ends."""
    places, text = found.places, view.text
    if not places:
        return [], top
    words = [text("sweep.place", share=told(p.share or 0.0), judged=number(p.judged)) for p in places]
    room = max(text_px(each, SMALL, mono=True) for each in words) + 8
    x, width = left + 24, max(30.0, view.width - left - 24 - room)
    ys = [top + HEAD + 4 + row * i + row / 2 for i in range(len(places))]
    end = ys[-1] + row / 2
    shares = [place.share or 0.0 for place in places]
    head = _fitting(view, view.width - left, "sweep.head_places", "sweep.head_places_short")
    hover = [
        [text("sweep.place_hover", place=i + 1, judged=number(p.judged), accepted=number(p.accepted))]
        for i, p in enumerate(places)
    ]
    edges = [y - row / 2 for y in ys] + [end]
    tracks = [((x + share * width, y), (x + width, y)) for share, y in zip(shares, ys, strict=True)]
    return [
        base.targets([left, view.width], edges, hover, [[None]] * len(places)),
        base.texts([(left, top + HEAD / 2, head)], view.color("soft"), size=SMALL),
        base.lines(tracks, view.color("line"), 1),
        base.bars([share * width for share in shares], ys, view.color("kept"), row - 7, base=x),
        base.texts([(x - 6, y, str(i + 1)) for i, y in enumerate(ys)], view.color("soft"), "middle left", SMALL),
        base.texts(
            [(view.width - 2, y, word) for y, word in zip(ys, words, strict=True)],
            view.color("ink"),
            "middle left",
            SMALL,
            mono=True,
        ),
    ], end + 6


def _fitting(view: View, room: float, long: str, short: str) -> str:
    """The longer words where they fit."""
    words = view.text(long)
    return words if text_px(words, SMALL) <= room else view.text(short)

"""When the first clock rings, whoever wins: counted over the exact law, and the mean for each winner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from decoding.experiments.values import Bins, Race
from visualizations.figures import base
from visualizations.figures.lab_marks import Box, blocks, columns, item, made, marks
from visualizations.figures.style import SMALL, Figure, View, decimal, number, percent_label, text_px
from visualizations.figures.words import Caption, caption

What = Literal["first", "best"]

HEAD, TALL, TICKS, ROW = 44, 150, 34, 20
"""Room above, height of the histogram, room for the axis below it, and height of a winner's row, px."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Times (or scores) from `low` to `high` between `left` and `right`, px."""

    left: float
    right: float
    low: float
    high: float

    def x(self, value: float) -> float:
        """The px of a time."""
        return self.left + (value - self.low) / (self.high - self.low) * (self.right - self.left)


def lab_race_first(race: Race, view: View, what: What = "first") -> Figure:
    """`first`: the times of the first arrivals over Exp(W); `best`: the highest scores over Gumbel noise + ln W."""
    bins = race.first_times if what == "first" else race.best_scores
    winners = [i for i, mean in enumerate(race.mean_times) if mean is not None] if what == "first" else []
    left = 14 + columns(race.wins.law, 10 if view.narrow else 15, view) * SMALL * 0.61 if winners else 10.0
    scale = Scale(left, view.width - 14, bins.edges[0], bins.edges[-1])
    centre = 1 / race.total if what == "first" else math.log(race.total) + EULER
    bottom = HEAD + TALL + TICKS + (24 + ROW * len(winners) if winners else 16)
    data = [*_histogram(race, bins, scale, view), *_axis(scale, view, what)]
    data += _centre(race, centre, scale, bottom if winners else HEAD + TALL, view, what)
    data += _winners(race, winners, scale, view)
    return made(data, view, bottom)


EULER = 0.5772156649015329
"""The mean of standard Gumbel noise."""


def _histogram(race: Race, bins: Bins, scale: Scale, view: View) -> list[base.Trace]:
    """Bars as many races as ended in each bin; a stepped line where the law is."""
    draws = race.wins.draws
    wide = [b - a for a, b in zip(bins.edges, bins.edges[1:], strict=False)]
    dense = [count / draws / w for count, w in zip(bins.counts, wide, strict=True)]
    exact = [prob / w for prob, w in zip(bins.exact, wide, strict=True)]
    unit = TALL / max(*dense, *exact, 1e-12)
    floor = HEAD + TALL
    boxes: list[Box] = []
    steps: list[tuple[float, float]] = []
    hover = []
    for j, count in enumerate(bins.counts):
        x0, x1 = scale.x(bins.edges[j]), scale.x(bins.edges[j + 1])
        boxes.append((x0, floor - unit * dense[j], max(x0 + 0.5, x1 - 1), floor))
        steps += [(x0, floor - unit * exact[j]), (x1, floor - unit * exact[j])]
        words = {"low": decimal(bins.edges[j]), "high": decimal(bins.edges[j + 1]), "count": number(count)}
        words |= {"share": percent_label(count / draws), "exact": percent_label(bins.exact[j])}
        hover.append(view.text("lab.first.hover", **words))
    return [
        base.targets([scale.x(e) for e in bins.edges], [HEAD, floor], [hover], [list(range(len(hover)))]),
        blocks(boxes, view.color("kept")),
        base.lines([steps], view.color("ink"), 2),
    ]


def ticks(low: float, high: float) -> list[float]:
    """A few round numbers between the two."""
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    step = next(step * m for m in (0.5, 1, 2, 5) if (high - low) / (step * m) <= 6)
    return [step * i for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _axis(scale: Scale, view: View, what: What) -> list[base.Trace]:
    """A line, a few numbers, and what they are."""
    floor, color = HEAD + TALL, view.color("soft")
    places = ticks(scale.low, scale.high)
    title = view.text("lab.first.time" if what == "first" else "lab.first.score")
    digits = 0 if all(v == round(v) for v in places) else 2 if any(round(v, 1) != round(v, 9) for v in places) else 1
    numbers = [(scale.x(v), floor + 14, decimal(v, digits)) for v in places]
    room = scale.right - text_px(title, SMALL) - 8
    numbers = [n for n in numbers if n[0] + text_px(n[2], SMALL) / 2 < room]
    return [
        base.lines([((scale.left, floor), (scale.right, floor))], view.color("line"), 1),
        base.lines([((x, floor), (x, floor + 4)) for x, _, _ in numbers], view.color("line"), 1),
        base.texts(numbers, color, "middle center", SMALL),
        base.texts([(scale.right, floor + 14, title)], color, "middle left", SMALL),
    ]


def _centre(race: Race, centre: float, scale: Scale, bottom: float, view: View, what: What) -> list[base.Trace]:
    """The exact mean as a line through everything, named above; and what bars and steps are."""
    x = scale.x(centre)
    first = what == "first"
    mean = view.text("lab.first.mean" if first else "lab.first.mean_score", mean=decimal(centre, 3 if first else 2))
    half = text_px(mean, SMALL) / 2
    drawn = view.text("lab.first.races", count=number(race.wins.draws))
    rate = f"{race.total:g}" if first else decimal(math.log(race.total))
    exact = view.text("lab.first.exact" if first else "lab.first.exact_score", rate=rate)
    return [
        base.lines(_through(x, bottom), view.color("ink"), 1, "2px,3px"),
        base.texts(
            [(min(max(x, half), view.width - half), HEAD - 14, mean)], view.color("ink"), "middle center", SMALL
        ),
        base.texts([(0, 9, drawn)], view.color("kept"), size=SMALL),
        base.texts([(text_px(drawn, SMALL) + 16, 9, exact)], view.color("ink"), size=SMALL),
    ]


def _through(x: float, bottom: float) -> list[Sequence[tuple[float, float]]]:
    """Down the histogram, and, past the words between, down the winners' rows."""
    floor = HEAD + TALL
    rows = floor + TICKS + 14
    return [((x, HEAD - 4), (x, floor)), *([((x, rows), (x, bottom - 4))] if bottom > rows else [])]


def _winners(race: Race, winners: Sequence[int], scale: Scale, view: View) -> list[base.Trace]:
    """A row for each item that won: the mean time of the races it won."""
    top = HEAD + TALL + TICKS + 14
    names, dots = [], []
    for place, i in enumerate(winners):
        y, mean = top + ROW * (place + 0.5), race.mean_times[i]
        names.append((scale.left - 12, y, item(race.wins.law, i, 10 if view.narrow else 15, view)))
        dots.append((scale.x(min(mean or 0.0, scale.high)), y))
    tracks = [((scale.left, y), (scale.right, y)) for _, y in dots]
    head = [(scale.left, top - 8, view.text("lab.first.by_winner"))] if winners else []
    return [
        base.lines(tracks, view.color("line"), 1),
        marks(dots, "diamond", view.color("ink"), 10),
        base.texts(names, view.color("ink"), "middle left", SMALL, mono=True),
        base.texts(head, view.color("soft"), size=SMALL),
    ]


def lab_race_first_caption(race: Race, view: View, what: What = "first") -> Caption:
    """The mean time of the races that each of two items won, then the law."""
    if what == "best":
        parts = [view.text("lab.first.best_now", shift=decimal(math.log(race.total)), total=f"{race.total:g}")]
        return caption(view.text("lab.first.best_title"), [*parts, view.text("lab.first.best_why")], view)
    means = [mean for mean in race.mean_times if mean is not None]
    values = {"low": decimal(min(means), 3), "high": decimal(max(means), 3), "mean": decimal(1 / race.total, 3)}
    parts = [view.text("lab.first.now", **values), view.text("lab.first.why", total=f"{race.total:g}")]
    return caption(view.text("lab.first.title"), parts, view)

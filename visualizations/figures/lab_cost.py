"""What n draws from k items cost with each algorithm: operations counted, or seconds measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from decoding.experiments.cost_values import CostCurve, CostPoint, CostTable
from visualizations.figures import base
from visualizations.figures import lab_loglog as loglog
from visualizations.figures.lab_marks import sampler_name
from visualizations.figures.style import SANS, SMALL, Figure, View, number, text_px
from visualizations.figures.words import Caption, caption, spaced

Against = Literal["k", "n"]
What = Literal["operations", "seconds"]

AREA = 280
"""Height of the plot area, px."""
STRIP, GAP, ABOVE = 20, 34, 80
"""Height of the strip of the cheapest, its distance from the plot area, and all room above that, px."""
UNITS = (("s", 0), ("ms", -3), ("µs", -6), ("ns", -9))


def lab_cost(table: CostTable, view: View, against: Against = "n", what: What = "operations") -> Figure:
    """One curve an algorithm on logarithmic axes, the line of its bound, and a strip that says which is cheapest."""
    curves = shown(table, against, what)
    named = [_named(curve, view, against, what) for curve in curves]
    theory = [_theory(curve, against, what) for curve in curves if curve.theory]
    xs = loglog.padded([x for each in named for x in each.xs], 0.02)
    ys = loglog.padded([y for each in [*named, *theory] for y in each.ys])
    plot = loglog.Plot(view, named, AREA, xs, ys, ABOVE)
    frame = loglog.layout(
        plot, _x_title(table, against, view), loglog.decade if what == "operations" else seconds_decade
    )
    strips, words = _strip(cheapest(curves, what), [_size(p, against) for p in curves[0].points], plot)
    head = view.text("lab.cost.least_operations" if what == "operations" else "lab.cost.least_seconds")
    y_title = view.text("lab.cost.operations" if what == "operations" else "lab.cost.seconds")
    frame["shapes"] = strips
    frame["annotations"] = [
        {**_note(head, 0, "left", GAP + STRIP / 2, view, "soft", "middle"), "xshift": -loglog.LEFT},
        loglog.heading(view, y_title),
        *words,
    ]
    lines = [loglog.line(each, view) for each in [*theory, *named]]
    return base.figure([*lines, *loglog.names(plot)], frame)


def shown(table: CostTable, against: Against, what: What) -> list[CostCurve]:
    """The curves that have values: operations of a closed call cannot be counted."""
    curves = table.against_items if against == "k" else table.against_draws
    return [curve for curve in curves if all(cost(point, what) is not None for point in curve.points)]


def cost(point: CostPoint, what: What) -> float | None:
    """Operations or seconds of a point; None where they were not counted."""
    return point.operations if what == "operations" else point.seconds


def algorithm_name(algorithm: str, view: View) -> str:
    """The sampler's name; that of the table built by sorting first."""
    return view.text("lab.cost.alias_sorted") if algorithm == "alias_sorted" else sampler_name(algorithm, view)


def bound(curve: CostCurve) -> str:
    """`O(k + n log k)`; nothing where there is no theory."""
    return f"O({curve.bound.replace('log2', 'log')})" if curve.bound else ""


def _size(point: CostPoint, against: Against) -> int:
    return point.items if against == "k" else point.draws


def _named(curve: CostCurve, view: View, against: Against, what: What) -> loglog.Named:
    name = algorithm_name(curve.algorithm, view)
    hover = []
    for point in curve.points:
        value = cost(point, what)
        said = _amount(value, what, view)
        hover.append(f"{name}<br>k = {number(point.items)}, n = {number(point.draws)}<br>{said}")
    xs = [_size(point, against) for point in curve.points]
    lines = [name, *([bound(curve)] if curve.bound else [])]
    return loglog.Named(xs, [cost(point, what) for point in curve.points], lines, hover, curve.algorithm)


def _theory(curve: CostCurve, against: Against, what: What) -> loglog.Named:
    scale = 1.0 if what == "operations" else curve.seconds_constant / curve.constant
    xs = [_size(point, against) for point in curve.points]
    said = bound(curve)
    return loglog.Named(xs, [scale * value for value in curve.theory], [said], [said] * len(xs))


def _x_title(table: CostTable, against: Against, view: View) -> str:
    if against == "k":
        return view.text("lab.cost.x_items", n=number(table.fixed_draws))
    return view.text("lab.cost.x_draws", k=number(table.fixed_items))


def seconds_decade(power: int) -> str:
    """100 s, 1 ms, 10 µs"""
    unit, exponent = next(((unit, e) for unit, e in UNITS if power >= e), UNITS[-1])
    return f"{10 ** (power - exponent):g} {unit}"


def seconds(value: float) -> str:
    """1.23 s, 45.6 ms, 789 µs"""
    unit, exponent = next(((unit, e) for unit, e in UNITS if value >= 10.0**e), UNITS[-1])
    return f"{value / 10.0**exponent:.3g} {unit}"


def _amount(value: float | None, what: What, view: View) -> str:
    if what == "seconds":
        return seconds(value or 0.0)
    return view.text("lab.cost.count", count=number(round(value or 0)))


# --- the strip -------------------------------------------------------------------------------------


REFERENCE = ("alias_sorted", "multinomial")
"""Drawn, but not compared: the table as nobody should build it, and a closed call."""


def cheapest(curves: Sequence[CostCurve], what: What) -> list[str]:
    """The sampler with the least cost at each point."""
    found = []
    curves = [curve for curve in curves if curve.algorithm not in REFERENCE]
    for j in range(len(curves[0].points)):
        costs = {curve.algorithm: cost(curve.points[j], what) for curve in curves}
        found.append(min(costs, key=lambda name: costs[name] or 0))
    return found


def stretches(best: Sequence[str], sizes: Sequence[int], ends: tuple[float, float]) -> list[tuple[str, float, float]]:
    """(algorithm, from, to): borders lie midway, in the logarithm, between the points where the cheapest changes."""
    made: list[tuple[str, float, float]] = []
    low = ends[0]
    for j, name in enumerate(best):
        last = j == len(best) - 1
        if last or best[j + 1] != name:
            high = ends[1] if last else math.sqrt(sizes[j] * sizes[j + 1])
            made.append((name, low, high))
            low = high
    return made


def _strip(
    best: Sequence[str], sizes: Sequence[int], plot: loglog.Plot
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Boxes over the plot area, named inside where there is room, else above, with a hair."""
    view, share = plot.view, plot.wide / (plot.wide + plot.right)
    boxes, words = [], []
    taken = 0.0
    for name, low, high in stretches(best, sizes, plot.x):
        x0, x1 = (plot.wide * math.log(x / plot.x[0]) / math.log(plot.x[1] / plot.x[0]) for x in (low, high))
        boxes.append(_shape(plot, x0, x1 - 2, GAP, GAP + STRIP, {"fillcolor": view.color("kept_soft")}))
        label, middle = algorithm_name(name, view), (x0 + x1) / 2
        room = text_px(label, SMALL)
        if room + 4 <= x1 - x0:
            words.append(_note(label, middle / plot.wide * share, "center", GAP + STRIP / 2, view, "ink", "middle"))
        elif max(taken, x0) + room <= plot.wide + plot.right:
            left = max(taken, x0)
            taken = left + room + 10
            words.append(_note(label, left / plot.wide * share, "left", GAP + STRIP + 5, view, "ink", "bottom"))
            boxes.append(
                _shape(
                    plot, middle - 0.5, middle + 0.5, GAP + STRIP, GAP + STRIP + 7, {"fillcolor": view.color("soft")}
                )
            )
    return boxes, words


def _shape(plot: loglog.Plot, x0: float, x1: float, low: float, high: float, more: dict[str, Any]) -> dict[str, Any]:
    """A box from `low` to `high` px above the plot area."""
    whole = plot.wide + plot.right
    where = {"xref": "paper", "x0": x0 / whole, "x1": x1 / whole, "yref": "paper", "ysizemode": "pixel", "yanchor": 1}
    return {"type": "rect", **where, "y0": low, "y1": high, "line": {"width": 0}, "layer": "below", **more}


def _note(text: str, x: float, anchor: str, up: float, view: View, color: str, at: str) -> dict[str, Any]:
    """A text so many px above the plot area."""
    font = {"family": SANS, "size": SMALL, "color": view.color(color)}
    where = {"xref": "paper", "x": x, "xanchor": anchor, "yref": "paper", "y": 1, "yanchor": at}
    return {"text": text, "font": font, "showarrow": False, **where, "yshift": up}


def lab_cost_caption(table: CostTable, view: View, against: Against = "n", what: What = "operations") -> Caption:
    """What the smallest and the largest size cost, and with which algorithm least; then why."""
    curves = shown(table, against, what)
    best = cheapest(curves, what)
    ends = [_end(curves, j, best[j], what, view) for j in ((0, -1) if best[0] != best[-1] else (-1,))]
    others = [c for c in curves if c.algorithm not in (best[-1], *REFERENCE)]
    worst = max(others, key=lambda c: cost(c.points[-1], what) or 0)
    least = next(c for c in curves if c.algorithm == best[-1])
    ratio = (cost(worst.points[-1], what) or 0) / (cost(least.points[-1], what) or 1)
    times = {"worst": algorithm_name(worst.algorithm, view), "ratio": number(round(ratio))}
    parts = [*ends, view.text("lab.cost.worst", **times)]
    if what == "seconds":
        parts += [
            _reference(curves, view),
            view.text("lab.cost.why_seconds"),
            view.text("lab.cost.machine", machine=table.machine),
        ]
    else:
        parts.append(view.text("lab.cost.why"))
    return caption(_title(against, what, view), [spaced(part) for part in parts], view)


def _reference(curves: Sequence[CostCurve], view: View) -> str:
    found = [seconds(c.points[-1].seconds) for c in curves if c.algorithm == "multinomial"]
    return view.text("lab.cost.reference", cost=found[0]) if found else ""


def _end(curves: Sequence[CostCurve], j: int, name: str, what: What, view: View) -> str:
    point = next(curve for curve in curves if curve.algorithm == name).points[j]
    values = {"name": algorithm_name(name, view), "cost": _amount(cost(point, what), what, view)}
    values |= {"k": number(point.items), "n": number(point.draws)}
    return view.text("lab.cost.end_one" if point.draws == 1 else "lab.cost.end", **values)


def _title(against: Against, what: What, view: View) -> str:
    if what == "operations":
        key = "lab.cost.title_ops_items" if against == "k" else "lab.cost.title_ops_draws"
    else:
        key = "lab.cost.title_time_items" if against == "k" else "lab.cost.title_time_draws"
    return view.text(key)

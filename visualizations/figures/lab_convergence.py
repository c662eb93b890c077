"""How far the counts are from the exact law, against the number of draws, for each sampler."""

from __future__ import annotations

from decoding.experiments.values import Convergence
from visualizations.figures import base
from visualizations.figures import lab_loglog as loglog
from visualizations.figures.lab_marks import sampler_name
from visualizations.figures.style import Figure, View, number, percent, percent_label
from visualizations.figures.words import Caption, caption, list_of

AREA = 246
"""Height of the plot area, px."""


def lab_convergence(convergence: Convergence, view: View) -> Figure:
    """Total variation against n on logarithmic axes, over the line that is expected."""
    named = _named(convergence, view)
    values = [y for each in named for y in each.ys]
    plot = loglog.Plot(view, named, AREA, loglog.padded(convergence.draws, 0.02), loglog.padded(values), top=30)
    frame = loglog.layout(plot, view.text("lab.convergence.x"), percent_decade)
    frame["annotations"] = [loglog.heading(view, view.text("lab.convergence.y"))]
    return base.figure([*(loglog.line(each, view) for each in named), *loglog.names(plot)], frame)


def percent_decade(power: int) -> str:
    """100 %, 10 %, ..., 0.001 %"""
    return f"{10.0 ** (power + 2):.{max(0, -power - 2)}f} %"


def _named(convergence: Convergence, view: View) -> list[loglog.Named]:
    draws = convergence.draws
    expected = view.text("lab.convergence.expected", constant=f"{convergence.constant:.2f}")
    hover = _hover(convergence, convergence.expected, view)
    made = [loglog.Named(draws, convergence.expected, [expected], hover, strong=True)]
    marked = [str(n).strip("0") == "1" or n == draws[-1] for n in draws]
    for curve in convergence.curves:
        hover = _hover(convergence, curve.total_variation, view)
        name = sampler_name(curve.sampler, view)
        made.append(loglog.Named(draws, curve.total_variation, [name], hover, curve.sampler, marked=marked))
    return made


def _hover(convergence: Convergence, values: tuple[float, ...], view: View) -> list[str]:
    pairs = zip(convergence.draws, values, strict=True)
    return [view.text("lab.convergence.hover", n=number(n), distance=percent_label(v)) for n, v in pairs]


def _alike(convergence: Convergence, view: View) -> str:
    """The samplers whose draws are the same, one by one, since they invert the same sums with the same uniforms."""
    curves = convergence.curves
    groups = [[c for c in curves if c.total_variation == first.total_variation] for first in curves]
    same = max(groups, key=len, default=[])
    if len(same) < 2:
        return ""
    return view.text("lab.convergence.same", samplers=list_of([sampler_name(c.sampler, view) for c in same], view))


def lab_convergence_caption(convergence: Convergence, view: View) -> Caption:
    """Where each sampler ended, then the rule that all obey."""
    last = number(convergence.draws[-1])
    ends = [
        view.text(
            "lab.convergence.one",
            sampler=sampler_name(curve.sampler, view),
            distance=percent(curve.total_variation[-1]),
        )
        for curve in convergence.curves
    ]
    values = {"n": last, "ends": list_of(ends, view), "expected": percent(convergence.expected[-1])}
    parts = [view.text("lab.convergence.now", **values), _alike(convergence, view), view.text("lab.convergence.why")]
    return caption(view.text("lab.convergence.title"), parts, view)

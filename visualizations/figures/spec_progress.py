"""How much text so many passes of the target gave, beside decoding without drafts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from decoding.speculative.counts import counts
from decoding.trace import SpeculativeStep
from visualizations.figures import base
from visualizations.figures.style import SMALL, Figure, View, literal, number, text_px
from visualizations.figures.words import Caption, caption

HEIGHT, TOP, BOTTOM, LEFT = 216, 4, 40, 34
MOST_DOTS = 24
"""Most rounds whose points are marked."""


def progress(steps: Sequence[SpeculativeStep], view: View, total: int) -> Figure:
    """Tokens written against passes of the target; the scale is that of the whole run, of `total` rounds."""
    written = list(accumulate((len(step.emitted) for step in steps), initial=0))
    passes = max(1, total)
    high = max(written[-1], passes, 2)
    ends = (view.text("spec.line_drafts", tokens=number(written[-1])), view.text("spec.line_plain", tokens=len(steps)))
    room = max(text_px(words, SMALL) for words in ends) + 14
    scale = passes / max(40.0, view.width - LEFT - room)
    right = passes + room * scale
    data = [
        base.lines([[(0, 0), (len(steps), len(steps))]], view.color("soft"), 2, "4px,3px"),
        base.lines([list(enumerate(written))], view.color("kept"), 2.5),
    ]
    if len(steps) <= MOST_DOTS:
        data.append(_dots(list(enumerate(written)), view))
    data.append(_hover(written, view))
    x, gap = len(steps) + 8 * scale, high * 19 / (HEIGHT - TOP - BOTTOM)
    upper = max(written[-1], len(steps) + gap)
    data.append(base.texts([(x, upper, literal(ends[0]))], view.color("kept"), size=SMALL))
    data.append(base.texts([(x, len(steps), literal(ends[1]))], view.color("soft"), size=SMALL))
    data.append(
        base.texts([(0, high * 1.0 + gap * 0.9, view.text("spec.axis_tokens"))], view.color("soft"), size=SMALL)
    )
    frame = base.layout(view, HEIGHT)
    frame["margin"] = {"l": LEFT, "r": 0, "t": TOP, "b": BOTTOM, "pad": 0}
    title = {"text": view.text("spec.axis_passes"), "standoff": 4, "font": {"size": SMALL, "color": view.color("soft")}}
    ticks = {"tickmode": "array", "tickvals": places(passes), "title": title}
    frame["xaxis"] = base.ruled(view, -0.02 * passes, right, **ticks)
    frame["yaxis"] = base.ruled(view, 0, high + 1.5 * gap, tickmode="array", tickvals=places(high))
    return base.figure(data, frame)


def places(most: int) -> list[int]:
    """About four round numbers from 0 to `most`."""
    for pace in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500):
        if most / pace <= 5:
            return list(range(0, most + 1, pace))
    return [0, most]


def _dots(points: Sequence[tuple[int, int]], view: View) -> base.Trace:
    marker = {"size": 7, "color": view.color("kept"), "line": {"width": 1.5, "color": view.color("panel")}}
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return {"type": "scatter", "mode": "markers", "x": xs, "y": ys, "marker": marker, "hoverinfo": "skip"}


def _hover(written: Sequence[int], view: View) -> base.Trace:
    """A column a pass."""
    edges = [-0.5 + i for i in range(len(written) + 1)]
    hover = [view.text("spec.hover_pass", passes=number(i), tokens=number(n)) for i, n in enumerate(written)]
    return base.targets(edges, [0, max(written[-1], len(written)) * 1.02], [hover], [[None] * len(hover)])


def progress_caption(steps: Sequence[SpeculativeStep], view: View) -> Caption:
    """Tokens a pass, and how many passes plain decoding would have taken for the same text."""
    made = counts(steps)
    title = view.text("spec.progress", tau=f"{made.tau:.2f}")
    values = {"tokens": number(made.emitted), "saved": number(made.emitted - made.target_passes)}
    return caption(title, [view.text("spec.progress_text", **values)], view)

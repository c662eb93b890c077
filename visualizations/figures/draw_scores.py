"""Draws that compare scores: greedy's raw logits, and logits with Gumbel noise added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from decoding.trace import ArgmaxDraw, Candidate, GumbelDraw, SampleStep, Token
from visualizations.figures import base
from visualizations.figures.rules import token_lines
from visualizations.figures.style import (
    BODY,
    SMALL,
    Figure,
    View,
    decimal,
    mix,
    signed,
    token_label,
)

ROW = 26
HEAD = 24
"""Height of a row and of the words above the first, px."""
TIGHT = 420
"""Narrower than this, only the number that decides is written out."""

Scale = Callable[[float], float]
"""Score -> px."""


@dataclass(frozen=True, slots=True)
class Score:
    """A row: a bar up to `start`, an arrow from there to `end`, and numbers at the right."""

    token: Token
    start: float
    end: float
    numbers: str


def argmax(step: SampleStep, draw: ArgmaxDraw, view: View, top_n: int = 8) -> Figure:
    """The highest logits and how far each is behind the best."""
    best = draw.logit
    found = [(c.token, c.logit) for c in _law_with(step, best) if c.logit is not None]
    tight = view.width < TIGHT
    rows = [Score(step.token, best, best, decimal(best) + " " * (0 if tight else 8))]
    for token, logit in sorted(found, key=lambda item: -item[1]):
        if token.id != step.token.id:
            behind = signed(logit - best).rjust(7)
            rows.append(Score(token, logit, logit, behind if tight else f"{decimal(logit):>7} {behind}"))
    heads = ("draw.head_behind", "draw.head_behind")
    return _figure(rows[:top_n], view, heads, 60 if view.width < TIGHT else 120, distance=True)


def _law_with(step: SampleStep, best: float) -> Sequence[Candidate]:
    """The candidates of the law whose logits were compared."""
    for stage in reversed(step.stages):
        logits = {c.token.id: c.logit for c in stage.result.top}
        mine = logits.get(step.token.id)
        if mine is not None and abs(mine - best) < 1e-4 and sum(v is not None for v in logits.values()) > 1:
            return stage.result.top
    return step.stages[0].result.top


def gumbel(step: SampleStep, draw: GumbelDraw, view: View, top_n: int = 8) -> Figure:
    """Logit, plus noise, is the score; the highest score wins."""
    rows = []
    for s in draw.scores[:top_n]:
        sum_text = f"{decimal(s.logit):>6} {signed(s.noise):>6} ="
        rows.append(Score(s.token, s.logit, s.score, f"{'' if view.width < TIGHT else sum_text}{decimal(s.score):>7}"))
    return _figure(rows, view, ("draw.head_score", "draw.head_sum"), 60 if view.width < TIGHT else 172, distance=False)


def _figure(rows: Sequence[Score], view: View, heads: tuple[str, str], numbers: float, distance: bool) -> Figure:
    limit = 9 if view.narrow else 14
    left = (limit + 2) * BODY * 0.61 + 8
    wide = view.width - left - numbers - 10
    values = [value for row in rows for value in (row.start, row.end)]
    low, high = min(values), max(values)
    low -= 0.08 * (high - low) or 1.0
    scale = wide / (high - low)

    def x(value: float) -> float:
        return left + (value - low) * scale

    ys = [HEAD + ROW * (i + 0.5) for i in range(len(rows))]
    bottom = HEAD + ROW * len(rows) + 6
    data = [
        _targets(rows, view),
        _bars(rows, ys, [x(row.start) - left for row in rows], left, view),
        *(_behind(rows, ys, x(high), x, view) if distance else _arrows(rows, ys, x, view)),
        base.lines([((x(rows[0].end), HEAD), (x(rows[0].end), bottom - 4))], view.color("kept"), 1.2, "2px,3px"),
        *_labels(rows, ys, left, limit, view),
        base.texts(
            [(view.width - 2, HEAD / 2, view.text(heads[0] if view.width < TIGHT else heads[1]))],
            view.color("soft"),
            "middle left",
            SMALL,
        ),
        base.texts(
            [(left, HEAD / 2, view.text("draw.head_bar" if distance else "draw.head_arrow"))],
            view.color("soft"),
            size=SMALL,
        ),
    ]
    frame = base.layout(view, bottom, xaxis=base.axis(0, view.width), yaxis=base.axis(bottom, 0))
    return base.figure(data, frame)


def _bars(rows: Sequence[Score], ys: Sequence[float], widths: Sequence[float], left: float, view: View) -> base.Trace:
    colors = [view.color("kept_soft")] * len(rows)
    return base.bars(widths, ys, colors, 14, left)


def _arrows(rows: Sequence[Score], ys: Sequence[float], x: Scale, view: View) -> list[base.Trace]:
    """The noise: an arrow from the logit to the score."""
    made = []
    for color, group in ((view.color("kept"), range(1)), (view.color("soft"), range(1, len(rows)))):
        paths = [((x(rows[i].start), ys[i]), (x(rows[i].end), ys[i])) for i in group]
        made.append(base.lines(paths, color, 2))
        heads = ["triangle-right" if rows[i].end >= rows[i].start else "triangle-left" for i in group]
        made.append(_markers([(x(rows[i].end), ys[i]) for i in group], heads, color))
    return made


def _behind(rows: Sequence[Score], ys: Sequence[float], best: float, x: Scale, view: View) -> list[base.Trace]:
    """The gap: a thin line from each logit to the best one."""
    paths = [((x(row.end), y), (best, y)) for row, y in zip(rows[1:], ys[1:], strict=True)]
    points = [(x(row.end), y) for row, y in zip(rows, ys, strict=True)]
    colors = [view.color("kept")] + [view.color("soft")] * (len(rows) - 1)
    return [
        base.lines(paths, mix(view.color("soft"), view.color("panel"), 0.4), 1),
        _markers(points, ["circle"] * len(points), colors),
    ]


def _markers(points: Sequence[tuple[float, float]], symbols: list[str], color: str | list[str]) -> base.Trace:
    marker = {"size": 9, "symbol": symbols, "color": color, "line": {"width": 0}}
    xs, ys = [px for px, _ in points], [py for _, py in points]
    return {"type": "scatter", "mode": "markers", "x": xs, "y": ys, "marker": marker, "hoverinfo": "skip"}


def _labels(rows: Sequence[Score], ys: Sequence[float], left: float, limit: int, view: View) -> list[base.Trace]:
    names, numbers = [], []
    for i, row in enumerate(rows):
        label = token_label(row.token.text, limit)
        names.append((left - 6, ys[i], f"▸ <b>{label}</b>" if i == 0 else label))
        numbers.append((view.width - 2, ys[i], row.numbers))
    colors = [view.color("ink")] + [view.color("soft")] * (len(rows) - 1)
    return [
        base.texts(names, view.color("ink"), "middle left", mono=True),
        base.texts(numbers, colors, "middle left", SMALL, mono=True),
    ]


def _targets(rows: Sequence[Score], view: View) -> base.Trace:
    edges = [HEAD + ROW * i for i in range(len(rows) + 1)]
    hover = [["<br>".join([*token_lines(row.token, view), row.numbers.strip()])] for row in rows]
    return base.targets([0, view.width], edges, hover, [[row.token.id] for row in rows])

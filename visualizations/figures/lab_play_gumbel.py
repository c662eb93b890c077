"""One slow Gumbel-max draw: a row an item; its noise is added to its logit; the highest score leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.experiments.values import GumbelPlay, Law, NoiseStep
from visualizations.figures import base
from visualizations.figures.lab_marks import blocks, columns, hovered, is_rest, item, made, marks, plain
from visualizations.figures.style import BODY, SMALL, Figure, View, decimal, literal, number

HEAD, ROW, MOST = 26, 24, 16
"""Room for the words above the first row, height of a row, px; most rows."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Scores from `low` to `high` take `wide` px from `left`; `limit` columns are an item's name."""

    left: float
    wide: float
    low: float
    high: float
    limit: int

    def x(self, value: float) -> float:
        """The px of a score."""
        return self.left + (value - self.low) / (self.high - self.low) * self.wide


def gumbel(play: GumbelPlay, law: Law, view: View, moment: int) -> Figure:
    """After `moment` items have their noise; the others wait with their logit."""
    rows = shown(play)
    scale = _scale(play, law, view)
    leader = play.steps[moment - 1].leader if moment else None
    at = rows.index(leader) if leader in rows else None
    bottom = HEAD + ROW * (len(rows) + (len(rows) < len(play.steps))) + 6
    data = [_hover(play, law, rows, view), *_bars(play, rows, scale, view), *_arrows(play, rows, scale, view, moment)]
    if at is None or leader is None:
        data.append(base.lines([], view.color("kept"), 1.2, "2px,3px"))
    else:
        x = scale.x(play.steps[leader].score or 0.0)
        data.append(base.lines([((x, HEAD), (x, bottom - 4))], view.color("kept"), 1.2, "2px,3px"))
    data += _labels(play, law, rows, scale, view, moment)
    data += _heads(scale, view)
    if len(rows) < len(play.steps):
        words = view.text("lab.gumbel.hidden", count=number(len(play.steps) - len(rows)))
        data.append(base.texts([(scale.left, bottom - 6 - ROW / 2, words)], view.color("soft"), size=SMALL))
    return made(data, view, bottom)


def shown(play: GumbelPlay) -> list[int]:
    """The items with a row: all, or, of many, the highest scores, in the law's order."""
    order = sorted(play.steps, key=lambda s: (s.score is None, -(s.score or 0.0)))
    return sorted(step.index for step in order[:MOST])


def _scale(play: GumbelPlay, law: Law, view: View) -> Scale:
    values = [v for i in shown(play) for v in (play.steps[i].logit, play.steps[i].score) if v is not None]
    low, high = min(values), max(values)
    low -= 0.08 * (high - low) or 1.0
    limit = columns(law, 10 if view.narrow else 14, view)
    left = (limit + 2) * BODY * 0.61 + 8
    numbers = 60 if view.narrow else 172
    return Scale(left, max(40.0, view.width - left - numbers - 12), low, high, limit)


def _y(place: int) -> float:
    return HEAD + ROW * (place + 0.5)


def _bars(play: GumbelPlay, rows: Sequence[int], scale: Scale, view: View) -> list[base.Trace]:
    """The logit: a pale bar as far as it."""
    logits = [(place, play.steps[i].logit) for place, i in enumerate(rows)]
    boxes = [(scale.left, _y(p) - 7, max(scale.left + 1, scale.x(v)), _y(p) + 7) for p, v in logits if v is not None]
    return [blocks(boxes, view.color("kept_soft"), 2)]


def _arrows(play: GumbelPlay, rows: Sequence[int], scale: Scale, view: View, moment: int) -> list[base.Trace]:
    """The noise: an arrow from the logit to the score; the leader's in blue."""
    leader = play.steps[moment - 1].leader if moment else None
    traces = []
    for color, leads in ((view.color("soft"), False), (view.color("kept"), True)):
        paths, heads, symbols = [], [], []
        for place, i in enumerate(rows):
            step = play.steps[i]
            if i >= moment or (i == leader) != leads or step.logit is None or step.score is None:
                continue
            paths.append(((scale.x(step.logit), _y(place)), (scale.x(step.score), _y(place))))
            heads.append((scale.x(step.score), _y(place)))
            symbols.append("triangle-right" if step.noise >= 0 else "triangle-left")
        traces += [base.lines(paths, color, 2.6 if leads else 2), marks(heads, symbols, color, 11 if leads else 9)]
    return traces


def _labels(play: GumbelPlay, law: Law, rows: Sequence[int], scale: Scale, view: View, moment: int) -> list[base.Trace]:
    leader = play.steps[moment - 1].leader if moment else None
    names, words, numbers, colors = [], [], [], []
    for place, i in enumerate(rows):
        label = literal(plain(law, i, view)) if is_rest(law, i) else item(law, i, scale.limit, view)
        (words if is_rest(law, i) else names).append(
            (scale.left - 6, _y(place), f"▸ <b>{label}</b>" if i == leader else label)
        )
        text = _numbers(play.steps[i], i < moment, view)
        numbers.append((view.width - 2, _y(place), f"<b>{text}</b>" if i == leader else text))
        colors.append(view.color("ink" if i in (leader, moment - 1) else "soft"))
    return [
        base.texts(names, view.color("ink"), "middle left", mono=True),
        base.texts(words, view.color("ink"), "middle left", SMALL),
        base.texts(numbers, colors, "middle left", SMALL, mono=True),
    ]


def _numbers(step: NoiseStep, done: bool, view: View) -> str:
    """logit + noise = score, as far as they are known."""
    if step.logit is None or step.score is None:
        return view.text("lab.gumbel.never")
    if view.narrow:
        return decimal(step.score) if done else "–"
    after = f"{decimal(step.noise):>6} ={decimal(step.score):>7}" if done else f"{'–':>6}  {'':>7}"
    return f"{decimal(step.logit):>6} {after}".replace(" ", "\u00a0")


def _heads(scale: Scale, view: View) -> list[base.Trace]:
    head = view.text("draw.head_score" if view.narrow else "draw.head_sum")
    return [
        base.texts([(view.width - 2, HEAD / 2, head)], view.color("soft"), "middle left", SMALL),
        base.texts([(scale.left, HEAD / 2, view.text("draw.head_arrow"))], view.color("soft"), size=SMALL),
    ]


def _hover(play: GumbelPlay, law: Law, rows: Sequence[int], view: View) -> base.Trace:
    edges = [HEAD + ROW * i for i in range(len(rows) + 1)]
    return base.targets([0, view.width], edges, [[hovered(law, i, view)] for i in rows], [[i] for i in rows])

"""How the sampler chose: one picture for each kind of draw, and its caption."""

from __future__ import annotations

from decoding.trace import (
    AliasDraw,
    ArgmaxDraw,
    BinarySearchDraw,
    DirectDraw,
    ForcedDraw,
    GumbelDraw,
    SampleStep,
)
from visualizations.figures import base, draw_alias, draw_cumulative, draw_scores
from visualizations.figures.style import Figure, View, apart, decimal, number, percent, quoted
from visualizations.figures.words import Caption, caption


def draw(step: SampleStep, view: View) -> Figure:
    """The picture of `step.draw`."""
    made = step.draw
    if isinstance(made, ArgmaxDraw):
        return draw_scores.argmax(step, made, view)
    if isinstance(made, DirectDraw):
        return draw_cumulative.direct(step, made, view)
    if isinstance(made, BinarySearchDraw):
        return draw_cumulative.binary(step, made, view)
    if isinstance(made, AliasDraw):
        return draw_alias.alias(made, view)
    if isinstance(made, GumbelDraw):
        return draw_scores.gumbel(step, made, view)
    return _forced(view)


def _forced(view: View) -> Figure:
    frame = base.layout(view, 96, xaxis=base.axis(0, 1), yaxis=base.axis(0, 1))
    words = base.texts([(0.5, 0.5, view.text("draw.nobody"))], view.color("soft"), "middle center")
    return base.figure([words], frame)


def draw_caption(step: SampleStep, view: View) -> Caption:
    """What happened to the token drawn, with its numbers, then why the method is right."""
    made, token = step.draw, quoted(step.token.text)
    if isinstance(made, ArgmaxDraw):
        parts = _argmax_parts(made, token, view)
    elif isinstance(made, (DirectDraw, BinarySearchDraw)):
        parts = _cumulative_parts(step, made, token, view)
    elif isinstance(made, AliasDraw):
        parts = _alias_parts(made, token, view)
    elif isinstance(made, GumbelDraw):
        parts = _gumbel_parts(made, token, view)
    else:
        parts = [view.text("draw.forced", token=token, model=percent(step.model_prob))]
    title = "draw.title_chosen" if isinstance(made, (ArgmaxDraw, ForcedDraw)) else "draw.title"
    return caption(view.text(title), parts, view)


def _argmax_parts(made: ArgmaxDraw, token: str, view: View) -> list[str]:
    text = view.text
    if made.ties > 1:
        parts = [text("draw.argmax_tie", token=token, logit=decimal(made.logit), ties=made.ties)]
    elif made.runner_up is None or made.gap is None:
        parts = [text("draw.argmax_alone", token=token, logit=decimal(made.logit))]
    else:
        values = {"second": quoted(made.runner_up.text), "gap": f"{made.gap:.2f}"}
        parts = [text("draw.argmax", token=token, logit=decimal(made.logit), **values)]
    return [*parts, text("draw.argmax_why"), text("draw.scale")]


def _cumulative_parts(step: SampleStep, made: DirectDraw | BinarySearchDraw, token: str, view: View) -> list[str]:
    digits = apart(made.uniform, made.low, made.high)
    low, high, uniform = (f"{value:.{digits}f}" for value in (made.low, made.high, made.uniform))
    parts = [view.text("draw.lands", token=token, u=uniform, low=low, high=high)]
    total = number(step.stages[-1].kept_count)
    if isinstance(made, DirectDraw):
        parts.append(view.text("draw.direct", scanned=number(made.scanned), total=total))
        return [*parts, view.text("draw.direct_why")]
    parts.append(view.text("draw.binary", probes=len(made.probes), total=total))
    return [*parts, view.text("draw.binary_why")]


def _alias_parts(made: AliasDraw, token: str, view: View) -> list[str]:
    column = next(c for c in made.columns if c.index == made.column)
    digits = apart(made.coin, column.threshold)
    values = {"coin": f"{made.coin:.{digits}f}", "threshold": f"{column.threshold:.{digits}f}"}
    key = "draw.alias_above" if made.took_alias else "draw.alias_below"
    column_words = {"column": number(made.column + 1), "count": number(made.column_count), "u": f"{made.uniform:.2f}"}
    parts = [view.text(key, token=token, **values, **column_words)]
    if len(made.columns) < made.column_count:
        parts.append(view.text("draw.alias_some", shown=len(made.columns), count=number(made.column_count)))
    return [*parts, view.text("draw.alias_why")]


def _gumbel_parts(made: GumbelDraw, token: str, view: View) -> list[str]:
    won = made.scores[0]
    values = {"logit": decimal(won.logit), "noise": decimal(won.noise), "score": decimal(won.score)}
    parts = [view.text("draw.gumbel", token=token, count=number(made.count), **values)]
    best = max(made.scores, key=lambda s: s.logit)
    if best.logit > won.logit:
        parts.append(view.text("draw.gumbel_else", best=quoted(best.token.text)))
    return [*parts, view.text("draw.gumbel_why"), view.text("draw.scale")]

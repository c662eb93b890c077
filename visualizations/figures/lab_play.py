"""One draw from the law on the page, slowly: a picture for each sampler at each moment, and what it says."""

from __future__ import annotations

from decoding.experiments.values import AliasPlay, BinaryPlay, DirectPlay, GumbelPlay, Law, Play
from visualizations.figures.lab_marks import said, sampler_name
from visualizations.figures.lab_play_alias import alias
from visualizations.figures.lab_play_binary import binary, interval
from visualizations.figures.lab_play_direct import direct
from visualizations.figures.lab_play_gumbel import gumbel
from visualizations.figures.style import Figure, View, apart, decimal, number
from visualizations.figures.words import Caption, caption


def play_length(play: Play) -> int:
    """How many moments a draw has: before anything happened, and after each step."""
    return 1 + (len(play.draw.probes) if isinstance(play, BinaryPlay) else len(play.steps))


def moment_of(play: Play, step: int) -> int:
    """A moment that exists, near `step`."""
    return min(max(step, 0), play_length(play) - 1)


def lab_play(play: Play, law: Law, view: View, step: int) -> Figure:
    """The draw at moment `step`, from 0; the last is the item drawn. All moments are equally high."""
    moment = moment_of(play, step)
    if isinstance(play, DirectPlay):
        return direct(play, law, view, moment)
    if isinstance(play, BinaryPlay):
        return binary(play, law, view, moment)
    if isinstance(play, AliasPlay):
        return alias(play, law, view, moment)
    return gumbel(play, law, view, moment)


def lab_play_caption(play: Play, law: Law, view: View, step: int) -> Caption:
    """What has just happened, with its numbers; at the end, why the method is right."""
    moment = moment_of(play, step)
    if isinstance(play, DirectPlay):
        parts = _direct(play, law, view, moment)
    elif isinstance(play, BinaryPlay):
        parts = _binary(play, law, view, moment)
    elif isinstance(play, AliasPlay):
        parts = _alias(play, law, view, moment)
    else:
        parts = _gumbel(play, law, view, moment)
    values = {"sampler": sampler_name(play.kind, view), "moment": moment, "last": play_length(play) - 1}
    key = "lab.play.title" if moment else "lab.play.title_start" if values["last"] else "lab.play.title_none"
    return caption(view.text(key, **values), parts, view)


def _direct(play: DirectPlay, law: Law, view: View, moment: int) -> list[str]:
    text, total = view.text, number(len(law.items))
    u = f"{play.draw.uniform:.{apart(play.draw.uniform, *(s.high for s in play.steps))}f}"
    if not moment:
        return [text("lab.direct.start", u=u)]
    step = play.steps[moment - 1]
    digits = apart(play.draw.uniform, step.low, step.high)
    numbers = {name: f"{v:.{digits}f}" for name, v in (("u", play.draw.uniform), ("low", step.low), ("sum", step.high))}
    name = said(law, step.index, view)
    if not step.passed:
        key = "lab.direct.on" if law.probs[step.index] > 0 else "lab.direct.zero"
        return [text(key, token=name, **numbers)]
    scanned = text("lab.direct.scanned", scanned=number(moment), total=total)
    return [text("lab.direct.drawn", token=name, **numbers), scanned, text("lab.direct.why")]


def _binary(play: BinaryPlay, law: Law, view: View, moment: int) -> list[str]:
    text, probes, total = view.text, play.draw.probes, number(len(law.items))
    u = play.draw.uniform
    parts = []
    if moment:
        probe = probes[moment - 1]
        digits = apart(u, probe.cumulative)
        values = {
            "u": f"{u:.{digits}f}",
            "sum": f"{probe.cumulative:.{digits}f}",
            "token": said(law, probe.index, view),
        }
        parts.append(text("lab.binary.left" if probe.went_left else "lab.binary.right", **values))
    low, high = interval(play, moment)
    if low == high:
        values = {"token": said(law, low, view), "probes": len(probes), "total": total}
        return [*parts, text("lab.binary.drawn", **values), text("lab.binary.why")]
    if not parts:
        return [text("lab.binary.start", u=f"{u:.{apart(u, *(p.cumulative for p in probes))}f}", total=total)]
    return [*parts, text("lab.binary.left_over", count=number(high - low + 1))]


def _alias(play: AliasPlay, law: Law, view: View, moment: int) -> list[str]:
    text, draw, count = view.text, play.draw, len(play.others)
    threshold = draw.columns[draw.column].threshold
    if not moment:
        return [text("lab.alias.start", count=number(count))]
    u = f"{draw.uniform:.{apart(draw.uniform, draw.column / count, (draw.column + 1) / count)}f}"
    values = {"column": number(draw.column + 1), "count": number(count)}
    if moment == 1:
        return [text("lab.alias.column", u=u, scaled=f"{draw.uniform * count:.2f}", **values)]
    digits = apart(draw.coin, threshold)
    values |= {"coin": f"{draw.coin:.{digits}f}", "threshold": f"{threshold:.{digits}f}"}
    if moment == 2:
        return [text("lab.alias.coin_above" if draw.took_alias else "lab.alias.coin_below", **values)]
    return [text("lab.alias.drawn", token=said(law, play.chosen, view), u=u, **values), text("lab.alias.why")]


def _gumbel(play: GumbelPlay, law: Law, view: View, moment: int) -> list[str]:
    text = view.text
    if not moment:
        return [text("lab.gumbel.start", count=number(len(play.steps)))]
    step = play.steps[moment - 1]
    name = said(law, step.index, view)
    if step.logit is None or step.score is None:
        parts = [text("lab.gumbel.zero", token=name)]
    else:
        values = {"u": f"{step.uniform:.2f}", "noise": decimal(step.noise)}
        values |= {"logit": decimal(step.logit), "score": decimal(step.score)}
        leads = "lab.gumbel.leads" if step.leader == step.index else "lab.gumbel.behind"
        if step.noise < 0:
            first = text("lab.gumbel.step_below", token=name, size=decimal(-step.noise), **values)
        else:
            first = text("lab.gumbel.step", token=name, **values)
        parts = [first, _behind(play, law, step.leader, leads, view)]
    if moment < len(play.steps):
        return parts
    won = play.steps[play.chosen]
    values = {"token": said(law, play.chosen, view), "score": decimal(won.score or 0.0)}
    best = max(range(len(law.probs)), key=lambda i: law.probs[i])
    other = text("lab.gumbel.else", best=said(law, best, view)) if law.probs[best] > law.probs[play.chosen] else ""
    return [text("lab.gumbel.drawn", **values), other, text("lab.gumbel.why")]


def _behind(play: GumbelPlay, law: Law, leader: int | None, key: str, view: View) -> str:
    if leader is None:
        return ""
    return view.text(key, token=said(law, leader, view), score=decimal(play.steps[leader].score or 0.0))

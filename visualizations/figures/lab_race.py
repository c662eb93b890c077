"""Why Gumbel-max draws from the law: one race of exponential clocks, and who won many of them."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.experiments.values import Race
from visualizations.figures import base, lab_pair
from visualizations.figures.lab_marks import marks, said
from visualizations.figures.lab_tally import tally_scale
from visualizations.figures.lab_words import fit_sentences
from visualizations.figures.rows import ROW
from visualizations.figures.style import SMALL, Figure, View, decimal, number, percent
from visualizations.figures.words import Caption, caption

NUMBERS = (70, 64)
"""Room for the times, and for the shares, px."""


def lab_race(race: Race, view: View) -> Figure:
    """At the left when each item arrived in the first race; at the right how often each came first in all of them."""
    pair = lab_pair.Pair(view, race.wins.law, NUMBERS)
    first, second = pair.panels()
    words = [view.text("lab.race.one"), view.text("lab.race.many", draws=number(race.wins.draws))]
    data = [
        lab_pair.hover(second, race.wins, view),
        *lab_pair.names(pair, race.winner),
        *lab_pair.heads(pair, words, ["soft", "kept"], [False, True]),
        *_arrivals(race, first, view),
        *lab_pair.counted(second, race.wins, view, tally_scale(race.wins)),
    ]
    return lab_pair.figure(pair, data)


def horizon(times: Sequence[float | None]) -> float:
    """The end of the time axis: the latest arrival, or, where that is far out, a few times the middle one."""
    some = sorted(time for time in times if time is not None)
    return min(some[-1], 3 * some[len(some) // 2]) * 1.04


def _arrivals(race: Race, panel: lab_pair.Panel, view: View) -> list[base.Trace]:
    """A track each, as long as it took; the first solid with a line down; late ones leave at the right."""
    end = horizon([runner.time for runner in race.example])
    traces: list[base.Trace] = []
    words, colors = [], []
    for color, won in ((view.color("soft"), False), (view.color("kept"), True)):
        paths, dots, symbols = [], [], []
        for i, runner in enumerate(race.example):
            if runner.time is None or (i == race.winner) != won:
                continue
            x, y = panel.x(runner.time / end), panel.y(i)
            paths.append(((panel.left, y), (x, y)))
            dots.append((x, y))
            symbols.append("triangle-right" if runner.time > end else "circle")
        traces += [base.lines(paths, color, 3 if won else 1.5), marks(dots, symbols, color, 11 if won else 9)]
    for i, runner in enumerate(race.example):
        text = view.text("lab.race.never") if runner.time is None else decimal(runner.time, 3)
        words.append((panel.right, panel.y(i), f"<b>{text}</b>" if i == race.winner else text))
        colors.append(view.color("ink" if i == race.winner else "soft"))
    x = panel.x((race.example[race.winner].time or 0.0) / end)
    bottom = panel.top + ROW * len(race.example)
    return [
        base.lines([((panel.left, panel.top), (panel.left, bottom))], view.color("line"), 1),
        base.lines([((x, panel.top), (x, bottom))], view.color("kept"), 1.2, "2px,3px"),
        *traces,
        base.texts(words, colors, "middle left", SMALL, mono=True),
    ]


def lab_race_caption(race: Race, view: View) -> Caption:
    """Who came first and with which score, how often that happens, and why it is the same as Gumbel-max."""
    law, won = race.wins.law, race.example[race.winner]
    token = said(law, race.winner, view)
    time, score = decimal(won.time or 0.0, 3), decimal(won.score or 0.0)
    share = percent(race.wins.counts[race.winner] / race.wins.draws if race.wins.draws else 0.0)
    parts = [
        view.text("lab.race.now", token=token, time=time, score=score),
        view.text(
            "lab.race.wins", token=token, share=share, weight=f"{won.weight:g}", total=f"{race.total:g}",
            prob=percent(law.probs[race.winner]), draws=number(race.wins.draws),
        ),
        *fit_sentences(race.wins.fit, view)[:1],
        view.text("lab.race.why"),
    ]  # fmt: skip
    return caption(view.text("lab.race.title"), parts, view)

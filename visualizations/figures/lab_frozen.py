"""Fresh Gumbel noise for each draw beside one noise made once and kept."""

from __future__ import annotations

from decoding.experiments.values import Frozen
from visualizations.figures import lab_pair
from visualizations.figures.lab_marks import said
from visualizations.figures.lab_words import in_runs
from visualizations.figures.style import Figure, View, decimal, number, percent
from visualizations.figures.words import Caption, caption

NUMBERS = 64
"""Room for the shares at the right of the bars, px."""


def lab_frozen(frozen: Frozen, view: View) -> Figure:
    """Two histograms on one scale from 0 to 1, each over the exact law."""
    pair = lab_pair.Pair(view, frozen.fresh.law, (NUMBERS, NUMBERS))
    words = [view.text("lab.frozen.fresh"), view.text("lab.frozen.frozen")]
    data = [*lab_pair.names(pair), *lab_pair.heads(pair, words, ["kept", "cut"], [True, True])]
    for panel, tally in zip(pair.panels(), (frozen.fresh, frozen.frozen), strict=True):
        data += [lab_pair.hover(panel, tally, view), *lab_pair.counted(panel, tally, view, 1.0)]
    return lab_pair.figure(pair, data)


def lab_frozen_caption(frozen: Frozen, view: View) -> Caption:
    """What the kept noise gave, what fresh noise gave, and why."""
    law, winner = frozen.fresh.law, frozen.winner
    values = {"token": said(law, winner, view), "draws": number(frozen.frozen.draws)}
    always = view.text(
        "lab.frozen.always", prob=percent(law.probs[winner]), noise=decimal(frozen.noise[winner]), **values
    )
    share = {"share": percent(frozen.fresh.counts[winner] / frozen.fresh.draws if frozen.fresh.draws else 0.0)}
    runs = in_runs(frozen.fresh.fit.p_value, view)
    fresh = view.text("lab.frozen.fair", token=values["token"], runs=runs, **share)
    return caption(view.text("lab.frozen.title"), [always, fresh, view.text("lab.frozen.why")], view)

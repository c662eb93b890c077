"""Many draws by one sampler: how often each item came, over what the law says."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.experiments.values import Tally
from visualizations.figures import base
from visualizations.figures import rows as table
from visualizations.figures.lab_marks import columns, hovered, is_rest, item, said, sampler_name
from visualizations.figures.lab_words import fit_sentences
from visualizations.figures.rows import Row
from visualizations.figures.style import BODY, SMALL, Figure, View, literal, number, percent, percent_label, text_px
from visualizations.figures.words import Caption, caption

ABOVE = 26
"""Room for the words that name the marks, px."""
COLUMN = 11 * BODY * 0.602
"""Width of the column of expected counts, px."""


def tally_scale(*tallies: Tally) -> float:
    """One scale for several tallies: the greatest share or probability of any, with a little air."""
    found = [p for tally in tallies for p in tally.law.probs]
    found += [count / tally.draws for tally in tallies for count in tally.counts if tally.draws]
    return min(1.0, 1.06 * max(found))


def lab_tally(tally: Tally, view: View, x_max: float | None = None) -> Figure:
    """Solid bars as often as drawn, an upright mark where the law is; give `x_max` to share a scale."""
    scale = tally_scale(tally) if x_max is None else x_max
    rows = [_row(tally, i, view) for i in range(len(tally.counts))]
    amount = 72 if view.narrow else 172
    label = (columns(tally.law, table.label_limit(view), view) + 2) * BODY * 0.61 + 8
    at = table.Columns(label, amount, max(60.0, view.width - label - amount), scale)
    data = [
        table.target(rows, at),
        *table.solid(rows, view, scale),
        exact_marks(tally.law.probs, scale, view),
        *table.labels(rows, view, at),
        table.amounts(rows, view, at),
        *_head(tally, view, at),
    ]
    return base.figure(data, table.frame(len(rows), view, at, ABOVE), x_max=scale)


def exact_marks(probs: Sequence[float], scale: float, view: View) -> base.Trace:
    """An upright mark in each row, at the exact probability."""
    paths = [((min(p, scale), i - 0.46), (min(p, scale), i + 0.46)) for i, p in enumerate(probs)]
    return base.lines(paths, view.color("ink"), 2.2, customdata=[p for p in probs for _ in range(3)])


def expected(draws: int, prob: float) -> str:
    """How often it should come: whole where that says enough."""
    value = draws * prob
    return number(round(value)) if value >= 100 or value == round(value) else f"{value:.1f}"


def _row(tally: Tally, index: int, view: View) -> Row:
    count, prob = tally.counts[index], tally.law.probs[index]
    share = count / tally.draws if tally.draws else 0.0
    amount = number(count) if view.narrow else f"{number(count):>9} {expected(tally.draws, prob):>10}"
    rest = is_rest(tally.law, index)
    label = table.rest_label(tally.law.others, view) if rest else item(tally.law, index, table.label_limit(view), view)
    shares = {"count": number(count), "share": percent_label(share), "prob": percent_label(prob)}
    hover = f"{hovered(tally.law, index, view)}<br>{view.text('histogram.hover', **shares)}"
    number_id = None if rest else tally.law.items[index].id
    return Row(label, share, _solid(amount), hover, number_id, state="rest" if rest else "kept")


def _solid(text: str) -> str:
    """Spaces that keep their width in a figure."""
    return literal(text).replace(" ", "\u00a0")


def _head(tally: Tally, view: View, at: table.Columns) -> list[base.Trace]:
    """What the bars, the marks and the columns of numbers are."""
    y = -0.5 - ABOVE / table.ROW / 2
    drawn = view.text("lab.tally.drawn")
    exact = ((text_px(drawn, SMALL) + 16) * at.unit, y, view.text("histogram.exact"))
    right = at.high - 2 * at.unit
    heads = [(right - COLUMN * at.unit, y, view.text("lab.tally.came")), (right, y, view.text("lab.tally.expected"))]
    return [
        base.texts([(0, y, drawn)], view.color("kept"), size=SMALL),
        base.texts([exact], view.color("ink"), size=SMALL),
        base.texts([(right, y, heads[0][2])] if view.narrow else heads, view.color("soft"), "middle left", SMALL),
    ]


def lab_tally_caption(tally: Tally, view: View) -> Caption:
    """How the most likely item fared, the test in plain words, then the distance."""
    parts = []
    if tally.draws:
        best = max(range(len(tally.counts)), key=lambda i: tally.law.probs[i])
        values = {"count": number(tally.counts[best]), "draws": number(tally.draws)}
        expects = expected(tally.draws, tally.law.probs[best])
        parts.append(view.text("lab.tally.best", token=said(tally.law, best, view), expected=expects, **values))
        parts += fit_sentences(tally.fit, view)
    parts.append(view.text("lab.tally.distance", distance=percent(tally.total_variation)))
    title = view.text("lab.tally.title", sampler=sampler_name(tally.sampler, view), draws=number(tally.draws))
    return caption(title, parts, view)

"""The candidates of one depth in order of score, as the search's priority queue holds them, with the cut line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from decoding.trace import BeamNode, BeamStep
from visualizations.figures import base, rows
from visualizations.figures.beam_layout import Family, family
from visualizations.figures.beam_words import (
    Unit,
    amount,
    by_rule,
    chance,
    counts,
    cut_line,
    ends,
    first_fit,
    hover,
    in_quotes,
    joined,
    label_px,
    reason,
    rule_name,
    share,
    tail,
    unit_of,
)
from visualizations.figures.rows import ROW, THICK, Columns, Row
from visualizations.figures.style import (
    BODY,
    SMALL,
    Figure,
    View,
    cells,
    decimal,
    literal,
    mix,
    number,
    short,
    visible,
)
from visualizations.figures.words import Caption, caption, list_of

MOST = 16
"""Rows at most, unless more go on."""
HEAD, LINE = 22, 16
"""Room for the words above the bars, and for the words at a threshold, px."""
NUMBERS: dict[Unit, str] = {"prob": "queue.prob", "nats": "queue.nats", "score": "queue.score"}
AMOUNT = 68
"""Width of the column of numbers, px."""


Mark = tuple[float, str]
"""A threshold: its place on the bars' axis and its words."""


@dataclass(frozen=True, slots=True)
class Queue:
    """One depth: its rows are `nodes`, and the cut line stands before the row `line` (None: nothing was cut)."""

    tree: Family
    step: BeamStep
    nodes: Sequence[BeamNode]
    unit: Unit
    line: int | None
    judged: bool
    joiner: str
    view: View

    @property
    def others(self) -> int:
        """Candidates without a row."""
        return max(self.step.considered, len(self.step.nodes)) - len(self.nodes)

    def share(self, node: BeamNode) -> float:
        """e^(score − best score): where the score is the log-probability, p / p of the best."""
        return math.exp(min(0.0, node.score - self.step.nodes[0].score))

    def y(self, index: int) -> int:
        """The row of a candidate; the cut line has a row of its own."""
        return index + (self.line is not None and index >= self.line)


def _queue(steps: Sequence[BeamStep], view: View, depth: int, verdict: bool, joiner: str) -> Queue:
    tree, step = family(steps), steps[depth - 1]
    last = max((i for i, node in enumerate(step.nodes) if node.fate != "pruned"), default=-1)
    nodes = step.nodes[: max(MOST, last + 3)]
    line = last + 1 if verdict and last + 1 < len(step.nodes) else None
    return Queue(tree, step, nodes, unit_of(tree), line, verdict, joiner, view)


def queue(
    steps: Sequence[BeamStep],
    view: View,
    *,
    depth: int,
    verdict: bool = True,
    joiner: str = "",
    unit: Unit | None = None,
) -> Figure:
    """Rows for the candidates of `depth` (from 1), best first: the text so far and the token, its bar, its number.

    A bar is as long as the candidate is probable beside the best one. Where `verdict`, the cut line stands below the
    last that goes on, cut bars are hollow and say why. `joiner` stands between words of a table. A click on a row
    gives its node's id.
    """
    found = _queue(steps, view, depth, verdict, joiner)
    found = replace(found, unit=unit or found.unit)
    limit = 10 if view.narrow else 18 if view.width < 560 else 28
    label = (limit + 1) * BODY * 0.61 + 8
    at = Columns(label, AMOUNT, max(60.0, view.width - label - AMOUNT), 1.0)
    marks = _thresholds(found)
    above = HEAD + (LINE if marks else 0)
    drawn = [_row(found, node, limit) for node in found.nodes]
    if found.line is not None:
        drawn.insert(found.line, Row("", 0.0, "", "", None, "rest"))
    if found.others:
        drawn.append(Row("", 0.0, "", "", None, "rest"))
    data = [
        rows.target(drawn, at),
        *_bars(found),
        *rows.labels(drawn, view, at),
        *_notes(found, at, marks),
        rows.amounts(drawn, view, at),
        *_cut(found, at),
        *_marks(found, marks, at),
        *_words(found, at, above),
    ]
    return base.figure(data, rows.frame(len(drawn), view, at, above))


def _row(found: Queue, node: BeamNode, limit: int) -> Row:
    """The row of a candidate; the token it adds stands out."""
    before = joined(found.tree.path(node.id)[:-1], found.joiner)
    token = short(visible(node.token.text) or "⟨⟩", limit)
    joiner = found.joiner if before else ""
    text = tail(visible(before.lstrip(" ")), limit - cells(joiner + token))
    state = "cut" if found.judged and node.fate == "pruned" else "kept"
    last = literal(token) if state == "cut" else f"<b>{literal(token)}</b>"
    said = hover(found.tree, node, found.view, found.judged)
    written = literal(amount(node, found.unit))
    return Row(literal(text + joiner) + last, found.share(node), written, said, node.id, state)


def _bars(found: Queue) -> list[base.Trace]:
    """Solid where it goes on, hollow where it was cut, grey where nobody has judged yet. Always three traces."""
    view, half = found.view, THICK / 2
    kept, cut, waiting = [], [], []
    for i, node in enumerate(found.nodes):
        y, x = found.y(i), found.share(node)
        if not found.judged:
            waiting.append((x, y))
        elif node.fate == "pruned":
            cut.append((0, y - half, x, y + half))
        else:
            kept.append((x, y))
    grey = mix(view.color("soft"), view.color("panel"), 0.45)
    return [
        base.bars([x for x, _ in kept], [y for _, y in kept], view.color("kept"), THICK),
        base.bars([x for x, _ in waiting], [y for _, y in waiting], grey, THICK),
        base.dashed(cut, view.color("cut")),
    ]


def _notes(found: Queue, at: Columns, marks: Sequence[Mark]) -> list[base.Trace]:
    """Why a candidate was cut, or its score as a finished text: beside its bar, or, where there is more room, in it."""
    view, points, colors = found.view, [], []
    upright = max([place for place, _ in marks[:1]], default=0.0) / at.unit
    for i, node in enumerate(found.nodes if found.judged else ()):
        if node.fate == "kept":
            continue
        long, ended = found.share(node) / at.unit, node.fate == "finished"
        start = max(long, upright) if not ended else long
        beside, inside = at.bar - start - 9, 0.0 if 0 < upright < long else long - 12
        variants = _reasons(found, node) if not ended else ends(found.tree, node, view)
        words = first_fit(variants, max(beside, inside))
        out = label_px(words) <= beside
        points.append(((start + 7 if out else 5) * at.unit, found.y(i), literal(words)))
        colors.append(view.color("cut" if not ended else "kept" if out else "panel"))
    return [base.texts(points, colors, size=SMALL)]


def _reasons(found: Queue, node: BeamNode) -> list[str]:
    """The reason in words that grow shorter; the value stands in the column of numbers too."""
    variants = [reason(node, found.unit, found.view)]
    if node.rule is not None:
        variants.append(cut_line([node], found.unit, found.view, plain=True)[0])
        variants.append(f"✕ {rule_name(node.rule.rule, found.view)}")
    return variants


def _cut(found: Queue, at: Columns) -> list[base.Trace]:
    """The cut line and its words."""
    view = found.view
    if found.line is None:
        return [base.lines([], view.color("ink"), 1.2), base.texts([], view.color("ink"), size=SMALL)]
    first = next(node for node in found.nodes if node.fate == "pruned")  # the cut that stands at the line
    same = next((nodes for nodes in by_rule(found.step.nodes) if first in nodes), [first])
    lines = cut_line(same, found.unit, view)
    start = " · ".join(counts(found.step.nodes, view))
    room = (at.high - at.low) / at.unit - 12
    words = first_fit([f"▲ {start}   ▼ {line.removeprefix('✕ ')}" for line in lines] + [f"▲ {start}"], room)
    rule = base.lines([((at.low, found.line - 0.4), (at.high, found.line - 0.4))], view.color("ink"), 1.4, "6px,3px")
    return [
        rule,
        base.texts([(at.low + 2 * at.unit, found.line + 0.12, literal(words))], view.color("ink"), size=SMALL),
    ]


def _thresholds(found: Queue) -> list[Mark]:
    """Where a rule's threshold is a length of the bars: its place and its words."""
    marks = []
    for nodes in by_rule(found.step.nodes) if found.judged and found.unit != "score" else ():
        cut = nodes[0].rule
        if cut is None or cut.rule not in ("relative_threshold", "absolute_threshold"):
            continue
        best = found.step.nodes[0].score
        place = cut.threshold if cut.rule == "relative_threshold" else math.exp(min(0.0, cut.threshold - best))
        marks.append((place, cut_line(nodes, found.unit, found.view)[-1]))
    return marks


def _marks(found: Queue, marks: Sequence[Mark], at: Columns) -> list[base.Trace]:
    """The thresholds as upright lines through the bars, their words above."""
    view, points = found.view, []
    top = -0.5 - LINE / ROW / 2
    for place, words in marks[:1]:
        wide = label_px(words) * at.unit
        points.append((min(max(at.low, place - wide / 2), at.high - wide), top, literal(words)))
    line = len(found.nodes) if found.line is None else found.line
    ends_at = [(top + 0.32, line - 0.5), (line + 0.5, found.y(len(found.nodes) - 1) + 0.5)]
    paths = [((place, low), (place, high)) for place, _ in marks[:1] for low, high in ends_at if low < high]
    return [
        base.lines(paths, view.color("cut"), 1.2, "2px,2px"),
        base.texts(points, view.color("cut"), size=SMALL),
    ]


def _words(found: Queue, at: Columns, above: float) -> list[base.Trace]:
    """What the bars and the numbers are, and how many candidates have no row."""
    view, y = found.view, -0.5 - (above - HEAD / 2) / ROW
    heads = [view.text(key) for key in ("queue.bars_score", "queue.bars")]
    points = [(0.0, y, literal(first_fit(heads[found.unit != "score" :], at.bar)))]
    if found.others:
        words = view.text("queue.others", count=number(found.others))
        points.append((0.0, found.y(len(found.nodes) - 1) + 1, literal(words)))
    amounts = [(at.high - 2 * at.unit, y, view.text(NUMBERS[found.unit]))]
    return [
        base.texts(points, view.color("soft"), size=SMALL),
        base.texts(amounts, view.color("soft"), "middle left", SMALL),
    ]


def queue_caption(
    steps: Sequence[BeamStep], view: View, *, depth: int, verdict: bool = True, joiner: str = ""
) -> Caption:
    """How many candidates from how many beams, the best of them, and how many the rules leave."""
    text, step = view.text, steps[depth - 1]
    tree, considered = family(steps), max(step.considered, len(step.nodes))
    parents = len({node.parent for node in step.nodes})
    title = text("queue.title", depth=depth, count=number(considered))
    best = tree.path(step.nodes[0].id)
    values = {
        "text": in_quotes(joined(best, joiner)),
        "logprob": decimal(best[-1].logprob),
        "prob": share(chance(best[-1])),
    }
    parts = [
        text("queue.from_one" if parents == 1 else "queue.from", beams=number(parents)),
        text("queue.best", **values),
    ]
    if not verdict:
        parts.append(text("queue.open"))
    else:
        gone = considered - sum(node.fate != "pruned" for node in step.nodes)
        left = list_of(counts(step.nodes, view), view)
        parts.append(text("queue.judged", left=left, cut=number(gone)) if gone else text("queue.none", left=left))
    if unit_of(tree) == "score":
        parts.append(text("queue.perturbed"))
    return caption(title, parts, view)

"""The tree of a beam search from left to right: what went on, what was cut, by which rule, and how probable it was.

A curve is as wide as its token is probable. Solid blue goes on, dashed orange was cut, grey is not yet judged; a pale
band runs along the best text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from decoding.trace import BeamNode, BeamStep
from visualizations.figures import base
from visualizations.figures.beam_edges import CLOSE, edges
from visualizations.figures.beam_labels import CELL, Label, Scene, heading, labelled
from visualizations.figures.beam_layout import CROWD, HALF, TAIL, Family, Grid, Show, columns, family, grid
from visualizations.figures.beam_words import (
    LONG,
    Unit,
    chance,
    counts,
    hover,
    in_quotes,
    joined,
    label_px,
    rule_name,
    share,
    tail,
    unit_of,
    written,
)
from visualizations.figures.style import BODY, SMALL, Figure, View, cells, decimal, literal, number, visible
from visualizations.figures.words import Caption, caption, list_of

REASON: dict[Unit, float] = {
    "nats": label_px("✕ width: −12.34 < −12.34"),
    "prob": label_px("✕ width: 0.012 < 0.012"),
    "score": label_px("✕ width: −12.34 < −12.34"),
}
"""px of a whole reason: whether it has room beside or below a token decides how labels are written."""
ROOT = (46.0, 112.0)
"""Least and most room for the root's label, px."""
NUMBERS: dict[Unit, str] = {
    "prob": "tree.caption.prob",
    "nats": "tree.caption.nats",
    "score": "tree.caption.score",
}
"""How the numbers are explained."""
EASY = 160
"""Width of a column, px, from which the root may take more room than the least."""
LINES = (9, 26, 41)
"""y of the lines of a heading, px."""


def tree(
    steps: Sequence[BeamStep],
    view: View,
    *,
    root: str,
    upto: int | None = None,
    verdict: bool = True,
    best: Sequence[int] = (),
    show: Show = "all",
    collapsed: Collection[int] = (),
    mark: int | None = None,
    places: Sequence[BeamStep] | None = None,
    zoom: float = 1.0,
) -> Figure:
    """The first `upto` depths, the last of them judged (`verdict`) or still open.

    `root`: words for what comes before the first token. `best`: ids on the path of the best text. `collapsed`: nodes
    whose descendants are hidden. `mark`: the node where the best text was lost. `places`: the steps as recorded, where
    `steps` are judged anew: every node then stays where it was. `zoom`: how many times wider than the view.

    A click on a label gives its node's id. `layout.meta.scroll` is true, and `layout.width` is there, where the
    picture is wider than the view.
    """
    now = family(steps)
    placed = family(places) if places is not None else now
    scene = Scene(
        view=view,
        tree=now,
        grid=_grid(now, placed, view, show, {*best, *(() if mark is None else (mark,))}, collapsed, root, zoom, mark),
        unit=unit_of(placed),
        upto=len(steps) if upto is None else min(max(0, upto), len(steps)),
        verdict=verdict,
        best=frozenset(best),
        mark=mark,
        folded=frozenset(i for i in collapsed if i in now.children),
        reached=frozenset(now.reached()),
    )
    labels, words = labelled(scene), _root(root, scene.grid)
    data = [
        _targets(scene, labels, words, root),
        *edges(scene, labels, _px(words) + CLOSE),
        *_texts(scene, labels, words),
        *_headings(scene),
        _outline(scene, labels),
    ]
    high, scroll = round(scene.grid.height), scene.grid.scroll
    width = max(view.width, round(scene.grid.width)) if scroll else view.width
    frame = base.layout(view, high, xaxis=base.axis(0, width), yaxis=base.axis(high, 0))
    if scroll:
        frame.update(width=width, autosize=False)
    focus = round(scene.grid.x(max(0, scene.upto - 1)))
    return base.figure(data, frame, scroll=scroll, focus=focus)


def _grid(
    now: Family,
    placed: Family,
    view: View,
    show: Show,
    always: Collection[int],
    collapsed: Collection[int],
    root: str,
    zoom: float,
    mark: int | None,
) -> Grid:
    """The measures: those of the recorded search, so that neither stepping nor judging anew moves a node."""
    kept = {node.id for node in now.nodes.values() if node.fate != "pruned"}
    order = columns(placed, show, {*always, *kept}, collapsed)
    spare = view.width * max(1.0, zoom) - EASY * len(order) - TAIL
    wide = min(_px(_plain(root)) + 4, max(ROOT[0], min(spare, ROOT[1])))
    return grid(placed, view, order, wide, REASON[unit_of(placed)], zoom, mark)


def _plain(root: str) -> str:
    return visible(root.strip()) or "⟨⟩"


def _px(text: str) -> float:
    """Width of a monospaced text, px."""
    return cells(text) * CELL


def _root(root: str, at: Grid) -> str:
    """The end of what comes before the first token; not escaped."""
    text = tail(_plain(root), int(at.root / CELL))
    words = text[text.find(" ") :] if text.startswith("…") and " " in text.strip(" …") else ""
    return f"…{words}" if words else text


def _texts(scene: Scene, labels: Sequence[Label], root: str) -> list[base.Trace]:
    view = scene.view
    bold = {"kept", "end"}
    tokens = [(a.x, a.y, f"<b>{literal(a.token)}</b>" if a.state in bold else literal(a.token)) for a in labels]
    colors = [view.color("soft" if a.state == "cut" else "ink") for a in labels]
    parts = [(a, p) for a in labels for p in a.parts]
    made = [
        base.texts([(0, scene.grid.y[None], literal(root))], view.color("soft"), mono=True),
        base.texts(tokens, colors, mono=True),
    ]
    for size in (SMALL, BODY):
        chosen = [(a, p) for a, p in parts if p.size == size]
        points = [(a.x + p.dx, a.y + p.dy, literal(p.text)) for a, p in chosen]
        made.append(base.texts(points, [view.color(p.role) for _, p in chosen], size=size))
    return made


def _headings(scene: Scene) -> list[base.Trace]:
    points, colors = [], []
    for column in range(scene.upto):
        for y, (text, role) in zip(LINES, heading(scene, column), strict=False):
            safe = literal(text)
            points.append((scene.grid.x(column), y, f"<b>{safe}</b>" if role == "ink" else safe))
            colors.append(scene.view.color(role))
    return [base.texts(points, colors, size=SMALL)]


def _outline(scene: Scene, labels: Sequence[Label]) -> base.Trace:
    """A frame around the marked node."""
    boxes = [a.box for a in labels if a.marked]
    frames = [((a - 4, b - 2), (c + 4, b - 2), (c + 4, d + 2), (a - 4, d + 2), (a - 4, b - 2)) for a, b, c, d in boxes]
    return base.lines(frames, scene.view.color("ink"), 1.4)


def _targets(scene: Scene, labels: Sequence[Label], words: str, root: str) -> base.Trace:
    """Each label answers to pointer and click over its whole box."""
    y = scene.grid.y[None]
    boxes = [(0.0, y - HALF, _px(words), y + HALF), *(a.box for a in labels)]
    hovers = [_wrapped(root), *(hover(scene.tree, a.node, scene.view, a.state != "open") for a in labels)]
    lengths = [x1 - x0 + 4 for x0, _, x1, _ in boxes]
    middles = [(y0 + y1) / 2 for _, y0, _, y1 in boxes]
    made = base.bars(lengths, middles, base.CLEAR, 0.0, [x0 - 2 for x0, _, _, _ in boxes])
    del made["hoverinfo"]
    return {
        **made,
        "width": [y1 - y0 for _, y0, _, y1 in boxes],
        "customdata": [None, *(a.node.id for a in labels)],
        "hovertext": hovers,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _wrapped(root: str) -> str:
    """The end of what comes before the first token, in lines; safe for Plotly."""
    text = _plain(root)
    text = text if len(text) <= 240 else f"…{text[-240:]}"
    return "<br>".join(literal(text[i : i + 60]) for i in range(0, len(text), 60))


def tree_caption(
    steps: Sequence[BeamStep],
    view: View,
    *,
    upto: int | None = None,
    verdict: bool = True,
    best: Sequence[int] = (),
    show: Show = "all",
    mark: int | None = None,
    joiner: str = "",
    best_text: str | None = None,
) -> Caption:
    """The best text once the search has ended, before that the depth; the counts; how to read the picture.

    Arguments as of `tree`; `joiner` stands between words of a table; `best_text`: the best text as the model writes
    it, without its end token.
    """
    text, told = view.text, family(steps)
    last = len(steps) if upto is None else min(max(0, upto), len(steps))
    seen = steps[:last]
    judged = seen if verdict else seen[:-1]
    cut = sum(_considered(step) - sum(node.fate != "pruned" for node in step.nodes) for step in judged)
    considered, recorded = sum(map(_considered, seen)), sum(len(step.nodes) for step in seen)
    parts = [text("tree.caption.counts", count=number(considered), cut=number(cut))]
    if recorded < considered:
        parts.append(text("tree.caption.recorded", recorded=number(recorded)))
    parts.append(text(NUMBERS[unit_of(told)]))
    if cut:
        dense = show == "all" and max(len(step.nodes) for step in seen) > CROWD
        parts.append(text("tree.caption.cut_hover" if dense else "tree.caption.cut"))
    if any(node.fate == "finished" for step in judged for node in step.nodes):
        parts.append(text("tree.caption.end"))
    lost = "" if mark is None or told.depths.get(mark, last) >= len(judged) else _lost(told, mark, view, joiner)
    parts.append(lost)
    found = best if verdict and last == len(steps) else ()
    if found:
        words = in_quotes(joined(told.path(found[-1]), joiner) if best_text is None else best_text)
        return caption(_found(told.nodes[found[-1]], words, unit_of(told), view, bool(lost)), parts, view)
    return caption(_title(seen, view, verdict), parts, view)


def _considered(step: BeamStep) -> int:
    return max(step.considered, len(step.nodes))


def _found(node: BeamNode, words: str, unit: Unit, view: View, lost: bool) -> str:
    """The best text, and its probability; `lost`: a better one was cut."""
    prob = share(chance(node))
    if unit != "prob":
        values = {"logprob": decimal(node.logprob), "prob": share(chance(node))}
        prob = view.text("tree.caption.both", **values)
    return view.text("tree.caption.found" if lost else "tree.caption.best", text=words, prob=prob)


def _title(seen: Sequence[BeamStep], view: View, verdict: bool) -> str:
    """The depth reached, and what is known of its candidates."""
    if not seen:
        return view.text("tree.depth", depth=0)
    values = {"depth": len(seen), "count": number(_considered(seen[-1]))}
    if not verdict:
        return view.text("tree.caption.open", **values)
    return view.text("tree.caption.judged", **values, left=list_of(counts(seen[-1].nodes, view), view))


def _lost(told: Family, mark: int, view: View, joiner: str) -> str:
    """Where the best text of all was cut, and by which rule."""
    node = told.nodes[mark]
    if node.rule is None:
        return ""
    value, threshold, sign = written(node.rule, unit_of(told))
    values = {"value": value, "threshold": threshold, "relation": sign, "depth": told.depths[mark] + 1}
    name = rule_name(node.rule.rule, view, LONG)
    return view.text("tree.caption.lost", text=in_quotes(joined(told.path(mark), joiner)), rule=name, **values)

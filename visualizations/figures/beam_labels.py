"""The labels of a beam tree: token, number and reason of each node in as many lines as its column has room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from decoding.trace import BeamNode
from visualizations.figures.beam_layout import HALF, HEIGHTS, LOST, TAIL, Family, Grid
from visualizations.figures.beam_words import (
    Unit,
    amount,
    by_rule,
    counts,
    cut_line,
    ending,
    ends,
    first_fit,
    fit,
    label_px,
    reason,
    reason_lines,
)
from visualizations.figures.style import BODY, SMALL, View, cells, number, short, text_px, visible

State = Literal["kept", "cut", "end", "open"]
"""It went on; it was cut; its text ended; nobody has judged it yet."""

CELL = BODY * 0.61
"""Width of a column of monospaced text, px."""
FEWEST = 4
"""Columns of a token that stay beside a number or a reason."""
GAP = 7
"""Between a token and what stands beside it, px."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What is drawn: the first `upto` depths of a search, the last of them judged or not."""

    view: View
    tree: Family
    grid: Grid
    unit: Unit
    upto: int
    verdict: bool
    best: frozenset[int]
    mark: int | None
    folded: frozenset[int]
    reached: frozenset[int]

    def state(self, node: BeamNode) -> State:
        """What is known of a node by now."""
        if self.tree.depths[node.id] == self.upto - 1 and not self.verdict:
            return "open"
        return {"kept": "kept", "pruned": "cut", "finished": "end"}[node.fate]  # type: ignore[return-value]

    def nodes(self) -> Iterator[tuple[BeamNode, int]]:
        """The nodes drawn, each with its column."""
        for column, ids in enumerate(self.grid.order[: self.upto]):
            for i in ids:
                if i in self.reached:
                    yield self.tree.nodes[i], column


@dataclass(frozen=True, slots=True)
class Part:
    """Some words in a label, `dx` px from its left edge and `dy` px below its first line; not escaped."""

    text: str
    dx: float
    dy: float
    role: str
    size: int = SMALL


@dataclass(frozen=True, slots=True)
class Label:
    """A node's label at (x, y); `right` is where its first line ends, px from x, and `wide` all of it."""

    node: BeamNode
    state: State
    x: float
    y: float
    token: str
    right: float
    wide: float
    tall: float
    marked: bool
    parts: Sequence[Part] = field(default_factory=tuple)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """x0, y0, x1, y1 in px."""
        return self.x, self.y - HALF, self.x + self.wide, self.y - HALF + self.tall


def labelled(scene: Scene) -> list[Label]:
    """All labels of the picture."""
    write = _WRITERS[scene.grid.mode]
    made = []
    for node, column in scene.nodes():
        state = scene.state(node)
        token, parts = write(scene, node, state)
        right = text_px(token, BODY, mono=True)
        right = max([right, *(p.dx + label_px(p.text, p.size) for p in parts if not p.dy)])
        marked = node.id == scene.mark and state != "open"
        if marked:
            room = scene.grid.label
            text = first_fit([scene.view.text(key) for key in ("tree.lost", "tree.lost_short")], room)
            parts = [*parts, Part(text, 0, HEIGHTS[scene.grid.mode] - 3, "ink")]
        wide = max([right, *(p.dx + label_px(p.text, p.size) for p in parts)])
        tall = HEIGHTS[scene.grid.mode] + (LOST if marked else 0)
        place = (scene.grid.x(column), scene.grid.y[node.id])
        made.append(Label(node, state, *place, token, right, wide, tall, marked, tuple(parts)))
    return made


def _token(node: BeamNode, room: float) -> str:
    """The token's text, visible, in this many px; not escaped."""
    return short(visible(node.token.text) or "⟨⟩", max(1, int(room / CELL)))


def _number(scene: Scene, node: BeamNode, state: State) -> Part:
    """The whole text's probability, or its logarithm."""
    role = "soft" if state == "open" else _on_band(scene, node)
    return Part(amount(node, scene.unit), 0, 0, role, BODY)


def _on_band(scene: Scene, node: BeamNode) -> str:
    """The ink of words that stand on the band along the best text is dark, of others blue."""
    return "ink" if node.id in scene.best and scene.grid.mode != "three" else "kept"


def _fold(scene: Scene, node: BeamNode) -> str:
    if node.id not in scene.folded:
        return ""
    return scene.view.text("tree.folded", count=number(scene.tree.below(node.id)))


def _beside(scene: Scene, node: BeamNode, parts: Sequence[tuple[str, str, int]]) -> tuple[str, list[Part]]:
    """The token, and beside it the words (text, role, size), which take what they need; the token what is left."""
    texts = [part for part in parts if part[0]]
    need = sum(label_px(text, size) + GAP for text, _, size in texts)
    token = _token(node, max(FEWEST * CELL, scene.grid.label - need))
    made, at = [], text_px(token, BODY, mono=True) + GAP
    for text, role, size in texts:
        fitted = fit(text, max(0.0, scene.grid.label - at), size)
        made.append(Part(fitted, at, 0, role, size))
        at += label_px(fitted, size) + GAP
    return token, made


def _one(scene: Scene, node: BeamNode, state: State) -> tuple[str, list[Part]]:
    """`dancing  ✕ width: 0.048 < 0.08`."""
    if state == "cut":
        words = [(reason(node, scene.unit, scene.view, scene.grid.label - FEWEST * CELL - GAP), "cut", SMALL)]
    else:
        part = _number(scene, node, state)
        end = (ends(scene.tree, node, scene.view)[1], _on_band(scene, node), SMALL)
        more = end if state == "end" else (_fold(scene, node), "soft", SMALL)
        words = [(part.text, part.role, BODY), more]
    return _beside(scene, node, words)


def _two(scene: Scene, node: BeamNode, state: State) -> tuple[str, list[Part]]:
    """The number beside the token, the reason below it."""
    room = scene.grid.label
    if state == "cut":
        return _token(node, room), [Part(reason(node, scene.unit, scene.view, room), 0, 16, "cut")]
    part = _number(scene, node, state)
    token, parts = _beside(scene, node, [(part.text, part.role, BODY)])
    below = first_fit(ends(scene.tree, node, scene.view), room) if state == "end" else fit(_fold(scene, node), room)
    return token, [*parts, Part(below, 0, 16, "kept" if state == "end" else "soft")] if below else parts


def _three(scene: Scene, node: BeamNode, state: State) -> tuple[str, list[Part]]:
    """The number, or the reason in one line or two, below the token."""
    room, part = scene.grid.label, _number(scene, node, state)
    if state == "cut":
        lines = [(line, "cut", SMALL) for line in reason_lines(node, scene.unit, scene.view, room)]
    elif state == "end":
        variants = ends(scene.tree, node, scene.view)
        lines = [(part.text, part.role, BODY), (first_fit(variants, room), "kept", SMALL)]
        if label_px(variants[1]) > room:
            score = scene.view.text("tree.end_score", score=ending(scene.tree, node))
            lines = [(f"{part.text} ■", part.role, BODY), (fit(score, room), "kept", SMALL)]
    else:
        lines = [(part.text, part.role, BODY), (fit(_fold(scene, node), room), "soft", SMALL)]
    placed = enumerate(lines)
    return _token(node, room), [Part(line, 0, 16 + 14 * i, role, size) for i, (line, role, size) in placed if line]


def _dense(scene: Scene, node: BeamNode, state: State) -> tuple[str, list[Part]]:
    """The token and a sign; the rest is in the heading and in the hover."""
    sign, role = {"cut": ("✕", "cut"), "end": ("■", "kept")}.get(state, ("", ""))
    if node.id in scene.folded:
        sign, role = f"▸ {number(scene.tree.below(node.id))}", "soft"
    return _beside(scene, node, [(sign, role, SMALL)])


_WRITERS: dict[str, Callable[[Scene, BeamNode, State], tuple[str, list[Part]]]] = {
    "one": _one,
    "two": _two,
    "three": _three,
    "dense": _dense,
}


def heading(scene: Scene, column: int) -> list[tuple[str, str]]:
    """Up to three lines above a depth, each with its role: how many go on, the cut lines, how many are shown.

    Not escaped.
    """
    view, step = scene.view, scene.tree.steps[column]
    room = scene.grid.label + (scene.grid.curve - 6 if column < len(scene.grid.order) - 1 else TAIL - 4)
    depth = view.text("tree.depth", depth=column + 1)
    shown = sum(i in scene.reached for i in scene.grid.order[column])
    total = max(step.considered, len(step.nodes))
    values = {"shown": number(shown), "total": number(total)}
    hidden = [(first_fit([view.text(key, **values) for key in ("tree.shown", "tree.shown_short")], room), "soft")]
    if column == scene.upto - 1 and not scene.verdict:
        return [(depth, "ink"), (fit(view.text("tree.open"), room), "soft"), *hidden][: 3 if shown < total else 2]
    whole = " · ".join([depth, *counts(step.nodes, view)])
    bold = 1.1 if cells(whole) == len(whole) else 1.0  # Latin letters are wider in bold, Chinese ones are not
    first = (whole if label_px(whole) * bold <= room else depth, "ink")
    lines = [cut_line(nodes, scene.unit, view) for nodes in by_rule(step.nodes)]
    cuts = [(first_fit(variants, room), "cut") for variants in lines]
    return [first, *cuts[: 2 - (shown < total)], *(hidden if shown < total else [])]

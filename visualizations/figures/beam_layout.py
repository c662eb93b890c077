"""Where the nodes of a beam search stand: which are shown, how wide a column is, and the height of each node.

One column a depth: a strip for the curves, then a strip for the labels, so that no curve crosses a label. In a column
the children of one parent stand together, in the order of their parents, so that no two edges cross.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from decoding.trace import BeamNode, BeamStep
from visualizations.figures.style import View

Show = Literal["all", "near", "kept"]
"""Every candidate recorded; the kept ones and the nearest of the cut ones; the kept ones only."""
Mode = Literal["one", "two", "three", "dense"]
"""Lines that a label takes; dense: one short line, for many nodes."""

NEAR = 4
"""Cut candidates shown at a depth by `near`, unless more parents than that have nothing else to show."""
CROWD = 16
"""With more rows than this in a column, labels that would take several lines are short."""
LEAST, ROOMY = 118.0, 126.0
"""Least width of a column, px, and its width where the picture must be wider than the view anyway."""
HEIGHTS: dict[Mode, float] = {"one": 18, "two": 34, "three": 48, "dense": 17}
"""Height of a label, px."""
HALF = 9.0
"""From the top of a label to the middle of its first line, px."""
GAPS: dict[Mode, tuple[float, float]] = {"one": (8, 18), "two": (7, 16), "three": (8, 18), "dense": (4, 10)}
"""Between children of one parent, and between those of two parents, px."""
HEAD = 64
"""Room for the headings, px."""
TAIL = 24
"""Room to the right of the last column, for its heading, px."""
LOST = 15
"""Height of the line below a marked label, px."""
SWEEPS = 4
AIRY, STRETCH = 430.0, 1.6
"""A lower picture is stretched to this height, px, but not by more than this factor."""

Offsets = Sequence[float]
Pull = tuple[float, float]
"""Where a node would like to stand, and how strongly."""


@dataclass(frozen=True, slots=True)
class Family:
    """The nodes of a search by id, with their depth (from 0), rank (from 1), children, and final scores.

    `grouped`: whether the beams were kept in several groups.
    """

    steps: Sequence[BeamStep]
    nodes: Mapping[int, BeamNode]
    depths: Mapping[int, int]
    ranks: Mapping[int, int]
    children: Mapping[int | None, Sequence[int]]
    scores: Mapping[int, float]
    grouped: bool

    def path(self, node: int) -> list[BeamNode]:
        """From the first token to this node."""
        found = [self.nodes[node]]
        while (parent := found[-1].parent) is not None:
            found.append(self.nodes[parent])
        return found[::-1]

    def below(self, node: int) -> int:
        """How many nodes descend from it."""
        count, waiting = 0, list(self.children.get(node, ()))
        while waiting:
            count += 1
            waiting += self.children.get(waiting.pop(), ())
        return count

    def reached(self) -> set[int]:
        """The nodes all of whose ancestors were kept."""
        alive: set[int | None] = {None}
        found: set[int] = set()
        for node in self.nodes.values():  # parents come before their children
            if node.parent in alive:
                found.add(node.id)
                if node.fate == "kept":
                    alive.add(node.id)
        return found


def family(steps: Sequence[BeamStep]) -> Family:
    """The nodes of all steps and how they are related."""
    nodes: dict[int, BeamNode] = {}
    depths: dict[int, int] = {}
    ranks: dict[int, int] = {}
    scores: dict[int, float] = {}
    children: dict[int | None, list[int]] = {}
    for depth, step in enumerate(steps):
        for rank, node in enumerate(step.nodes, start=1):
            nodes[node.id], depths[node.id], ranks[node.id] = node, depth, rank
            children.setdefault(node.parent, []).append(node.id)
        scores.update({held.node: held.score for held in step.finished})
    return Family(steps, nodes, depths, ranks, children, scores, any(node.group for node in nodes.values()))


def columns(
    tree: Family, show: Show, always: Collection[int] = (), collapsed: Collection[int] = (), top: int = NEAR
) -> list[list[int]]:
    """The ids shown at each depth, in order: by parent, then by rank. `always` are shown whatever `show` says."""
    order: list[list[int]] = []
    above: list[int | None] = [None]
    for _ in tree.steps:
        here = [child for parent in above if parent not in collapsed for child in tree.children.get(parent, ())]
        if show != "all":
            wanted = {i for i in here if i in tree.children or tree.nodes[i].fate != "pruned"}
            wanted |= _near(tree, here, wanted, top) if show == "near" else set()
            here = [i for i in here if i in wanted or i in always]
        order.append(here)
        above = list(here)
    return order


def _near(tree: Family, here: Sequence[int], wanted: Collection[int], top: int) -> set[int]:
    """The best cut child of each parent that keeps none, then the best of the other cut ones."""
    cut = sorted((i for i in here if i not in wanted), key=lambda i: tree.ranks[i])
    fed = {tree.nodes[i].parent for i in wanted}
    near: list[int] = []
    for i in cut:
        if tree.nodes[i].parent not in fed:
            fed.add(tree.nodes[i].parent)
            near.append(i)
    rest = [i for i in cut if i not in near]
    return {*near, *rest[: max(0, top - len(near))]}


@dataclass(frozen=True, slots=True)
class Grid:
    """The picture's measures in px from its top left corner; `y` is the middle of a label's first line.

    `root` is the width of the root's label, `curve` of a strip of curves, `label` of a strip of labels.
    """

    mode: Mode
    root: float
    curve: float
    label: float
    scroll: bool
    order: Sequence[Sequence[int]]
    y: Mapping[int | None, float]
    height: float

    def x(self, column: int) -> float:
        """Where the labels of a depth (from 0) begin; -1 is the root's."""
        return 0.0 if column < 0 else self.root + self.curve + column * (self.curve + self.label)

    def end(self, column: int) -> float:
        """Where the labels of a depth end and the curves to the next one begin."""
        return self.root if column < 0 else self.x(column) + self.label

    @property
    def width(self) -> float:
        """Of the whole picture."""
        return self.end(len(self.order) - 1) + TAIL


def grid(
    tree: Family,
    view: View,
    order: Sequence[Sequence[int]],
    root: float,
    reason: float,
    zoom: float = 1.0,
    mark: int | None = None,
) -> Grid:
    """Columns as wide as the view allows, and as many lines a label as it then needs.

    `root`: px that the root's label takes at most. `reason`: px of a whole reason in one line.
    """
    crowded = max((len(column) for column in order), default=0) > CROWD
    pitch = (view.width - root - TAIL) / max(1, len(order))
    scroll = zoom > 1 or pitch < LEAST
    pitch = (pitch if pitch >= LEAST else ROOMY) * max(1.0, zoom)
    curve = min(110.0, max(38.0, pitch * 0.3))
    label = pitch - curve
    mode: Mode = "dense" if crowded else "three"
    if label >= reason + 70:
        mode = "one"
    elif label >= reason and not crowded:
        mode = "two"
    y, height = _heights(tree, order, mode, mark)
    return Grid(mode, root, curve, label, scroll, order, y, height)


def _heights(
    tree: Family, order: Sequence[Sequence[int]], mode: Mode, mark: int | None
) -> tuple[dict[int | None, float], float]:
    """y of every node, and of the picture's foot.

    Parents are drawn to the middle of the children that go on, children to their parent, by turns; each time a column
    is laid out by isotonic regression, which keeps its order and its gaps (as in Reingold and Tilford's trees).
    """
    offsets = [_offsets(tree, column, mode, mark) for column in order]
    tall = max((offset[-1] for offset in offsets if offset), default=0.0)
    stretch = min(STRETCH, max(1.0, AIRY / max(tall, 1.0)))
    offsets, tall = [[at * stretch for at in offset] for offset in offsets], tall * stretch
    kin: dict[int | None, list[int]] = {}
    for column in order:
        for node in column:
            kin.setdefault(tree.nodes[node].parent, []).append(node)
    main = {p: [c for c in children if c in kin] or children[:1] for p, children in kin.items()}
    followed = {child for children in main.values() for child in children}
    y: dict[int | None, float] = {None: tall / 2}
    for column, offset in zip(order, offsets, strict=True):
        spare = (tall - offset[-1]) / 2 if offset else 0.0
        y.update(zip(column, [spare + at for at in offset], strict=True))

    def parent(node: int) -> float:
        return y[tree.nodes[node].parent]

    def middle(node: int | None) -> float:
        return (y[main[node][0]] + y[main[node][-1]]) / 2

    layers = list(zip(order, offsets, strict=True))
    for sweep in range(SWEEPS + 1):
        for column, offset in reversed(layers):
            pulls = [(middle(n), 1.0) if n in main else (parent(n), 0.02) for n in column]
            y.update(zip(column, _settled(offset, pulls, tall), strict=True))
        y[None] = middle(None) if kin else y[None]
        if sweep < SWEEPS:
            for column, offset in layers:
                pulls = [(parent(n), 1.0 if n in followed else 0.02) for n in column]
                y.update(zip(column, _settled(offset, pulls, tall), strict=True))
    top = HEAD + HALF
    return {node: at + top for node, at in y.items()}, top + tall + HEIGHTS[mode] - HALF + (
        LOST if mark is not None else 0
    ) + 6


def _offsets(tree: Family, column: Sequence[int], mode: Mode, mark: int | None) -> list[float]:
    """The least distance of each node of a column from the first."""
    offsets = [0.0] * len(column[:1])
    for upper, lower in pairwise(column):
        gap = GAPS[mode][tree.nodes[upper].parent != tree.nodes[lower].parent]
        offsets.append(offsets[-1] + HEIGHTS[mode] + gap + (LOST if upper == mark else 0))
    return offsets


def _settled(offset: Offsets, pulls: Sequence[Pull], tall: float) -> list[float]:
    """Heights in [0, tall] at least as far apart as `offset` says, nearest to the pulls in weighted least squares."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, count
    for at, (want, weight) in zip(offset, pulls, strict=True):
        block = (want - at, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, heavy, count = blocks.pop()
            total = heavy + block[1]
            block = ((mean * heavy + block[0] * block[1]) / total, total, count + block[2])
        blocks.append(block)
    places = [min(max(mean, 0.0), tall - offset[-1]) for mean, _, count in blocks for _ in range(count)]
    return [place + at for place, at in zip(places, offset, strict=True)]

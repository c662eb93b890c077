"""The curves of a beam tree, drawn in few strokes: one trace for each state and width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from visualizations.figures import base
from visualizations.figures.beam_labels import Label, Scene, State
from visualizations.figures.style import mix

WIDTHS = ((0.05, 1.0), (0.2, 2.0), (0.5, 3.4), (1.01, 5.2))
"""Up to this probability, a curve is so wide, px."""
BAND = 19
"""Width of the band along the best text, px."""
CLOSE = 5
"""From a curve's end to the label, px."""
SAMPLES = 18

Path = list[tuple[float, float]]
_TIMES = [i / (SAMPLES - 1) for i in range(SAMPLES)]
_S = [(1.5 * t * (1 - t) ** 2 + 1.5 * t * t * (1 - t) + t**3, 3 * t * t * (1 - t) + t**3) for t in _TIMES]
"""Shares of the way across and down on a cubic Bézier curve that leaves and arrives level."""


def curve(x0: float, y0: float, x1: float, y1: float) -> Path:
    """Level at both ends; a straight line where both are at one height."""
    if abs(y1 - y0) < 0.5:
        return [(x0, y0), (x1, y1)]
    return [(x0 + (x1 - x0) * across, y0 + (y1 - y0) * down) for across, down in _S]


def edges(scene: Scene, labels: Sequence[Label], root_end: float) -> list[base.Trace]:
    """The band along the best text, then what was cut, is open, and goes on; always 13 traces."""
    places = {label.node.id: label for label in labels}
    stems = _stems(labels)
    found: dict[tuple[str, int], list[Path]] = {}
    band: Path = []
    for label in labels:
        state: State = "kept" if label.state == "end" else label.state
        path = _path(scene, label, places, root_end)
        width = next(i for i, (most, _) in enumerate(WIDTHS) if label.node.prob <= most)
        found.setdefault((state, width), []).append(path if label.node.id in stems else path[1:])
        if label.node.id in scene.best:
            band += [*path, (label.x + label.right + CLOSE, label.y)]
    view = scene.view
    colors = {
        "cut": mix(view.color("cut"), view.color("panel"), 0.5),
        "open": mix(view.color("soft"), view.color("panel"), 0.35),
    }
    colors["kept"] = view.color("kept")
    made = [base.lines([band] if band else [], mix(view.color("kept_soft"), view.color("panel"), 0.45), BAND)]
    for state, dash in (("cut", "4px,3px"), ("open", "solid"), ("kept", "solid")):
        for i, (_, px) in enumerate(WIDTHS):
            made.append(base.lines(found.get((state, i), []), colors[state], px, dash))
    for trace in made:
        trace["line"]["simplify"] = False
    return made


def _stems(labels: Sequence[Label]) -> set[int]:
    """The child of each parent whose curve has the level piece that its siblings share: the first that goes on."""
    first: dict[int | None, Label] = {}
    for label in labels:
        old = first.get(label.node.parent)
        if old is None or (old.state == "cut" and label.state != "cut"):
            first[label.node.parent] = label
    return {label.node.id for label in first.values()}


def _path(scene: Scene, label: Label, places: Mapping[int, Label], root_end: float) -> Path:
    """From the end of the parent's first line, level through its strip, then across to the label."""
    depth = scene.tree.depths[label.node.id]
    parent = None if label.node.parent is None else places[label.node.parent]
    start = root_end if parent is None else parent.x + parent.right + CLOSE
    y = scene.grid.y[None] if parent is None else parent.y
    bend = max(start, scene.grid.end(depth - 1))
    return [(start, y), *curve(bend, y, label.x - CLOSE, label.y)]

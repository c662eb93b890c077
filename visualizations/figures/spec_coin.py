"""The bar that accepts or rejects: what the rule compares, and where this token came to lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from decoding.trace import Verdict
from visualizations.figures import base
from visualizations.figures.spec_sheet import Sheet, chance, says
from visualizations.figures.style import BODY, SMALL, apart, literal, number, text_px

PIN, TOP, BOTTOM, BELOW, HEIGHT = 9, 22, 50, 62, 74
"""y of the pin's label, the bar's top and bottom, the labels below, and the height of it all, px."""
MOST_CELLS = 8
"""Most ranks that have a cell each."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the bar, as shares of its width."""

    low: float
    high: float
    accepts: bool


def bar(sheet: Sheet, verdict: Verdict, own: float | None = None) -> None:
    """The rule's bar; `own`: the uniform of the target's own draw there, where it is known."""
    if verdict.rule == "top_k":
        _ranks(sheet, verdict)
    elif verdict.rule == "typical":
        _typical(sheet, verdict)
    elif verdict.rule == "exact":
        _exact(sheet, verdict, own)
    else:
        _lossless(sheet, verdict)


def _lossless(sheet: Sheet, verdict: Verdict) -> None:
    """Accept below min(1, p/q)."""
    border = 1.0 if verdict.threshold is None else verdict.threshold
    parts = [Part(0, border, True), Part(border, 1, False)]
    below = [(border, f"min(1, p/q) = {told(border, verdict.uniform)}")]
    u = verdict.uniform
    pin = None if u is None else (u, f"u = {told(u, border)}")
    _draw(sheet, parts, pin, [(0, "0"), (1, "1"), *below])


def _typical(sheet: Sheet, verdict: Verdict) -> None:
    """Accept above a threshold of p."""
    border = verdict.threshold or 0.0
    parts = [Part(0, border, False), Part(border, 1, True)]
    label = sheet.view.text("spec.threshold", value=told(border, verdict.target_prob))
    pin = (verdict.target_prob, f"p = {told(verdict.target_prob, border)}")
    _draw(sheet, parts, pin, [(0, "0"), (1, "1"), (border, label)])


def _exact(sheet: Sheet, verdict: Verdict, u: float | None) -> None:
    """Accept where the target's own draw lands on this token, the tokens laid end to end, likeliest first."""
    found = stretch(verdict)
    if found is None:
        return
    low, high = found
    parts = [Part(0, low, False), Part(low, high, True), Part(high, 1, False)]
    pin = None if u is None else (u, f"u = {told(u, low, high)}")
    _draw(sheet, parts, pin, [(0, "0"), (1, "1"), ((low + high) / 2, says("p", verdict.target_prob))])


def stretch(verdict: Verdict) -> tuple[float, float] | None:
    """What this token covers of [0, 1) in the target's law laid end to end; None where likelier ones are not listed."""
    probs = sorted((c.prob for c in verdict.target.top), reverse=True)
    if len(probs) < verdict.rank or abs(probs[verdict.rank - 1] - verdict.target_prob) > 1e-12:
        return None
    low = min(1.0, sum(probs[: verdict.rank - 1]))
    return low, min(1.0, low + verdict.target_prob)


def _ranks(sheet: Sheet, verdict: Verdict) -> None:
    """Accept the K likeliest: a cell a rank, and one for all ranks beyond."""
    most, rank = round(verdict.threshold or 1), verdict.rank
    text = sheet.view.text
    cell = 1 / (most + 1) if most <= MOST_CELLS else 0.75 / most
    border = cell * most
    place = (rank - 0.5) * cell if verdict.accepted else (1 + border) / 2
    if most <= MOST_CELLS:
        parts = [Part(i * cell, (i + 1) * cell, True) for i in range(most)]
        below = [((i + 0.5) * cell, number(i + 1)) for i in range(most)]
    else:
        parts = [Part(0, border, True)]
        below = [(border / 2, text("spec.ranks", last=number(most)))]
    below.append(((1 + border) / 2, text("spec.ranks_beyond", last=number(most))))
    pin = "p = 0" if verdict.target_prob <= 0 else text("spec.rank", rank=number(rank))
    _draw(sheet, [*parts, Part(border, 1, False)], (place, pin), below)


def told(value: float, *others: float | None) -> str:
    """The number with as many digits as tell it from those beside it."""
    known = [other for other in others if other is not None]
    digits = apart(value, *known)
    if 0.9995 <= value < 1 - 1e-12:
        digits = max(digits, math.ceil(-math.log10(1 - value)))  # else it reads as 1
    return f"{value:.{digits}f}" if digits > 2 and value >= 1e-5 else chance(value)


def _draw(
    sheet: Sheet, parts: Sequence[Part], pin: tuple[float, str] | None, below: Sequence[tuple[float, str]]
) -> None:
    view, top, wide = sheet.view, sheet.y, sheet.view.width - 2
    for accepts in (True, False):
        boxes = [(p.low * wide + 1, p.high * wide + 1) for p in parts if p.accepts == accepts and p.high > p.low]
        sheet.data += _boxes(sheet, boxes, accepts, top, None if pin is None else 1 + pin[0] * wide)
    if pin is not None:
        x = 1 + pin[0] * wide
        sheet.data.append(base.lines([((x, top + PIN + 9), (x, top + BOTTOM + 3))], view.color("ink"), 2.5))
        half = text_px(pin[1], BODY, mono=True) / 2
        center = min(max(x, half), view.width - half)
        words = [(center, top + PIN, literal(pin[1]))]
        sheet.data.append(base.texts(words, view.color("ink"), "middle center", BODY, mono=True))
    sheet.data.append(base.texts(_placed(below, wide, top), view.color("soft"), "middle center", SMALL, mono=True))
    sheet.y += HEIGHT


def _boxes(
    sheet: Sheet, boxes: Sequence[tuple[float, float]], accepts: bool, top: float, pin: float | None
) -> list[base.Trace]:
    """Accepting stretches solid, rejecting ones hollow and dashed; each says which where the pin leaves room."""
    view, middle = sheet.view, top + (TOP + BOTTOM) / 2
    words = view.text("spec.accept" if accepts else "spec.reject")
    free = [part for box in boxes for part in _beside(box, pin)]
    fits = [(a, b) for a, b in free if text_px(words, SMALL) + 8 <= b - a]
    widest = sorted(fits, key=lambda box: box[0] - box[1])[:1]
    labels = [((a + b) / 2, middle, words) for a, b in widest]
    if not accepts:
        outlines = [(a + 1, top + TOP, b, top + BOTTOM) for a, b in boxes]
        return [base.dashed(outlines, view.color("cut")), base.texts(labels, view.color("cut"), "middle center", SMALL)]
    solid = base.bars(
        [max(0.75, b - a - 1) for a, b in boxes],
        [middle] * len(boxes),
        view.color("kept"),
        BOTTOM - TOP,
        base=[a for a, _ in boxes],
    )
    return [solid, base.texts(labels, view.color("panel"), "middle center", SMALL)]


def _beside(box: tuple[float, float], pin: float | None) -> list[tuple[float, float]]:
    """The parts of a stretch at both sides of the pin."""
    low, high = box
    return [box] if pin is None or not low < pin < high else [(low, pin - 3), (pin + 3, high)]


def _placed(below: Sequence[tuple[float, str]], wide: float, top: float) -> list[tuple[float, float, str]]:
    """Labels under the bar, within it; of two that would touch, the later stays."""
    placed: list[tuple[float, float, str]] = []
    taken: list[tuple[float, float]] = []
    for share, words in reversed(below):
        half = text_px(words, SMALL, mono=True) / 2 + 3
        x = min(max(1 + share * wide, half), wide + 2 - half)
        if all(x + half <= low or x - half >= high for low, high in taken):
            taken.append((x - half, x + half))
            placed.append((x, top + BELOW, literal(words)))
    return placed

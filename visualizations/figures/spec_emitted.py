"""What two rules write beside what the target wants: three bars a token, exact, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.trace import Token
from visualizations.figures import base
from visualizations.figures.spec_sheet import chance
from visualizations.figures.style import BODY, SMALL, Figure, View, literal, text_px, token_label

THICK, PITCH, GAP = 11, 15, 12
"""Thickness of a bar, pitch of the three, room between two tokens, px."""
SAME = 1e-9
"""Probabilities nearer than this differ by rounding only."""
BARS = (("target", "soft"), ("lossless", "kept"), ("top_k", "cut"))
"""Whose bars, in order, and their colours."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """A token, what the target wants, and how often each rule writes it."""

    token: Token
    target: float
    lossless: float
    top_k: float

    def of(self, name: str) -> float:
        """By the name of a bar."""
        return {"target": self.target, "lossless": self.lossless, "top_k": self.top_k}[name]


def emitted(rows: Sequence[Emitted], view: View) -> Figure:
    """A group of bars a token, the first named; a number that is not the target's has an arrow."""
    names = {name: view.text(f"lossless.bar_{name}") for name, _ in BARS}
    left = max(text_px(token_label(row.token.text, 12), BODY, mono=True) for row in rows) + 12
    room = max(map(text_px, names.values())) + text_px("0.00 ▲ ", SMALL, mono=True) + 16
    unit = max(40.0, view.width - left - room) / max(row.of(name) for row in rows for name, _ in BARS)
    tall = PITCH * len(BARS) + GAP
    data = [_hover(rows, view, tall)]
    data.append(
        base.texts(
            [(0, tall * at + tall / 2, token_label(row.token.text, 12)) for at, row in enumerate(rows)],
            view.color("ink"),
            mono=True,
        )
    )
    for place, (name, color) in enumerate(BARS):
        ys = [tall * at + GAP / 2 + PITCH * (place + 0.5) for at in range(len(rows))]
        lengths = [max(0.75, unit * row.of(name)) for row in rows]
        data.append(base.bars(lengths, ys, view.color(color), THICK, left))
        said = [_said(row, name, names[name] if at == 0 else "") for at, row in enumerate(rows)]
        points = [(left + long + 6, y, words) for long, y, words in zip(lengths, ys, said, strict=True)]
        data.append(base.texts(points, view.color("ink" if name == "target" else color), size=SMALL))
    height = tall * len(rows)
    return base.figure(data, base.layout(view, height, xaxis=base.axis(0, view.width), yaxis=base.axis(height, 0)))


def _said(row: Emitted, name: str, whose: str) -> str:
    """The number, an arrow where it is not the target's, and on the first token whose it is."""
    share = row.of(name)
    arrow = "" if abs(share - row.target) < SAME else " ▲" if share > row.target else " ▼"
    return literal(chance(share) + arrow + (f"  {whose}" if whose else ""))


def _hover(rows: Sequence[Emitted], view: View, tall: float) -> base.Trace:
    said = [
        ["<br>".join(literal(f"{view.text(f'lossless.bar_{name}')}: {chance(row.of(name))}") for name, _ in BARS)]
        for row in rows
    ]
    edges = [tall * at for at in range(len(rows) + 1)]
    return base.targets([0, view.width], edges, said, [[None] for _ in rows])

"""Pieces of the verdict's picture: pairs of bars for p and q, bars of one law, and the bar that accepts or rejects.

All places are in px from the top left corner; every bar has the same scale, a probability of 1 over the whole
column, so that lengths compare within a picture and from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from decoding.trace import Candidate, Distribution, Token
from visualizations.figures import base
from visualizations.figures.rules import token_lines
from visualizations.figures.style import (
    BODY,
    SMALL,
    Figure,
    View,
    literal,
    number,
    percent_label,
    short,
    text_px,
    token_label,
)

Role = Literal["redrawn", "bonus", "kept"]

THICK, PAIR, ROW = 10, 34, 24
"""Thickness of one bar of a pair, pitch of the pairs, pitch of single bars, px."""
HEAD = 26
"""Room of a heading, px."""
MONO_EM = 0.61
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def chance(prob: float) -> str:
    """0.31, 0.0016, 3.1×10⁻⁵, 0.996: two significant digits or two decimals; never 1 or 0 for what is neither."""
    if prob <= 0:
        return "0"
    if prob < 0.0001:
        digits, power = f"{prob:.1e}".split("e-")
        return f"{digits}×10⁻{str(int(power)).translate(RAISED)}"
    if prob >= 1 - 1e-12:
        return "1"
    if prob >= 0.9995:
        return "> 0.999"
    if prob >= 0.995:
        return f"{prob:.3f}"
    return f"{prob:.2f}" if prob >= 0.0995 else f"{prob:.2g}"


def says(name: str, prob: float) -> str:
    """`p = 0.31`, `q > 0.999`."""
    told = chance(prob)
    return f"{name} {told}" if told[0] == ">" else f"{name} = {told}"


@dataclass(frozen=True, slots=True)
class Pair:
    """A token and its two probabilities; without a token, all tokens that are not shown."""

    token: Token | None
    target_prob: float
    draft_prob: float


@dataclass(slots=True)
class Sheet:
    """A picture in the making, from the top down: what is on it, and the height used."""

    view: View
    data: list[base.Trace] = field(default_factory=list)
    y: float = 0.0

    @property
    def limit(self) -> int:
        """Columns of a token's label."""
        return 9 if self.view.width < 380 else 12

    @property
    def left(self) -> float:
        """x where bars begin."""
        return (self.limit + 2) * BODY * MONO_EM + 8

    @property
    def bar(self) -> float:
        """Length of a bar of probability 1."""
        widest = max(text_px(self.view.text(f"spec.named_{name}"), SMALL, mono=True) for name in ("target", "draft"))
        return max(60.0, self.view.width - self.left - widest - 8 * SMALL * MONO_EM - 14)

    def figure(self) -> Figure:
        """The picture."""
        height = max(self.y, 40)
        frame = base.layout(self.view, height, xaxis=base.axis(0, self.view.width), yaxis=base.axis(height, 0))
        return base.figure(self.data, frame)

    def heading(self, words: str) -> None:
        """A line of soft words above what follows."""
        self.data.append(base.texts([(0, self.y + HEAD / 2, literal(words))], self.view.color("soft"), size=SMALL))
        self.y += HEAD

    def gap(self, height: float) -> None:
        """Free room."""
        self.y += height

    def pairs(self, pairs: Sequence[Pair], chosen: int) -> None:
        """Two bars a token; those of the first say whose they are. `chosen`: the id of the token that is marked."""
        view, top = self.view, self.y
        ys = [top + PAIR * i + PAIR / 2 for i in range(len(pairs))]
        named = [(y, pair) for y, pair in zip(ys, pairs, strict=True) if pair.token is not None]
        rest = [(y, pair) for y, pair in zip(ys, pairs, strict=True) if pair.token is None]
        self.data.append(self._hover(pairs, [top + PAIR * i for i in range(len(pairs) + 1)]))
        for of, shift, color in ((_target, -1, "kept"), (_draft, 1, "draft")):
            places = [y + shift * (THICK / 2 + 0.5) for y, _ in named]
            self.data.append(self._bars([of(p) for _, p in named], places, view.color(color)))
            hollow = self._bars([of(p) for _, p in rest], [y + shift * (THICK / 2 + 0.5) for y, _ in rest], "")
            self.data.append(base.hatched(hollow, view))
        self._labels([(y, pair.token, 0) for y, pair in zip(ys, pairs, strict=True)], chosen)
        words = []
        for i, (y, pair) in enumerate(zip(ys, pairs, strict=True)):
            for name, letter, prob, shift in (
                ("target", "p", pair.target_prob, -1),
                ("draft", "q", pair.draft_prob, 1),
            ):
                label = view.text(f"spec.named_{name}") if i == 0 else letter
                words.append((y + shift * 7.5, f"{label} {chance(prob)}"))
        self._amounts(words, strong=2)
        self.y += PAIR * len(pairs)

    def law(self, law: Distribution, chosen: Token, role: Role, most: int = 5) -> None:
        """One bar a token of a law, likeliest first, the token drawn among them; the rest as one."""
        shown, left = listed(law, chosen.id, most)
        mass = max(0.0, 1 - sum(c.prob for c in shown))
        rows = [(c.token, c.prob, 0) for c in shown] + ([(None, mass, left)] if left and mass > 1e-9 else [])
        ys = [self.y + ROW * i + ROW / 2 for i in range(len(rows))]
        edges = [self.y + ROW * i for i in range(len(rows) + 1)]
        hover = [self._words(token, count, percent_label(prob)) for token, prob, count in rows]
        ids = [[token.id if token else None] for token, _, _ in rows]
        self.data.append(base.targets([0, self.view.width], edges, [[each] for each in hover], ids))
        solid = [(y, prob) for y, (token, prob, _) in zip(ys, rows, strict=True) if token is not None]
        hollow = [(y, prob) for y, (token, prob, _) in zip(ys, rows, strict=True) if token is None]
        self.data.append(self._bars([p for _, p in solid], [y for y, _ in solid], self.view.color(role), 14))
        self.data.append(base.hatched(self._bars([p for _, p in hollow], [y for y, _ in hollow], "", 14), self.view))
        self._labels([(y, token, count) for y, (token, _, count) in zip(ys, rows, strict=True)], chosen.id)
        strong = next(i for i, (token, _, _) in enumerate(rows) if token is not None and token.id == chosen.id)
        self._amounts([(y, chance(prob)) for y, (_, prob, _) in zip(ys, rows, strict=True)], strong, strong + 1)
        self.y += ROW * len(rows)

    def _bars(self, probs: Sequence[float], ys: Sequence[float], color: str, thickness: float = THICK) -> base.Trace:
        lengths = [max(1.0, prob * self.bar) if prob > 0 else 0.0 for prob in probs]
        return base.bars(lengths, ys, color, thickness, base=self.left)

    def _labels(self, rows: Sequence[tuple[float, Token | None, int]], chosen: int) -> None:
        """Tokens at the left of their bars, the chosen one marked; what stands for many in words."""
        x = self.left - 8
        named = [(y, token) for y, token, _ in rows if token is not None]
        tokens = [(x, y, self._name(token, token.id == chosen)) for y, token in named]
        colors = [self.view.color("ink" if token.id == chosen else "soft") for _, token in named]
        others = [(x, y, self._others(count)) for y, token, count in rows if token is None]
        self.data.append(base.texts(tokens, colors, "middle left", BODY, mono=True))
        self.data.append(base.texts(others, self.view.color("soft"), "middle left", SMALL))

    def _name(self, token: Token, chosen: bool) -> str:
        name = token_label(token.text, self.limit)
        return f"▸ <b>{name}</b>" if chosen else name

    def _others(self, count: int) -> str:
        """`49,143 others`; without a number where it is not known."""
        words = self.view.text("rows.others", count=number(count)) if count else self.view.text("spec.others")
        return literal(short(words, self.limit + 4))

    def _amounts(self, words: Sequence[tuple[float, str]], first: int = 0, strong: int = 0) -> None:
        """Numbers in a column at the right; those from `first` up to `strong` in full ink."""
        x = self.view.width - 2
        colors = [self.view.color("ink" if first <= i < strong else "soft") for i in range(len(words))]
        points = [(x, y, literal(text.replace("< ", "<").replace("> ", ">"))) for y, text in words]
        self.data.append(base.texts(points, colors, "middle left", SMALL, mono=True))

    def _hover(self, pairs: Sequence[Pair], edges: Sequence[float]) -> base.Trace:
        words = [
            self._words(
                pair.token,
                0,
                self.view.text("spec.hover_pair", p=percent_label(pair.target_prob), q=percent_label(pair.draft_prob)),
            )
            for pair in pairs
        ]
        ids = [[pair.token.id if pair.token else None] for pair in pairs]
        return base.targets([0, self.view.width], edges, [[each] for each in words], ids)

    def _words(self, token: Token | None, count: int, amount: str) -> str:
        first = token_lines(token, self.view) if token else [literal(self._others(count))]
        return "<br>".join([*first, amount])


def _target(pair: Pair) -> float:
    return pair.target_prob


def _draft(pair: Pair) -> float:
    return pair.draft_prob


def listed(law: Distribution, chosen: int, most: int) -> tuple[list[Candidate], int]:
    """The likeliest `most` tokens of a law, the chosen one always among them; and how many more it keeps."""
    able = sorted((c for c in law.top if c.prob > 0), key=lambda c: (-c.prob, c.token.id))
    shown = able[:most]
    if all(c.token.id != chosen for c in shown):
        shown = able[: most - 1] + [c for c in able if c.token.id == chosen]
    return shown, len(able) - len(shown) + law.tail_count

"""How every figure looks: colours by role, fonts, and text made safe for Plotly's labels."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from decoding.trace import Token

Theme = Literal["light", "dark"]

COLORS: dict[Theme, dict[str, str]] = {
    "light": {
        "kept": "#0072b2",
        "kept_soft": "#c8e0ee",
        "cut": "#b4480a",
        "redrawn": "#8a5a00",
        "bonus": "#00795a",
        "draft": "#56b4e9",
        "paper": "#fbfaf7",
        "panel": "#ffffff",
        "ink": "#1d1f24",
        "soft": "#5d6470",
        "line": "#e3e0d8",
    },
    "dark": {
        "kept": "#58b1e8",
        "kept_soft": "#27404f",
        "cut": "#f0854a",
        "redrawn": "#e6b450",
        "bonus": "#3fc79d",
        "draft": "#9fd3f2",
        "paper": "#15171b",
        "panel": "#1d2026",
        "ink": "#eceae4",
        "soft": "#a3a9b4",
        "line": "#31353d",
    },
}
"""One role, one colour, everywhere; each has a second sign beside it (shape, mark or word)."""

SANS = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", "Noto Sans CJK SC", "PingFang SC", sans-serif'
MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace'

SMALL, BODY = 12, 13
"""Font sizes in px; nothing is smaller."""

Figure = dict[str, Any]
"""`{"data": [...], "layout": {...}}`; `plotly.graph_objects.Figure(figure)` accepts it."""


@dataclass(frozen=True, slots=True)
class View:
    """Who looks: `text` is the language (a `visualizations.text.Text`), `theme`, and the width in px."""

    text: Callable[..., str]
    theme: Theme = "light"
    width: int = 800

    @property
    def narrow(self) -> bool:
        """A phone's column: shorten labels, drop what hover also tells."""
        return self.width < 480

    def color(self, role: str) -> str:
        """The colour of a role in this theme."""
        return COLORS[self.theme][role]


def visible(token_text: str) -> str:
    """Spaces and controls made visible: leading and trailing spaces as ␣, newline ↵, tab ⇥."""
    body = token_text.strip(" ")
    lead = len(token_text) - len(token_text.lstrip(" "))
    trail = len(token_text) - lead - len(body)
    if not body.isprintable():
        body = body.replace("\n", "↵").replace("\r", "␍").replace("\t", "⇥")
        body = "".join(c if c.isprintable() or c == "\u200d" else f"⟨U+{ord(c):04X}⟩" for c in body)
    return "␣" * lead + body + "␣" * trail


_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "{": "&#123;", "}": "&#125;"}  # tags, TeX, templates
)


def literal(text: str) -> str:
    """Text as Plotly must draw it: no tag, entity, template or TeX of it is interpreted."""
    return text.translate(_ENTITIES)


def cells(text: str) -> int:
    """Columns a monospaced font gives to this text: two for an East Asian character, none for a mark."""
    if text.replace("␣", " ").isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) != 0 or c == "\u200d" for c in text)


def text_px(text: str, size: int = SMALL, mono: bool = False) -> float:
    """Upper estimate of a text's width in px, so that labels are placed without asking a browser."""
    return cells(text) * size * (0.61 if mono else 0.56)


def short(text: str, limit: int) -> str:
    """At most `limit` columns; what is cut off is marked with …"""
    if cells(text) <= limit:
        return text
    while text and (cells(text) > limit - 1 or text[-1] == "\u200d"):
        text = text[:-1]
    return text + "…"


def token_label(text: str, limit: int = 16) -> str:
    """A token's text for a label: visible, cut to `limit` columns, safe."""
    return literal(short(visible(text) or "⟨⟩", limit))


def _as_hex(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are no character, as ⟨F0 9F⟩."""
    assert isinstance(error, UnicodeDecodeError)
    return f"⟨{error.object[error.start : error.end].hex(' ').upper()}⟩", error.end


codecs.register_error("shown as hex", _as_hex)


def running_text(tokens: Sequence[Token], joiner: str = "") -> str:
    """The text that these tokens make; only bytes that stay half a character are shown as bytes."""
    return joiner.encode().join(token.bytes for token in tokens).decode(errors="shown as hex")


def quoted(text: str) -> str:
    """A token's text inside a sentence of the page (not of a figure: nothing is escaped)."""
    return f"“{short(visible(text) or '⟨⟩', 24)}”"


def percent(prob: float) -> str:
    """76.2 %; never `0.0 %` for what can happen, nor `100.0 %` for what need not."""
    if prob <= 0:
        return "0 %"
    if prob < 0.0001:
        return "< 0.01 %"
    if prob < 0.01:
        return f"{100 * prob:.2f} %"
    if prob >= 1 - 1e-12:
        return "100 %"
    return "> 99.9 %" if prob >= 0.9995 else f"{100 * prob:.1f} %"


def percent_label(prob: float) -> str:
    """The same, safe for a figure."""
    return percent(prob).replace("<", "&lt;").replace(">", "&gt;")


def number(count: int) -> str:
    """49,152"""
    return f"{count:,}"


def decimal(value: float, digits: int = 2) -> str:
    """−1.20: a true minus sign, and no minus before zero."""
    text = f"{value:.{digits}f}"
    if text[0] != "-":
        return text
    return f"−{text[1:]}" if text.strip("-0.") else text[1:]


def signed(value: float, digits: int = 2) -> str:
    """+0.83, −1.20; zero has no sign. The minus is as wide as the plus."""
    text = decimal(value, digits)
    return text if text[0] == "−" or not text.strip("0.") else f"+{text}"


def apart(value: float, *others: float) -> int:
    """Digits (2 to 6) after which `value` is seen to differ from each of `others`."""
    for digits in range(2, 6):
        if all(f"{value:.{digits}f}" != f"{other:.{digits}f}" for other in others):
            return digits
    return 6


def spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places near `wanted` (sorted upwards) at least `gap` apart, in [low, high] where they fit.

    Neighbours that are too close form a block centred on the mean of what they wanted.
    """
    blocks: list[tuple[float, int]] = []  # (first place, how many)
    for want in wanted:
        block = (min(max(want, low), max(low, high)), 1)
        while blocks and blocks[-1][0] + gap * blocks[-1][1] > block[0]:
            (a, m), (b, n) = blocks.pop(), block
            start = (a * m + (b - gap * m) * n) / (m + n)
            block = (min(max(start, low), max(low, high - gap * (m + n - 1))), m + n)
        blocks.append(block)
    return [start + gap * i for start, count in blocks for i in range(count)]


def mix(first: str, second: str, share: float) -> str:
    """`share` of the second colour in the first; both as #rrggbb."""
    pairs = [(int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)

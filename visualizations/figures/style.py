"""How every figure looks: colours by role, fonts, and text made safe for Plotly's labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

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
    body = body.replace("\n", "↵").replace("\r", "␍").replace("\t", "⇥")
    return "␣" * lead + "".join(c if c.isprintable() or c == "\u200d" else f"⟨U+{ord(c):04X}⟩" for c in body) + "␣" * trail


def literal(text: str) -> str:
    """Text as Plotly must draw it: no tag, entity, template or TeX of it is interpreted."""
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;"), ("{", "&#123;"), ("}", "&#125;")):
        text = text.replace(char, entity)
    return text

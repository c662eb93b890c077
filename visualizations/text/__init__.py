"""Every word people read, in English and Chinese, side by side: key -> (en, zh)."""

from __future__ import annotations

import re
from typing import Any, Literal

from decoding.errors import UserError
from visualizations.text.errors import ERRORS
from visualizations.text.figures import FIGURES
from visualizations.text.lab import LAB
from visualizations.text.pages import PAGES
from visualizations.text.quiz import QUIZ

Lang = Literal["en", "zh"]
LANGS: tuple[Lang, ...] = ("en", "zh")

STRINGS: dict[str, tuple[str, str]] = {**FIGURES, **LAB, **PAGES, **QUIZ}


_ONE = re.compile(
    r"(?<![\w.,])1 (token|item|move|probe|step|merge|draw|column|race|operation|run|degree)s\b"
    r"(?P<of> of freedom)?(?P<verb> (?:are|were)\b)?"
)
"""`1 tokens are`: numbers are filled in, so English agrees with them afterwards."""


def _singular(match: re.Match[str]) -> str:
    verb = {" are": " is", " were": " was"}.get(match["verb"] or "", "")
    return f"1 {match[1]}{match['of'] or ''}{verb}"


class Text:
    """The strings of one language: `text("bars.title", step=4)`."""

    def __init__(self, lang: Lang) -> None:
        self.lang: Lang = lang
        self._column = LANGS.index(lang)

    def __call__(self, key: str, **values: Any) -> str:
        string = STRINGS[key][self._column]
        if not values:
            return string
        filled = string.format(**values)
        return _ONE.sub(_singular, filled) if self.lang == "en" else filled

    def error(self, error: UserError) -> str:
        """A user's mistake in this language."""
        return str(error) if self.lang == "en" else ERRORS[error.code].format(**error.values)

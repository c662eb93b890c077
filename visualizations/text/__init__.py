"""Every word people read, in English and Chinese, side by side: key -> (en, zh)."""

from __future__ import annotations

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


class Text:
    """The strings of one language: `text("bars.title", step=4)`."""

    def __init__(self, lang: Lang) -> None:
        self.lang: Lang = lang
        self._column = LANGS.index(lang)

    def __call__(self, key: str, **values: Any) -> str:
        string = STRINGS[key][self._column]
        return string.format(**values) if values else string

    def error(self, error: UserError) -> str:
        """A user's mistake in this language."""
        return str(error) if self.lang == "en" else ERRORS[error.code].format(**error.values)

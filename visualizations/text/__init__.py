"""Every word people read, in English and Chinese, side by side: key -> (en, zh)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from decoding.errors import MESSAGES, UserError
from visualizations.text.align import ALIGN
from visualizations.text.beam import BEAM
from visualizations.text.beam_page import BEAM_PAGE
from visualizations.text.errors import ERRORS
from visualizations.text.figures import FIGURES
from visualizations.text.lab import LAB
from visualizations.text.lossless import LOSSLESS
from visualizations.text.pages import PAGES
from visualizations.text.quiz import QUIZ
from visualizations.text.race import RACE
from visualizations.text.speculative import SPECULATIVE
from visualizations.text.step_cost import STEP_COST
from visualizations.text.sweep import SWEEP

Lang = Literal["en", "zh"]
LANGS: tuple[Lang, ...] = ("en", "zh")

STRINGS: dict[str, tuple[str, str]] = {
    **ALIGN,
    **BEAM,
    **BEAM_PAGE,
    **FIGURES,
    **LAB,
    **LOSSLESS,
    **PAGES,
    **QUIZ,
    **RACE,
    **SPECULATIVE,
    **STEP_COST,
    **SWEEP,
}
CONTROLS = {
    "max_new_tokens": "controls.new_tokens",
    "num_beams": "beam.beams",
    "sample_first": "beam.first",
    "num_beam_groups": "beam.groups",
    "diversity_penalty": "beam.diversity",
    "length_penalty": "beam.penalty",
    "gamma": "spec.gamma",
    "exit_layer": "spec.exit_layer",
    "verify_top_k": "spec.verify_top_k",
    "drafter": "spec.drafter",
    "verifier": "spec.verifier",
}
"""A setting whose control has another name -> the key of that control's label."""
NEEDED = {"num_beam_groups": "beam.groups", "search": "beam.search"}
"""Settings that another one needs -> the keys of their controls' labels."""
EMPTY = ("empty", "空的")
"""What a field holds where nothing was typed."""
ABOUT_SETTINGS = frozenset({"out_of_range", "not_a_number", "unknown_choice", "option_unused"})
"""Mistakes whose `name` is a setting's."""


_ONE = re.compile(
    r"(?<![\w.,])1 (token|item|move|probe|step|merge|draw|column|race|operation|run|degree|beam|sentence|candidate|other|core|round|pass(?=es))(?:e?s)\b"
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
        """A user's mistake in this language; a setting by the name that its control bears on the page."""
        messages = MESSAGES if self.lang == "en" else ERRORS
        if error.code not in ABOUT_SETTINGS:
            return messages[error.code].format(**error.values)
        said = messages[error.code].format(**self._as_labelled(error.values))
        return said if self.lang == "en" else said.replace("” ", "”")  # a full-width mark brings its own room

    def _as_labelled(self, values: Mapping[str, Any]) -> dict[str, Any]:
        named, name = dict(values), str(values["name"])
        keys = (CONTROLS.get(name, ""), f"controls.{name}", f"processor.{name}")
        if key := next((key for key in keys if key in STRINGS), None):
            label = STRINGS[key][self._column]
            named["name"] = f"“{label}”"
            if "limit" in named:
                named["limit"] = str(named["limit"]).replace(name, label)
        if "needs" in named:
            for setting, key in NEEDED.items():
                named["needs"] = str(named["needs"]).replace(setting, STRINGS[key][self._column])
        if named.get("value") == "None":  # a field that was left empty
            named["value"] = EMPTY[self._column]
        return named

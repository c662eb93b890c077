"""Probability tables that people write: read from JSON and checked, each mistake told in one sentence.

    {"name": "pets", "end": "<end>", "max_words": 2,
     "rows": {"": {"cats": 0.5, "dogs": 0.5}, "cats": {"purr": 0.9, "<end>": 0.1}},
     "default": {"sleep": 1}}

A row's name is the words so far, with single spaces; the row gives the next word's probabilities,
which sum to 1. After `max_words` words (optional) the end token is certain. Words that no row is
named after are followed by `default`, and without one by the word `…` for certain.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from decoding.errors import UserError

TABLES = Path(__file__).parent / "tables"
"""The tables that come with the app."""
MAX_BYTES = 1_000_000
MAX_ROWS = 10_000
SUM_TOLERANCE = 1e-6
REST = "…"
"""The word that takes what a table leaves open."""
START = "<start>"
JOINER = "\u200d"
KEYS = frozenset({"name", "end", "max_words", "rows", "default"})


@dataclass(frozen=True, slots=True)
class Table:
    """A checked table: `rows` by the words so far; every row sums to 1 to rounding."""

    name: str
    end: str
    max_words: int | None
    rows: Mapping[tuple[str, ...], Mapping[str, float]]
    default: Mapping[str, float]

    def after(self, words: tuple[str, ...]) -> Mapping[str, float]:
        """Probabilities of the next word."""
        if self.end in words or (self.max_words is not None and len(words) >= self.max_words):
            return {self.end: 1.0}
        return self.rows.get(words, self.default)

    def vocabulary(self) -> tuple[str, ...]:
        """All words in order of first appearance, then the end token."""
        rows = [*self.rows.values(), self.default]
        words = [word for row in rows for word in row] + [word for name in self.rows for word in name]
        return (*(word for word in dict.fromkeys(words) if word != self.end), self.end)


def names() -> list[str]:
    """The tables that come with the app."""
    return sorted(path.stem for path in TABLES.glob("*.json"))


def read(path: Path) -> Table:
    """The table in a file. Raises UserError for a file that cannot be read and for any mistake in it."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError("toy_no_file", path=str(path), reason=error.strerror or str(error)) from error
    if len(data) > MAX_BYTES:
        raise UserError("toy_too_large", path=str(path), limit=f"{MAX_BYTES:,}", unit="bytes")
    try:
        value = json.loads(data.decode(), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError("toy_broken", where=path.name, why=_why(error)) from error
    return parse(value, path.stem)


def parse(value: Any, name: str) -> Table:
    """The table that parsed JSON stands for; `name` where it has none."""
    if not isinstance(value, dict):
        raise UserError("toy_broken", where=name, why="it must be a JSON object")
    if unknown := sorted(set(value) - KEYS):
        raise UserError("unknown_choice", name="a key of the table", value=unknown[0], choices=", ".join(sorted(KEYS)))
    end, rows, most = value.get("end"), value.get("rows"), value.get("max_words")
    if not _is_word(end) or end in (START, REST):
        raise UserError("toy_broken", where="end", why="it must name the end token, one word such as <end>")
    if not isinstance(rows, dict):
        raise UserError("toy_broken", where="rows", why="it must be an object with one row per context")
    if len(rows) > MAX_ROWS:
        raise UserError("toy_too_large", path=name, limit=f"{MAX_ROWS:,}", unit="rows")
    if most is not None and (type(most) is not int or most < 1):
        raise UserError("toy_broken", where="max_words", why="it must be a whole number from 1")
    named = value.get("name", name)
    if not isinstance(named, str):
        raise UserError("toy_broken", where="name", why="it must be text")
    default = value.get("default", {REST: 1})
    checked = {_context(key, end): _row(key or "(start)", row) for key, row in rows.items()}
    return Table(named, end, most, checked, _row("default", default))


def _context(key: str, end: str) -> tuple[str, ...]:
    words = tuple(key.split(" ")) if key else ()
    if not all(_is_word(word) and word not in (START, end) for word in words):
        raise UserError("toy_broken", where=f"row {key!r}", why="its name must be words with single spaces between")
    return words


def _row(name: str, row: Any) -> dict[str, float]:
    if not isinstance(row, dict) or not row:
        raise UserError("toy_broken", where=f"row {name!r}", why="it must give words their probabilities")
    for word, prob in row.items():
        if not _is_word(word) or word == START:
            raise UserError("toy_broken", where=f"row {name!r}", why=f"{word!r} must be one word without spaces")
        if type(prob) not in (int, float) or not 0 <= prob <= 1:  # NaN is not in the range either
            raise UserError("toy_probability", row=name, word=word, value=str(prob)[:20])
    total = math.fsum(row.values())
    if abs(total - 1) > SUM_TOLERANCE:
        raise UserError("toy_sum", row=name, sum=f"{total:.9g}", missing=f"{1 - total:+.9g}")
    return {word: prob / total for word, prob in row.items()}


def _is_word(value: Any) -> TypeGuard[str]:
    """One word without spaces or control characters; zero-width joiners may bind its parts, as in 👩‍🔬."""
    if not isinstance(value, str) or value.split() != [value]:
        return False
    return all(part.isprintable() and part for part in value.split(JOINER))


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError("toy_broken", where=repr(twice), why="it is there twice")
    return found


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno} is not JSON"
    return "it is not text in UTF-8" if isinstance(error, UnicodeDecodeError) else "it is not JSON"

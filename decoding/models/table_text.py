"""Probability tables as plain lines, which are quicker to type than JSON.

    (start): I .4, We .6
    I: like .5, love .5
    I like: singing 1
    (else): <end> 1
    (longest): 3

Before the colon the words so far, after it each next word with its probability. `(start)` is the
beginning, `(else)` every text without a line of its own, `(longest)` the most words before the end
token `<end>` is certain. Empty lines, and those that begin with #, say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from decoding.errors import UserError
from decoding.models.table import REST, Table, parse

END = "<end>"
START_LINE, ELSE_LINE, LONGEST_LINE = "(start)", "(else)", "(longest)"
MAX_CHARACTERS = 20_000
NARROW = str.maketrans("：（），", ":(),")
"""What a Chinese keyboard types for a colon, brackets and a comma."""


def read_text(text: str, name: str) -> Table:
    """The table that these lines write. Raises UserError for the first line with a mistake, as `table.parse` does."""
    if len(text) > MAX_CHARACTERS:
        raise UserError("toy_too_large", path=name, limit=f"{MAX_CHARACTERS:,}", unit="characters")
    plain: dict[str, Any] = {"name": name, "end": END, "rows": {}}
    for where, before, after in _lines(text.translate(NARROW)):
        if before == LONGEST_LINE:
            plain["max_words"] = _whole(after, where)
        elif before == ELSE_LINE:
            plain["default"] = _row(after, where)
        elif (words := "" if before == START_LINE else before) in plain["rows"]:
            raise UserError("toy_broken", where=where, why=f"{before!r} has a line already")
        else:
            plain["rows"][words] = _row(after, where)
    if not plain["rows"]:
        raise UserError("toy_broken", where="line 1", why="there is no line with words, such as (start): I .4, We .6")
    if "" not in plain["rows"]:
        raise UserError("toy_broken", where=START_LINE, why="there is no line for the beginning")
    return parse(plain, name)


def write_text(table: Table) -> str:
    """The lines that `read_text` reads as this table, where its end token is `<end>`."""
    rows = [(" ".join(words) or START_LINE, row) for words, row in table.rows.items()]
    if dict(table.default) != {REST: 1.0}:
        rows.append((ELSE_LINE, table.default))
    lines = [f"{before}: {', '.join(f'{word} {prob:g}' for word, prob in row.items())}" for before, row in rows]
    if table.max_words is not None:
        lines.append(f"{LONGEST_LINE}: {table.max_words}")
    return "\n".join(lines)


def _lines(text: str) -> Iterator[tuple[str, str, str]]:
    """Where each line stands, and what is before and after its colon."""
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"line {number}"
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        before, colon, after = line.partition(":")
        if not colon or not before.strip():
            raise UserError("toy_broken", where=where, why="it must be words, a colon, and the next words")
        yield where, " ".join(before.split()), after


def _row(after: str, where: str) -> dict[str, float]:
    """`like .4, love .6` as a row."""
    row: dict[str, float] = {}
    for item in filter(None, (part.split() for part in after.split(","))):
        if len(item) != 2:
            raise UserError("toy_broken", where=where, why=f"{' '.join(item)!r} must be one word and its probability")
        word, prob = item
        if word in row:
            raise UserError("toy_broken", where=where, why=f"{word!r} is there twice")
        row[word] = _number(prob, word, where)
    return row


def _number(text: str, word: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError("toy_probability", row=where, word=word, value=text[:20]) from None


def _whole(after: str, where: str) -> int:
    text = after.strip()
    if not text.isdecimal() or len(text) > 6:
        raise UserError("toy_broken", where=where, why=f"{text[:20]!r} must be a whole number of words from 1")
    return int(text)

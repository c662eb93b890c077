"""The laws to draw from: presets, what a person typed, or one step of a model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from decoding.errors import UserError
from decoding.experiments.values import Law
from decoding.trace import Distribution, Token

LEAST, MOST = 2, 50
"""How many items a preset or typed law has."""
MOST_CHARACTERS = 4000
MOST_NAME = 20
MOST_WEIGHT = 1e9
SUM_TOLERANCE = 1e-6
"""How far typed probabilities may be from a sum of 1; what is nearer is divided by the sum."""
REST = "…"
"""The text of the item that stands for the tokens not listed."""

BETWEEN = re.compile(r"[\s,;，、；]+")
COLON = re.compile(r"[:：]")


def preset(name: str, size: int = 8) -> Law:
    """A law of `size` items by its name in `PRESETS`. Raises UserError for another name or size."""
    if name not in PRESETS:
        raise UserError("unknown_choice", name="law", value=name, choices=", ".join(PRESETS))
    if isinstance(size, bool) or not isinstance(size, int) or not LEAST <= size <= MOST:
        raise UserError("out_of_range", name="items", value=size, limit=f"a whole number from {LEAST} to {MOST}")
    return _law(name, [letters(index) for index in range(size)], PRESETS[name](size))


def _uniform(size: int) -> list[float]:
    return [1.0] * size


def _zipf(size: int) -> list[float]:
    return [1 / rank for rank in range(1, size + 1)]


def _spike(size: int) -> list[float]:
    return [0.9] + [0.1 / (size - 1)] * (size - 1)


def _tie(size: int) -> list[float]:
    return [0.4, 0.4] + [0.2 / (size - 2)] * (size - 2) if size > 2 else [0.5, 0.5]


def _zeros(size: int) -> list[float]:
    return [0.0 if index % 3 == 0 else 1 / index for index in range(size)]


PRESETS: dict[str, Callable[[int], list[float]]] = {
    "uniform": _uniform,
    "zipf": _zipf,
    "spike": _spike,
    "tie": _tie,
    "zeros": _zeros,
}
"""uniform: all alike. zipf: 1 / rank. spike: one has .9. tie: two share .8. zeros: every third is impossible."""


def parse(text: str) -> Law:
    """The law that a person typed: probabilities such as `0.5 0.3 0.2`, or weights with names such as `a:3 b:1`.

    Entries stand apart by spaces, commas or semicolons. Numbers alone are probabilities, they must sum to 1, and
    the items are called A, B, ...; a colon makes a weight, any number from 0 up, and weights are divided by
    their sum. `1/3` is a number. Raises UserError for everything else.
    """
    if len(text) > MOST_CHARACTERS:
        raise UserError("law_text_long", count=len(text), limit=MOST_CHARACTERS)
    entries = [entry for entry in BETWEEN.split(text) if entry]
    if not LEAST <= len(entries) <= MOST:
        raise UserError("law_count", count=len(entries), least=LEAST, most=MOST)
    named = [COLON.search(entry) is not None for entry in entries]
    if any(named) and not all(named):
        raise UserError("law_mixed", entry=_short(entries[named.index(False)]))
    return _weights(entries) if any(named) else _probabilities(entries)


def _probabilities(entries: Sequence[str]) -> Law:
    probs = [_number(entry, entry, "1") for entry in entries]
    total = math.fsum(probs)
    if abs(total - 1) > SUM_TOLERANCE:
        raise UserError("law_sum", sum=f"{total:.8g}", missing=f"{1 - total:+.8g}")
    return _law("typed", [letters(index) for index in range(len(probs))], probs)


def _weights(entries: Sequence[str]) -> Law:
    names, weights = [], []
    for entry in entries:
        colon = [match.start() for match in COLON.finditer(entry)][-1]
        name = entry[:colon]
        if not name or not name.isprintable():  # half a character is not printable either
            raise UserError("law_entry", entry=_short(entry))
        if len(name) > MOST_NAME:
            raise UserError("law_name_long", name=_short(name), count=len(name), limit=MOST_NAME)
        if name in names:
            raise UserError("law_name_twice", name=name)
        names.append(name)
        weights.append(_number(entry[colon + 1 :], entry, f"{MOST_WEIGHT:,.0f}"))
    if not any(weights):
        raise UserError("law_zero")
    return _law("typed", names, weights)


def _number(text: str, entry: str, limit: str) -> float:
    """A number or a fraction from 0 up. Probabilities above 1 are left to the sum, whose message says more."""
    above, slash, below = text.partition("/")
    try:
        value = float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        raise UserError("law_entry", entry=_short(entry)) from None
    if not 0 <= value <= MOST_WEIGHT:
        raise UserError("law_value", entry=_short(entry), value=f"{value:.6g}", limit=limit)
    return value + 0.0  # not -0


def _short(entry: str) -> str:
    """What was typed, safe to repeat in a sentence."""
    printable = "".join(letter if letter.isprintable() else "�" for letter in entry)
    return printable if len(printable) <= 30 else printable[:29] + "…"


def letters(index: int) -> str:
    """A, B, ..., Z, AA, AB, ..., as the columns of a spreadsheet."""
    return (letters(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def _law(source: str, names: Sequence[str], weights: Sequence[float]) -> Law:
    total = math.fsum(weights)
    items = tuple(Token(index, name) for index, name in enumerate(names))
    return Law(source, items, tuple(weight / total for weight in weights))


def of_weights(weights: Sequence[float]) -> Law:
    """The law of weights set by sliders, A, B, ...; they must not all be 0."""
    assert weights and min(weights) >= 0 and math.isfinite(math.fsum(weights))
    if not any(weights):
        raise UserError("law_zero")
    return _law("typed", [letters(index) for index in range(len(weights))], weights)


def of_distribution(distribution: Distribution, most: int = 11) -> Law:
    """The `most` likeliest of the kept tokens that a step lists, and one item for all others, if there are any.

    So a law of 50,000 tokens becomes one that can be drawn and seen; each listed token keeps its probability.
    """
    kept = [candidate for candidate in distribution.top if candidate.kept]
    listed = kept[:most]
    rest = distribution.tail_mass + math.fsum(candidate.prob for candidate in kept[most:])
    others = distribution.tail_count + len(kept) - len(listed)
    tokens = [candidate.token for candidate in listed]
    probs = [candidate.prob for candidate in listed]
    if others:
        tokens.append(Token(max((token.id for token in tokens), default=-1) + 1, REST))
        probs.append(rest)
    total = math.fsum(probs)
    return Law("model", tuple(tokens), tuple(prob / total for prob in probs), others)

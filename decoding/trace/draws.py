"""How a token was drawn: one class per sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from decoding.trace.law import Token


@dataclass(frozen=True, slots=True)
class ArgmaxDraw:
    """The largest logit won. `runner_up` and `gap` (nats) say by how much; `ties` shared the top."""

    logit: float
    runner_up: Token | None
    gap: float | None
    ties: int
    kind: Literal["argmax"] = "argmax"


@dataclass(frozen=True, slots=True)
class DirectDraw:
    """Scan of the tokens laid end to end, most likely first, until the sum passes `uniform`.

    The token drawn covers [low, high); `scanned` tokens were looked at.
    """

    uniform: float
    scanned: int
    low: float
    high: float
    kind: Literal["direct"] = "direct"


@dataclass(frozen=True, slots=True)
class Probe:
    """One comparison of a binary search: `uniform < cumulative` (the sum through `index`)?"""

    low: int
    high: int
    index: int
    cumulative: float
    went_left: bool


@dataclass(frozen=True, slots=True)
class BinarySearchDraw:
    """Bisection of the cumulative sums for the first that exceeds `uniform`."""

    uniform: float
    probes: tuple[Probe, ...]
    index: int
    low: float
    high: float
    kind: Literal["binary"] = "binary"


@dataclass(frozen=True, slots=True)
class AliasColumn:
    """One column of an alias table: `token` up to `threshold` in [0, 1], `alias` above it."""

    index: int
    token: Token
    threshold: float
    alias: Token | None


@dataclass(frozen=True, slots=True)
class AliasDraw:
    """Vose's alias table: `uniform` picks a column, `coin` picks one of its two tokens.

    `columns` are those recorded for display (always with the chosen one) of `column_count`;
    `built` counts the transfers made while the table was built.
    """

    uniform: float
    coin: float
    column: int
    took_alias: bool
    column_count: int
    built: int
    columns: tuple[AliasColumn, ...]
    kind: Literal["alias"] = "alias"


@dataclass(frozen=True, slots=True)
class PerturbedScore:
    """`score = logit + noise`, with noise = -ln(-ln u) and u the uniform of that token."""

    token: Token
    logit: float
    uniform: float
    noise: float
    score: float


@dataclass(frozen=True, slots=True)
class GumbelDraw:
    """The largest perturbed logit won. `scores` are the best ones, highest first, of `count`."""

    scores: tuple[PerturbedScore, ...]
    count: int
    kind: Literal["gumbel"] = "gumbel"


@dataclass(frozen=True, slots=True)
class ForcedDraw:
    """Nobody drew: the user chose this token to branch from here."""

    kind: Literal["forced"] = "forced"


Draw = ArgmaxDraw | DirectDraw | BinarySearchDraw | AliasDraw | GumbelDraw | ForcedDraw

"""A token, and a law over the vocabulary as a run records it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Token:
    """One entry of the vocabulary.

    `text` is for display: a token that is not whole UTF-8 shows its bytes, as `⟨F0 9F⟩`;
    `data` holds those bytes then, and is None where `text` says all.
    """

    id: int
    text: str
    data: bytes | None = None

    @property
    def bytes(self) -> bytes:
        """The UTF-8 bytes this token adds to the text."""
        return self.text.encode() if self.data is None else self.data


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token at one stage: its logit (None once removed), probability, and whether it is kept."""

    token: Token
    logit: float | None
    prob: float
    kept: bool


@dataclass(frozen=True, slots=True)
class Distribution:
    """A law over the vocabulary: the candidates shown, most likely first, and the rest as one mass.

    `tail_mass` is the probability of all tokens not in `top`; `tail_count` is how many of them
    are kept. `entropy` (bits) is of the whole law, not of `top`.
    """

    top: tuple[Candidate, ...]
    tail_mass: float
    tail_count: int
    entropy: float


@dataclass(frozen=True, slots=True)
class Stage:
    """The law after one processor. `stages[0]` is the model's own (name `model`, no params).

    `kept_count`: tokens kept. `kept_mass`: how much of the previous stage's probability the kept
    tokens held (1 where nothing was removed). `notes`: codes of what a person should know, e.g.
    `tie_broken`, `no_filtering`.
    """

    name: str
    params: Mapping[str, Any]
    result: Distribution
    kept_count: int
    kept_mass: float
    notes: tuple[str, ...] = ()

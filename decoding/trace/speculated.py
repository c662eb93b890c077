"""A round of speculative decoding: what was drafted, each verdict on it, and the token the target added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from decoding.trace.law import Distribution, Token

MAX_GAMMA = 16
"""Longest draft of a round, in tokens."""


MADE_OF_TARGET: tuple[str, ...] = ("trained", "early")
"""Draft models that are made of their target."""
WITHOUT_MODEL: tuple[str, ...] = ("ngram", "random", "oracle")
"""Drafters that need no model beside the target."""
LOOKUP_FIRST = "ngram+"
"""Before a draft model's name: what the n-gram look-up finds is drafted; where it finds nothing, the model drafts."""
DRAFTERS: tuple[str, ...] = ("trained", LOOKUP_FIRST + "trained", "early", *WITHOUT_MODEL)
"""Drafters by name; any other name is that of a model."""
VERIFIERS: tuple[str, ...] = ("lossless", "exact", "top_k", "typical")
"""The rules by which a target judges."""


@dataclass(frozen=True, slots=True)
class DraftNode:
    """A drafted token after the node `parent` (None: after the text so far); `depth` counts from 1.

    `draft_prob`: q, its probability in the law the draft drew it from.
    """

    id: int
    parent: int | None
    token: Token
    draft_prob: float
    depth: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the target says of one drafted token. Nodes after a rejected one get none.

    `target_prob` p and `draft_prob` q: its probabilities in the laws `target` and `draft`, which are those really
    drawn from, after temperature and all filters; both list the same tokens, among them what the target drew instead.
    Where the lossless rule has rejected a sibling before, `target` is the residual of that. `rank`: of the token in
    the target's law, 1 the likeliest, ties by id, removed ones last. `threshold`: what decided, by `rule`: lossless:
    uniform < threshold = min(1, p/q); exact: none, the target drew `drawn`; top_k: p > 0 and rank <= threshold = K;
    typical: p > threshold.
    `uniform`: where the rule drew one.
    """

    node: int
    rule: Literal["lossless", "exact", "top_k", "typical"]
    target_prob: float
    draft_prob: float
    rank: int
    threshold: float | None
    uniform: float | None
    accepted: bool
    target: Distribution
    draft: Distribution
    drawn: Token | None = None


@dataclass(frozen=True, slots=True)
class Addition:
    """The token that the target itself adds at the end of a round, drawn with `uniform` from `law`.

    After a rejection by the lossless rule `law` is the residual norm(max(0, p - q)); by another rule, and after a
    draft accepted whole (the bonus), the target's own. `prob`: of the token in `law`.
    """

    token: Token
    prob: float
    uniform: float
    law: Distribution


@dataclass(frozen=True, slots=True)
class SpeculativeStep:
    """One round: one forward of the target over all `nodes`.

    `position`: of the first token emitted, new tokens counted from 0. `verdicts`: of the nodes looked at, in order.
    `emitted`: the accepted tokens and the one added. `ending`: `recovered` (a draft was rejected, and replaced),
    `bonus` (all were accepted, and one more came), `eos` (an accepted token ended the text), `length` (there was
    no room for the token that would have been added); in the last two `added` is None. `draft_forwards`: forwards
    of the draft model.
    """

    position: int
    nodes: tuple[DraftNode, ...]
    verdicts: tuple[Verdict, ...]
    added: Addition | None
    emitted: tuple[Token, ...]
    ending: Literal["recovered", "bonus", "eos", "length"]
    draft_forwards: int
    kind: Literal["speculative"] = "speculative"

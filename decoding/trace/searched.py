"""A depth of a beam search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from decoding.trace.law import Token

MAX_BEAMS = 32
"""Most beams that a search keeps open, and most texts it holds."""

Fate = Literal["kept", "pruned", "finished"]
"""Of a beam candidate: it goes on, it was cut, or it ended a text and is kept as a hypothesis."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Why a candidate was cut: by `rule`, since its `value` did not pass `threshold` (both in the rule's unit)."""

    rule: str
    value: float
    threshold: float


@dataclass(frozen=True, slots=True)
class BeamNode:
    """One candidate of a beam search: a token after the node `parent` (None: after the prompt and what was sampled).

    `prob`: the token's own probability there, in the law searched. `logprob`: nats, summed from the
    root. `score`: what it was ranked by: `logprob`, that less a diversity penalty, or perturbed by
    Gumbel noise. `rule`: the cut, where `fate` is `pruned`.
    """

    id: int
    parent: int | None
    token: Token
    prob: float
    logprob: float
    score: float
    fate: Fate
    rule: Cut | None = None
    group: int = 0


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finished beam: its last node, and `score`, by which results are ranked.

    logprob / length^length_penalty, length in tokens from the root, the end token included; of a stochastic
    search the perturbed logprob.
    """

    node: int
    score: float


@dataclass(frozen=True, slots=True)
class BeamStep:
    """One depth of a beam search, from 1: the first token searched.

    `nodes`: the candidates recorded, best score first. `considered`: how many there were, of
    probability above 0. `finished`: the hypotheses held after this depth, best first. `attainable`:
    the best score (as of a Hypothesis) that an open beam is still credited with; None where none is open.
    `ending`: why the search ended here, else None.
    """

    depth: int
    nodes: tuple[BeamNode, ...]
    considered: int
    finished: tuple[Hypothesis, ...]
    attainable: float | None
    ending: Literal["full", "hopeless", "length", "no_beams"] | None = None
    kind: Literal["beam"] = "beam"

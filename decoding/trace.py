"""The frozen values a run is made of. Standard library only: a recorded run opens without torch.

Probabilities are in [0, 1], entropies in bits, logits in nats. A removed token has probability 0
and no logit (`None`), so that every number is finite and travels through JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA = 1
"""Version of the JSON form; raised when a field changes its meaning."""
MAX_BEAMS = 32
"""Most beams that a search keeps open, and most texts it holds."""


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


@dataclass(frozen=True, slots=True)
class SampleStep:
    """One token of a sampled or greedy run.

    `position` counts new tokens from 0. All stages list the same tokens: the most likely of the
    model and of the final law, and always `token`, however improbable. `prob` is the chosen
    token's probability in the final law, `model_prob` in the model's own.
    """

    position: int
    stages: tuple[Stage, ...]
    draw: Draw
    token: Token
    prob: float
    model_prob: float
    kind: Literal["sample"] = "sample"


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


Step = SampleStep | BeamStep


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model read: the user's text, `raw` or in the `chat` template, and its tokens."""

    text: str
    template: Literal["raw", "chat"]
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The model that ran: `name` as asked for, and what it is.

    `end_ids`: the tokens that end a text. `engine`: torch, or onnx for ONNX Runtime.
    """

    name: str
    vocab_size: int
    context_length: int
    device: str
    dtype: str
    end_ids: tuple[int, ...] = ()
    engine: str = "torch"

    @property
    def is_table(self) -> bool:
        """Whether it is a table of probabilities."""
        return self.name.startswith("toy:")

    @property
    def joiner(self) -> str:
        """What stands between two tokens in running text: a table's words stand apart."""
        return " " if self.is_table else ""


@dataclass(frozen=True, slots=True)
class Header:
    """All that is needed to run again. `settings` are plain JSON values."""

    schema: int
    model: ModelInfo
    method: str
    prompt: Prompt
    settings: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Returned:
    """One of the texts a search returns: its new tokens, end token included, `logprob` and `score`.

    Both are of the tokens searched: those sampled before the search are in `token_ids` and in `text` only.
    """

    token_ids: tuple[int, ...]
    text: str
    logprob: float
    score: float


@dataclass(frozen=True, slots=True)
class Finish:
    """How a run ended, and the new tokens as ids and as joined text (end token left out).

    Of a search these are the best text's; `returned` lists all it returns, best first.
    """

    reason: Literal["eos", "length", "cancelled"]
    token_ids: tuple[int, ...]
    text: str
    returned: tuple[Returned, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole run."""

    header: Header
    steps: tuple[Step, ...]
    finish: Finish

"""A whole run: its header, its steps, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from decoding.trace.law import Token
from decoding.trace.sampled import SampleStep
from decoding.trace.searched import BeamStep
from decoding.trace.speculated import SpeculativeStep

SCHEMA = 1
"""Version of the JSON form; raised when a field changes its meaning."""

Step = SampleStep | BeamStep | SpeculativeStep


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
    """All that is needed to run again. `settings` are plain JSON values; `draft`: the draft model, where one ran."""

    schema: int
    model: ModelInfo
    method: str
    prompt: Prompt
    settings: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str] = field(default_factory=dict)
    draft: ModelInfo | None = None


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

"""All that a decoder needs of a model. Shapes: B batch, T new tokens, S all tokens, V vocabulary."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from decoding.trace import ModelInfo, Token
from decoding.values import Tokenization

Template = Literal["raw", "chat"]

Progress = Callable[[str, float], None]
"""Told a stage of loading (`converting`, `building` or `loading`) and the fraction of it that is done."""


@dataclass(frozen=True, slots=True)
class Output:
    """One forward: `own` logits (B, T', V'), T' the positions asked for; `hidden` (L, B, T, H) where asked.

    V' is all of the vocabulary, of `size` V, but for a model that can say some tokens only: `said` (V',), their ids,
    ascending. Logits are float32 whatever the model computes in; a toy's are float64.
    """

    own: Tensor
    hidden: Tensor | None = None
    said: Tensor | None = None
    size: int = 0

    @property
    def logits(self) -> Tensor:
        """Logits (B, T', V) of all tokens: minus infinity for those that the model cannot say."""
        if self.said is None:
            return self.own
        whole = self.own.new_full((*self.own.shape[:-1], self.size), -math.inf)
        whole[..., self.said] = self.own
        return whole


class KVCache(Protocol):
    """Keys and values of the tokens read so far, one row per sequence of the batch."""

    @property
    def length(self) -> int:
        """Tokens held per row."""
        ...

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens."""
        ...

    def keep(self, indices: Sequence[int]) -> None:
        """Keep just these positions, in this order (one branch of a tree)."""
        ...

    def reorder(self, rows: Sequence[int]) -> None:
        """Row i becomes what row `rows[i]` was; the number of rows may change."""
        ...


class LanguageModel(Protocol):
    """A causal language model with its tokenizer."""

    @property
    def info(self) -> ModelInfo:
        """Name, sizes, device, dtype: what a trace header records."""
        ...

    @property
    def end_ids(self) -> frozenset[int]:
        """Tokens that end a text. Empty where the model has none."""
        ...

    @property
    def has_chat_template(self) -> bool:
        """Whether `encode(..., "chat")` works."""
        ...

    def encode(self, text: str, template: Template = "raw") -> list[int]:
        """Token ids of a prompt; the model's start token where the text has none.

        Raises UserError where that leaves nothing to start from, or no chat template exists.
        """
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Joined text of the ids, end and other special tokens written out."""
        ...

    def token(self, id: int) -> Token:
        """The token for display (cached)."""
        ...

    def tokenization(self, text: str, template: Template = "raw") -> Tokenization:
        """The prompt's tokens, its words, and the byte-pair merges of each word (empty if not BPE)."""
        ...

    def new_cache(self, batch: int = 1) -> KVCache:
        """An empty cache for `batch` rows."""
        ...

    def forward(
        self,
        tokens: Tensor,
        cache: KVCache,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        logits_to_keep: int = 0,
        hidden_layers: Sequence[int] = (),
    ) -> Output:
        """Read `tokens` (B, T) after what `cache` holds, and append to it.

        `positions` (B, T): default, the next ones. `mask` (B, 1, T, S): additive float (0 where
        allowed, the dtype's lowest where not); default, causal. `logits_to_keep`: only the last so
        many positions' logits (0: all). `hidden_layers`: whose hidden states to return
        (0 = embeddings, -1 = the last, after the final norm).
        """
        ...


def text_of(model: LanguageModel, ids: Sequence[int]) -> str:
    """Joined text of new tokens, the end token left out."""
    return model.decode(ids[:-1] if ids and ids[-1] in model.end_ids else ids)

"""What a model of transformers knows beside its weights, whatever engine runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from decoding.models.protocol import Template
from decoding.models.tokenizer import PromptTokenizer
from decoding.trace import ModelInfo, Token
from decoding.values import Tokenization

NO_LIMIT = 2**31 - 1
"""Context length of a model that states none."""


class TextModel:
    """What a model knows beside its weights: what a header records, and its tokenizer."""

    said: Tensor | None = None
    """(V',) ids that the model's output layer has rows for; None for all."""
    lead: tuple[int, ...] = ()
    """Ids that a trained draft reads before a text that does not begin like them."""

    def __init__(
        self, name: str, tokenizer: Any, config: Any, generation: Any, device: str, dtype: str, engine: str = "torch"
    ) -> None:
        config = config.get_text_config()
        self._end_ids = _ids(_first_set("eos_token_id", generation, config, tokenizer))
        self._info = ModelInfo(
            name=name,
            vocab_size=int(config.vocab_size),
            context_length=context_length(config),
            device=device,
            dtype=dtype,
            engine=engine,
            end_ids=tuple(sorted(self._end_ids)),
        )
        start = sorted(_ids(_first_set("bos_token_id", tokenizer, generation, config)))
        self.tokenizer = tokenizer
        self._tokenizer = PromptTokenizer(tokenizer, start[0] if start else None, name)

    @property
    def info(self) -> ModelInfo:
        """Name, sizes, device, dtype."""
        return self._info

    @property
    def end_ids(self) -> frozenset[int]:
        """The ids at which `generate()` stops: of the generation config, else the config, else the tokenizer."""
        return self._end_ids

    @property
    def has_chat_template(self) -> bool:
        """Whether `encode(..., "chat")` works."""
        return self._tokenizer.has_chat_template

    def encode(self, text: str, template: Template = "raw") -> list[int]:
        """Ids of a prompt; control tokens typed by the user stay text. See `PromptTokenizer.encode`."""
        return self._tokenizer.encode(text, template)

    def decode(self, ids: Sequence[int]) -> str:
        """Joined text, control tokens written out."""
        return self._tokenizer.decode(ids)

    def token(self, id: int) -> Token:
        """The token for display."""
        return self._tokenizer.token(id)

    def tokenization(self, text: str, template: Template = "raw") -> Tokenization:
        """Tokens, words and byte-pair merges of a prompt."""
        return self._tokenizer.tokenization(text, template)


def context_length(config: Any) -> int:
    """Positions the model was built for, under any of the names configs use."""
    for key in ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_sequence_length", "seq_length"):
        value = getattr(config, key, None)
        if isinstance(value, int) and value > 0:
            return value
    return NO_LIMIT


def _first_set(key: str, *holders: Any) -> Any:
    for holder in holders:
        if (value := getattr(holder, key, None)) is not None:
            return value
    return None


def _ids(value: int | Sequence[int] | None) -> frozenset[int]:
    if value is None:
        return frozenset()
    return frozenset([value] if isinstance(value, int) else [int(id) for id in value])

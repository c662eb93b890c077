"""Models that are probability tables: every answer is known, nothing is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from decoding.errors import UserError
from decoding.models.protocol import KVCache, Output, Template
from decoding.models.table import START, TABLES, Table, names, read
from decoding.trace import ModelInfo, Token
from decoding.values import Tokenization, Word

CONTEXT_LENGTH = 4096
WORDS_LISTED = 30


class ToyCache:
    """The tokens read so far, one list per row."""

    def __init__(self, batch: int) -> None:
        self.rows: list[list[int]] = [[] for _ in range(batch)]

    @property
    def length(self) -> int:
        """Tokens held per row."""
        return len(self.rows[0]) if self.rows else 0

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens."""
        assert 0 <= length <= self.length, f"crop to {length} of {self.length}"
        self.rows = [row[:length] for row in self.rows]

    def keep(self, indices: Sequence[int]) -> None:
        """Keep just these positions, in this order."""
        self.rows = [[row[index] for index in indices] for row in self.rows]

    def reorder(self, rows: Sequence[int]) -> None:
        """Row i becomes what row `rows[i]` was; the number of rows may change."""
        self.rows = [list(self.rows[row]) for row in rows]


class ToyModel:
    """A table of next-word probabilities as a language model.

    Its tokens are the table's words, then the end token, then `<start>`, which begins every prompt
    and is never predicted. The logits are ln p in float64, so that softmax gives p back.
    """

    def __init__(self, table: Table, name: str | None = None) -> None:
        self._table = table
        self._words = (*table.vocabulary(), START)
        self._ids = {word: id for id, word in enumerate(self._words)}
        self._start = self._ids[START]
        self._info = ModelInfo(
            name=name or f"toy:{table.name}",
            vocab_size=len(self._words),
            context_length=CONTEXT_LENGTH,
            device="cpu",
            dtype="float64",
            end_ids=(self._ids[table.end],),
        )

    @property
    def table(self) -> Table:
        """The table it is made of."""
        return self._table

    @property
    def info(self) -> ModelInfo:
        """Name and sizes."""
        return self._info

    @property
    def end_ids(self) -> frozenset[int]:
        """The table's end token."""
        return frozenset([self._ids[self._table.end]])

    @property
    def has_chat_template(self) -> bool:
        """Never: a table knows no chat."""
        return False

    def encode(self, text: str, template: Template = "raw") -> list[int]:
        """`<start>` and the words of the text. Raises UserError for a word the table does not know."""
        if template != "raw":
            raise UserError("no_chat_template", model=self._info.name)
        known = [word for word in self._words if word not in (self._table.end, START)]
        for word in text.split():
            if word not in known:
                listed = ", ".join(known[:WORDS_LISTED]) + (", …" if len(known) > WORDS_LISTED else "")
                raise UserError("toy_word", word=word, model=self._info.name, known=listed)
        return [self._start, *(self._ids[word] for word in text.split())]

    def decode(self, ids: Sequence[int]) -> str:
        """The words with single spaces between."""
        return " ".join(self._words[id] for id in ids)

    def token(self, id: int) -> Token:
        """The word, as it is (no space before it)."""
        return Token(id, self._words[id])

    def tokenization(self, text: str, template: Template = "raw") -> Tokenization:
        """Every token is a word of its own, without merges."""
        tokens = tuple(self.token(id) for id in self.encode(text, template))
        return Tokenization(tokens, tuple(Word(token.text, at, 1, (token,), ()) for at, token in enumerate(tokens)))

    def new_cache(self, batch: int = 1) -> ToyCache:
        """An empty cache for `batch` rows."""
        return ToyCache(batch)

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
        """As in the protocol. A token's context is what it may see under `mask`, in the cache's order;
        `positions` add nothing to that. Raises UserError where hidden states are asked for.
        """
        assert isinstance(cache, ToyCache)
        if hidden_layers:
            raise UserError("toy_no_hidden", model=self._info.name)
        held, (batch, new) = cache.length, tokens.shape
        assert len(cache.rows) == batch, f"{batch} rows for a cache of {len(cache.rows)}"
        cache.rows = [[*row, *more] for row, more in zip(cache.rows, tokens.tolist(), strict=True)]
        visible = None if mask is None else (mask[:, 0] == 0).expand(batch, -1, -1).tolist()
        logits = [
            [
                self._row(
                    [id for at, id in enumerate(row) if (at <= held + t if visible is None else visible[b][t][at])]
                )
                for t in range(new)[-logits_to_keep:]
            ]
            for b, row in enumerate(cache.rows)
        ]
        return Output(torch.stack([torch.stack(row) for row in logits]))

    def _row(self, context: list[int]) -> Tensor:
        """ln p of every token after these; (V,)."""
        probs = torch.zeros(len(self._words), dtype=torch.float64)
        for word, prob in self._table.after(tuple(self._words[id] for id in context if id != self._start)).items():
            probs[self._ids[word]] = prob
        return probs.log()


def load(name: str) -> ToyModel:
    """`toy:NAME` or `toy:PATH.json`. Raises UserError for an unknown name or a table with a mistake."""
    which = name.removeprefix("toy:")
    if which.endswith(".json"):
        return ToyModel(read(Path(which).expanduser()), name)
    if which not in names():
        raise UserError("toy_unknown", name=which, known=", ".join(names()))
    return ToyModel(read(TABLES / f"{which}.json"), name)

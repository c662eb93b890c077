"""A smaller model made of a target: its first layers, or a trained draft's layers between its embedding and output."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from decoding.errors import UserError
from decoding.models.architecture import Architecture
from decoding.models.blocks import Blocks, quantize
from decoding.models.draft_file import Draft

HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is taken of a target: its first `layers`, with `weights` in place of its own.

    `vocabulary`: ids of the tokens whose rows of the output layer are kept; None for all. `name`: added to the
    target's. `dtype`: of weights that are not in the target's own.
    """

    name: str
    layers: int
    weights: Mapping[str, np.ndarray]
    vocabulary: np.ndarray | None = None
    dtype: str = ""
    draft: Draft | None = None

    @classmethod
    def early_exit(cls, layers: int) -> Reduction:
        """The target's own first layers, then its final norm and output layer."""
        return cls(f"first {layers} layers", layers, {})

    @classmethod
    def trained(cls, draft: Draft) -> Reduction:
        """A trained draft."""
        return cls("trained draft", draft.layers, draft.weights, draft.vocabulary, "int8", draft)

    def check(self, embedding: np.ndarray, name: str) -> None:
        """Raise UserError where a trained draft was made for a target with another embedding than this (V, H)."""
        if self.draft is not None and not self.draft.fits(embedding):
            raise UserError("draft_other_target", target=self.draft.target, name=name)

    @property
    def key(self) -> str:
        """What tells it from others, in a cache's name."""
        digest = hashlib.sha256(repr((self.layers, sorted(self.weights))).encode())
        for name in sorted(self.weights):
            digest.update(self.weights[name].tobytes())
        if self.vocabulary is not None:
            digest.update(self.vocabulary.tobytes())
        return digest.hexdigest()[:16]

    def architecture(self, whole: Architecture) -> Architecture:
        """The sizes that are left."""
        if self.vocabulary is None:
            return replace(whole, layers=self.layers)
        return replace(whole, layers=self.layers, vocabulary=len(self.vocabulary), tied=False)

    def weight(self, name: str, whole: Mapping[str, np.ndarray | Blocks]) -> np.ndarray | Blocks | None:
        """A weight of the smaller model; `whole` are the target's. A trained one's matrices are in blocks of 8 bits."""
        if self.vocabulary is not None and name == HEAD:
            head = whole.get(HEAD, whole[EMBEDDING])
            return head.rows(self.vocabulary) if isinstance(head, Blocks) else quantize(head[self.vocabulary], 8)
        own = self.weights.get(name)
        if own is None:
            return whole.get(name)
        return quantize(own, 8) if own.ndim == 2 else own

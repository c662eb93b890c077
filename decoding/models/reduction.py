"""A smaller model made of a target: its first layers, or a trained draft's layers between its embedding and output."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from decoding.errors import UserError
from decoding.models.architecture import Architecture
from decoding.models.blocks import Blocks, Weight, quantize
from decoding.models.draft_file import Draft

HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is taken of a target: its first `layers`, then its final norm and output layer (early exit).

    Of a trained `draft`: so many layers with its weights, and the rows of the output layer it can say.
    """

    layers: int
    draft: Draft | None = None

    @classmethod
    def trained(cls, draft: Draft) -> Reduction:
        """A trained draft."""
        return cls(draft.layers, draft)

    @property
    def name(self) -> str:
        """Added to the target's."""
        return "trained draft" if self.draft else f"first {self.layers} layers"

    def check(self, embedding: np.ndarray, name: str) -> None:
        """Raise UserError where a trained draft was made for a target with another embedding than this (V, H)."""
        if self.draft is not None and not self.draft.fits(embedding):
            raise UserError("draft_other_target", target=self.draft.target, name=name)

    @property
    def key(self) -> str:
        """What tells it from others, in a cache's name."""
        digest = hashlib.sha256(repr(self.layers).encode())
        if self.draft is not None:
            digest.update(self.draft.vocabulary.tobytes())
            for name, weight in sorted(self.draft.weights.items()):
                digest.update(name.encode() + weight.tobytes())
        return digest.hexdigest()[:16]

    def architecture(self, whole: Architecture) -> Architecture:
        """The sizes that are left."""
        if self.draft is None:
            return replace(whole, layers=self.layers)
        return replace(whole, layers=self.layers, vocabulary=len(self.draft.vocabulary), tied=False)

    def weight(self, name: str, whole: Callable[[str], Weight | None]) -> Weight | None:
        """A weight of the smaller model; `whole` gives the target's. Those of a trained one: blocks of 8 bits."""
        if self.draft is None:
            return whole(name)
        if name == HEAD:
            said, head = self.draft.vocabulary, whole(HEAD)
            head = whole(EMBEDDING) if head is None else head
            assert head is not None
            return head.rows(said) if isinstance(head, Blocks) else quantize(head[said], 8)
        own = self.draft.weights.get(name)
        if own is None:
            return whole(name)
        return quantize(own, 8) if own.ndim == 2 else own

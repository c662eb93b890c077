"""A trained draft model on disk: its own layers, and what it takes from its target.

A folder with draft.json, vocabulary.npy (ids of the target's tokens it can say, ascending) and one safetensors file
for each layer, the last with the final norm too, in half precision. Embedding and output layer are the target's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from decoding.errors import UserError, sentence_of

DESCRIPTION, VOCABULARY = "draft.json", "vocabulary.npy"
SHIPPED = Path(__file__).parents[1] / "speculative" / "weights"
SAMPLE_ROWS = 16
"""Rows of the embedding, evenly spaced, by which a target is known again."""
LEAST_COSINE = 0.98
"""Of each of them with the target's: rounding to 8 bits stays above, another model's do not come near."""


@dataclass(frozen=True, slots=True)
class Draft:
    """`layers` decoder layers by transformers' names, numbered from 0, and `model.norm.weight`: float32.

    `vocabulary`: (V',) ids; `sample`: (SAMPLE_ROWS, hidden) of the embedding it was trained with; `lead`: the ids that
    every text it was trained on begins with.
    """

    target: str
    layers: int
    vocab_size: int
    vocabulary: np.ndarray
    weights: Mapping[str, np.ndarray]
    sample: np.ndarray
    lead: tuple[int, ...] = ()

    def fits(self, embedding: np.ndarray) -> bool:
        """Whether this is the embedding (V, hidden) it was trained with, up to rounding."""
        if embedding.shape != (self.vocab_size, self.sample.shape[1]):
            return False
        own, other = self.sample.astype(np.float64), sample_rows(embedding).astype(np.float64)
        cosines = (own * other).sum(1) / np.sqrt((own**2).sum(1) * (other**2).sum(1)).clip(1e-12)
        return bool(cosines.min() > LEAST_COSINE)


def sample_rows(embedding: np.ndarray) -> np.ndarray:
    """The rows by which an embedding (V, hidden) is known again."""
    return embedding[np.linspace(0, len(embedding) - 1, SAMPLE_ROWS).astype(int)]


def save(draft: Draft, folder: Path, **facts: object) -> None:
    """Write the folder; `facts` about its making go into draft.json."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / VOCABULARY, draft.vocabulary.astype(np.uint32 if draft.vocab_size > 2**16 else np.uint16))
    halves = {name: np.ascontiguousarray(weight, np.float16) for name, weight in draft.weights.items()}
    for layer in range(draft.layers):
        own = {name: weight for name, weight in halves.items() if name.startswith(f"model.layers.{layer}.")}
        if layer + 1 == draft.layers:
            own |= {name: weight for name, weight in halves.items() if not name.startswith("model.layers.")}
            own["sample"] = np.ascontiguousarray(draft.sample, np.float16)
        save_file(own, folder / f"layer-{layer}.safetensors")
    own_facts = {"target": draft.target, "layers": draft.layers, "vocab_size": draft.vocab_size, "lead": draft.lead}
    (folder / DESCRIPTION).write_text(json.dumps({**own_facts, **facts}, indent=1) + "\n", encoding="utf-8")


def read(folder: Path) -> Draft:
    """The draft in a folder. Raises UserError for one that is broken."""
    from safetensors.numpy import load_file

    try:
        about = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        vocabulary = np.load(folder / VOCABULARY).astype(np.int64)
        weights: dict[str, np.ndarray] = {}
        for layer in range(int(about["layers"])):
            weights |= load_file(folder / f"layer-{layer}.safetensors")
        sample = weights.pop("sample").astype(np.float32)
        full = {name: weight.astype(np.float32) for name, weight in weights.items()}
        lead, sizes = tuple(map(int, about.get("lead", ()))), (int(about["layers"]), int(about["vocab_size"]))
        return Draft(about["target"], *sizes, vocabulary, full, sample, lead)
    except Exception as error:  # whatever a stranger's files make the libraries raise
        raise UserError("draft_broken", path=str(folder), reason=sentence_of(error)) from error


def facts(folder: Path) -> dict[str, object]:
    """What a draft's folder says about its making."""
    about = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    return {name: value for name, value in about.items() if name not in ("target", "layers", "vocab_size", "lead")}


def is_draft(folder: Path) -> bool:
    """Whether this folder says that it holds one."""
    return (folder / DESCRIPTION).is_file()


def shipped() -> list[Path]:
    """The folders of the drafts that come with the code."""
    return sorted(path.parent for path in SHIPPED.glob(f"*/{DESCRIPTION}"))

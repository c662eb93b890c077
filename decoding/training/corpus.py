"""Text that a model writes itself, to train its draft on: token ids, and the laws they were drawn from.

Each text starts where the chat template puts the user's words, so that the model writes a question, its answer
and what follows; nothing stops at an end token. All texts have the same length, so a batch needs no padding.
Shapes: B rows, T tokens of a text, V vocabulary, K tokens recorded of each law.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from decoding.errors import UserError
from decoding.models.protocol import LanguageModel

LAW_TOKENS = 32
"""K: the likeliest tokens recorded of each law."""
HEAD = 1024
"""So many tokens are sorted first for top-p; rows whose mass they do not hold are sorted whole."""
MOST_IDS = 2**16
"""Ids are stored as uint16."""


@dataclass(frozen=True, slots=True)
class Writing:
    """How a corpus is written: texts of `length` tokens, `rows` at a time, at `temperature` and `top_p`."""

    rows: int = 48
    length: int = 384
    temperature: float = 1.0
    top_p: float = 0.95
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """One batch of texts: `ids` (B, T) uint16, and after each token the model's law at temperature 1.

    `law_ids` (B, T, K) uint16, likeliest first, and `law_probs` (B, T, K) float16; the law after the last
    token of a text, and those inside the start that all texts share, are 0.
    """

    ids: np.ndarray
    law_ids: np.ndarray
    law_probs: np.ndarray


def start_ids(model: LanguageModel) -> list[int]:
    """What comes before the user's words in the chat template; the start token of a model that has none."""
    if not model.has_chat_template:
        return model.encode("")
    first, *others = (model.encode(text, "chat") for text in ("One", "7", "why"))
    alike = itertools.takewhile(lambda at: all(first[at] == other[at] for other in others), itertools.count())
    return [first[at] for at in alike]


@torch.inference_mode()
def write_part(model: LanguageModel, how: Writing, number: int) -> Part:
    """The batch of this number: the same for the same model, manner and machine."""
    if model.info.vocab_size > MOST_IDS:
        raise UserError("vocabulary_too_large", size=model.info.vocab_size, limit=MOST_IDS)
    generator = torch.Generator().manual_seed(how.seed * 1_000_003 + number)
    start = start_ids(model)
    ids = np.zeros((how.rows, how.length), np.uint16)
    law_ids = np.zeros((*ids.shape, LAW_TOKENS), np.uint16)
    law_probs = np.zeros((*ids.shape, LAW_TOKENS), np.float16)
    ids[:, : len(start)] = start
    cache = model.new_cache()
    logits = model.forward(torch.tensor([start]), cache, logits_to_keep=1).logits[:, -1].expand(how.rows, -1)
    cache.reorder([0] * how.rows)
    for at in range(len(start), how.length):
        law_ids[:, at - 1], law_probs[:, at - 1] = top_of_law(logits)
        chosen = draw(logits / how.temperature, how.top_p, torch.rand(how.rows, generator=generator))
        ids[:, at] = chosen.numpy()
        if at + 1 < how.length:
            logits = model.forward(chosen[:, None], cache, logits_to_keep=1).logits[:, -1]
    return Part(ids, law_ids, law_probs)


def top_of_law(logits: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The K likeliest tokens of logits (..., V) and their probabilities: uint16 and float16, (..., K)."""
    best = logits.topk(LAW_TOKENS, dim=-1)
    probs = (best.values - logits.logsumexp(-1, keepdim=True)).exp()
    return best.indices.numpy().astype(np.uint16), probs.numpy().astype(np.float16)


def draw(logits: Tensor, top_p: float, uniforms: Tensor) -> Tensor:
    """One token per row of logits (B, V), among the fewest likeliest ones that hold `top_p`; uniforms (B,)."""
    probs = logits.softmax(-1)
    best = probs.topk(min(HEAD, probs.shape[-1]), dim=-1)
    places = _draw_sorted(best.values, top_p, uniforms)
    chosen = best.indices.gather(-1, places[:, None])[:, 0]
    for row in (best.values.sum(-1) < top_p).nonzero().flatten().tolist():
        ordered = probs[row : row + 1].sort(descending=True)
        chosen[row] = ordered.indices[0, _draw_sorted(ordered.values, top_p, uniforms[row : row + 1])]
    return chosen


def _draw_sorted(probs: Tensor, top_p: float, uniforms: Tensor) -> Tensor:
    """Places drawn from rows of probabilities (B, n) that descend, cut at `top_p`."""
    cumulated = probs.double().cumsum(-1)
    kept = (cumulated - probs < top_p).sum(-1, keepdim=True)
    mass = cumulated.gather(-1, kept - 1)
    places = torch.searchsorted(cumulated, uniforms.double()[:, None] * mass, right=True)
    return torch.minimum(places, kept - 1)[:, 0]


@dataclass(frozen=True, slots=True)
class Laws:
    """The target's laws after each token of all texts: `ids` and `probs`, (texts, T, K)."""

    ids: np.ndarray
    probs: np.ndarray


def read(folder: Path, most: int | None = None) -> tuple[np.ndarray, Laws]:
    """The texts (texts, T) of the first `most` batches, and their laws. Raises UserError where there are none."""
    parts = [dict(np.load(path)) for path in sorted(folder.glob("part-*.npz"))[:most]]
    if not parts:
        raise UserError("no_corpus", path=str(folder))
    ids, law_ids, law_probs = (np.concatenate([p[k] for p in parts]) for k in ("ids", "law_ids", "law_probs"))
    return ids, Laws(law_ids, law_probs)


def part_path(folder: Path, number: int) -> Path:
    """Where the batch of this number lies."""
    return folder / f"part-{number:05d}.npz"


def write(model: LanguageModel, folder: Path, how: Writing, tokens: int) -> Iterator[int]:
    """Write batches until there are so many tokens; yields the count after each. Those that are there are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    each, number, written = how.rows * how.length, 0, 0
    while written < tokens:
        path = part_path(folder, number)
        if not path.exists():
            part = write_part(model, how, number)
            work = path.with_name("unfinished.npz")
            np.savez(work, ids=part.ids, law_ids=part.law_ids, law_probs=part.law_probs)
            os.replace(work, path)
        number, written = number + 1, written + each
        yield written

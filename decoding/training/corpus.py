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
from decoding.models.protocol import KVCache, LanguageModel
from decoding.training.recipe import Writing

LAW_TOKENS = 32
"""K: the likeliest tokens recorded of each law."""
IDS = "corpus.npy"
BATCH = 192
"""Texts of a batch that is read again."""
MOST_IDS = 2**16
"""Ids are stored as uint16."""


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
    logits = _next(model, torch.tensor([start]), cache).expand(how.rows, -1)
    cache.reorder([0] * how.rows)
    ends, turns = torch.tensor(sorted(model.end_ids)), torch.zeros(how.rows, dtype=torch.long)
    for at in range(len(start), how.length):
        law_ids[:, at - 1], law_probs[:, at - 1] = top_of_law(logits)
        temperatures = torch.where(turns % 2 == 1, how.answers, how.temperature)
        chosen = draw(logits, temperatures, how.top_p, generator)
        turns += torch.isin(chosen, ends)
        ids[:, at] = chosen.numpy()
        if at + 1 < how.length:
            logits = _next(model, chosen[:, None], cache)
    return Part(ids, law_ids, law_probs)


def _next(model: LanguageModel, tokens: Tensor, cache: KVCache) -> Tensor:
    """Logits (B, V) of the next token, on the CPU."""
    return model.forward(tokens, cache, logits_to_keep=1).logits[:, -1].cpu()


def top_of_law(logits: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The K likeliest tokens of logits (..., V) and their probabilities: uint16 and float16, (..., K)."""
    best = logits.topk(LAW_TOKENS, dim=-1)
    probs = (best.values - logits.logsumexp(-1, keepdim=True)).exp()
    return best.indices.numpy().astype(np.uint16), probs.numpy().astype(np.float16)


def draw(logits: Tensor, temperatures: Tensor, top_p: float, generator: torch.Generator) -> Tensor:
    """One token (B,) per row of logits (B, V) at its row's temperature (B,), among the fewest likeliest ones that hold
    `top_p`; the likeliest at temperature 0.

    By rejection, which needs no sorting: a token drawn from the whole law is kept where those more likely than it
    hold less than `top_p`, and drawn again where not.
    """
    chosen = logits.argmax(-1)
    open_rows = (temperatures > 0).nonzero()[:, 0]
    probs = (logits[open_rows] / temperatures[open_rows, None]).softmax(-1)
    cumulated = probs.cumsum(-1)
    while len(open_rows):
        uniforms = torch.rand(len(open_rows), 1, generator=generator) * cumulated[:, -1:]
        found = torch.searchsorted(cumulated, uniforms, right=True).clamp(max=probs.shape[-1] - 1)
        above = (probs * (probs > probs.gather(-1, found))).sum(-1)
        chosen[open_rows] = found[:, 0]
        again = above >= top_p
        open_rows, probs, cumulated = open_rows[again], probs[again], cumulated[again]
    return chosen


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


def gather(folder: Path) -> Path:
    """One file of all texts (texts, T), ids in uint16, beside the batches; what travels with a draft."""
    ids, _ = read(folder)
    np.save(folder / IDS, ids)
    return folder / IDS


@torch.inference_mode()
def read_again(model: LanguageModel, path: Path, folder: Path, rows: int = 4) -> Iterator[int]:
    """Batches with the laws of a corpus whose ids alone were kept; yields the count of tokens after each.

    Raises UserError where the file is no corpus of this model.
    """
    try:
        texts = np.load(path, allow_pickle=False)
        fits = texts.ndim == 2 and texts.dtype == np.uint16 and texts.max() < model.info.vocab_size
    except (OSError, ValueError, EOFError) as error:
        raise UserError("no_corpus", path=str(path)) from error
    if not fits:
        raise UserError("no_corpus", path=str(path))
    folder.mkdir(parents=True, exist_ok=True)
    start = len(start_ids(model))
    for number, first in enumerate(range(0, len(texts), BATCH)):
        batch = texts[first : first + BATCH]
        if not part_path(folder, number).exists():
            laws = [_laws_of(model, batch[row : row + rows], start) for row in range(0, len(batch), rows)]
            _save(folder, number, Part(batch, *(np.concatenate(column) for column in zip(*laws, strict=True))))
        yield min(first + BATCH, len(texts)) * texts.shape[1]


def _laws_of(model: LanguageModel, texts: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
    """What `write_part` records of these texts, by one forward over each whole text."""
    tokens = torch.from_numpy(texts[:, :-1].astype(np.int64))
    logits = model.forward(tokens, model.new_cache(len(texts))).logits[:, start - 1 :].cpu()
    found = top_of_law(logits)
    around = (0, 0), (start - 1, 1), (0, 0)
    return np.pad(found[0], around), np.pad(found[1], around)


def _save(folder: Path, number: int, part: Part) -> None:
    """Under its name only when it is whole."""
    work = folder / "unfinished.npz"
    np.savez(work, ids=part.ids, law_ids=part.law_ids, law_probs=part.law_probs)
    os.replace(work, part_path(folder, number))


def part_path(folder: Path, number: int) -> Path:
    """Where the batch of this number lies."""
    return folder / f"part-{number:05d}.npz"


def write(model: LanguageModel, folder: Path, how: Writing, tokens: int) -> Iterator[int]:
    """Write batches until there are so many tokens; yields the count after each. Those that are there are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    each, number, written = how.rows * how.length, 0, 0
    while written < tokens:
        if not part_path(folder, number).exists():
            _save(folder, number, write_part(model, how, number))
        number, written = number + 1, written + each
        yield written

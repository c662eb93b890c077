"""Text that a model writes itself, to train its draft on: token ids, and the laws they were drawn from.

Each text starts where the chat template puts the user's words, so that the model writes a question, its answer
and what follows; nothing stops at an end token. All texts have the same length, so a batch needs no padding.
Shapes: B rows, T tokens of a text, V vocabulary, K tokens recorded of each law.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from decoding.errors import UserError, sentence_of
from decoding.models.protocol import KVCache, LanguageModel
from decoding.settings import check_int
from decoding.training.recipe import Writing

LAW_TOKENS = 32
"""K: the likeliest tokens recorded of each law."""
IDS = "corpus.npy"
BATCH = 192
"""Texts of a batch that is read again."""


@dataclass(frozen=True, slots=True)
class Part:
    """One batch of texts: `ids` (B, T), and after each token the model's law at temperature 1.

    `law_ids` (B, T, K), likeliest first, and `law_probs` (B, T, K) float16; the law after the last token of a text,
    and those inside the start that all texts share, are 0. Ids are uint16, uint32 of a vocabulary that needs it.
    `how`: the manner of writing; None where the texts were written before and only read again.
    """

    ids: np.ndarray
    law_ids: np.ndarray
    law_probs: np.ndarray
    how: Writing | None = None


def id_type(vocab_size: int) -> type[np.unsignedinteger[Any]]:
    """The smaller of two types that holds every id."""
    return np.uint32 if vocab_size > 2**16 else np.uint16


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
    generator = torch.Generator().manual_seed(how.seed * 1_000_003 + number)
    start = start_ids(model)
    ids = np.zeros((how.rows, how.length), id_type(model.info.vocab_size))
    law_ids = np.zeros((*ids.shape, LAW_TOKENS), ids.dtype)
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
    return Part(ids, law_ids, law_probs, how)


def _next(model: LanguageModel, tokens: Tensor, cache: KVCache) -> Tensor:
    """Logits (B, V) of the next token, on the CPU."""
    return model.forward(tokens, cache, logits_to_keep=1).logits[:, -1].cpu()


def top_of_law(logits: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The K likeliest tokens of logits (..., V) and their probabilities: ids and float16, (..., K)."""
    best = logits.topk(LAW_TOKENS, dim=-1)
    probs = (best.values - logits.logsumexp(-1, keepdim=True)).exp()
    return best.indices.numpy().astype(id_type(logits.shape[-1])), probs.numpy().astype(np.float16)


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
    """The texts (texts, T) of the first `most` batches, and their laws.

    Raises UserError where there are none, one cannot be read, or their texts are not all of one length.
    """
    parts = [_load(path) for path in sorted(folder.glob("part-*.npz"))[:most]]
    if not parts:
        raise UserError("no_corpus", path=str(folder))
    for part in parts:
        _check_length(folder, parts[0], part["ids"].shape[1])
    ids, law_ids, law_probs = (np.concatenate([p[k] for p in parts]) for k in ("ids", "law_ids", "law_probs"))
    return ids, Laws(law_ids, law_probs)


def manners(folder: Path) -> list[dict[str, Any]]:
    """How the texts were written, in their order: so many tokens in one manner; None where they were read again."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.glob("part-*.npz")):
        part = _load(path)
        how, tokens = json.loads(str(part.get("how", "null"))), int(part["ids"].size)
        if found and found[-1]["writing"] == how:
            found[-1]["tokens"] += tokens
        else:
            found.append({"tokens": tokens, "writing": how})
    return found


def _load(path: Path) -> dict[str, np.ndarray]:
    """The arrays of one batch."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UserError("training_file", path=str(path), reason=sentence_of(error)) from error


def _check_length(folder: Path, part: dict[str, np.ndarray], length: int) -> None:
    """Raise UserError where the texts of a batch in this folder have another length."""
    if (found := part["ids"].shape[1]) != length:
        raise UserError("corpus_other_length", path=str(folder), found=found, asked=length)


def gather(folder: Path) -> Path:
    """One file of all texts (texts, T) beside the batches: what travels with a draft."""
    ids, _ = read(folder)
    np.save(folder / IDS, ids)
    return folder / IDS


@torch.inference_mode()
def read_again(model: LanguageModel, path: Path, folder: Path, rows: int = 4) -> Iterator[int]:
    """Batches with the laws of a corpus whose ids alone were kept; yields the count of tokens after each.

    Raises UserError where the file is no corpus of this model, or the folder holds texts of another length.
    """
    try:
        texts = np.load(path, allow_pickle=False)
        fits = texts.ndim == 2 and texts.dtype == id_type(model.info.vocab_size) and texts.max() < model.info.vocab_size
    except (OSError, ValueError, EOFError) as error:
        raise UserError("no_corpus", path=str(path)) from error
    if not fits:
        raise UserError("no_corpus", path=str(path))
    _make_folder_for(folder, texts.shape[1])
    start = len(start_ids(model))
    for number, first in enumerate(range(0, len(texts), BATCH)):
        batch = texts[first : first + BATCH]
        if not part_path(folder, number).exists():
            laws = [_laws_of(model, batch[row : row + rows], start) for row in range(0, len(batch), rows)]
            law_ids, law_probs = (np.concatenate(column) for column in zip(*laws, strict=True))
            _save(folder, number, Part(batch, law_ids, law_probs))
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
    how = json.dumps(asdict(part.how) if part.how else None)
    np.savez(work, ids=part.ids, law_ids=part.law_ids, law_probs=part.law_probs, how=np.array(how))
    os.replace(work, part_path(folder, number))


def make_folder(folder: Path) -> None:
    """Raises UserError where none can be made or written in."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError("training_folder", path=str(folder), reason=error.strerror or str(error)) from error


def _make_folder_for(folder: Path, length: int) -> None:
    """A folder for texts of this length."""
    make_folder(folder)
    if (first := part_path(folder, 0)).exists():
        _check_length(folder, _load(first), length)


def part_path(folder: Path, number: int) -> Path:
    """Where the batch of this number lies."""
    return folder / f"part-{number:05d}.npz"


def write(model: LanguageModel, folder: Path, how: Writing, tokens: int) -> Iterator[int]:
    """Write batches until there are so many tokens; yields the count after each. Those that are there are kept.

    Raises UserError where those have texts of another length, or the length leaves nothing to write after the start.
    """
    check_int("length", how.length, len(start_ids(model)) + 1, model.info.context_length)
    _make_folder_for(folder, how.length)
    each, number, written = how.rows * how.length, 0, 0
    while written < tokens:
        if not part_path(folder, number).exists():
            _save(folder, number, write_part(model, how, number))
        number, written = number + 1, written + each
        yield written

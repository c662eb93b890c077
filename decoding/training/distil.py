"""A small model distilled from a target on text that the target wrote: the draft of speculative decoding.

It is the target with most of its layers taken out. The layers kept learn to say what the target would; embedding
and output layer stay the target's own, the latter with the rows of the most frequent tokens only. The loss at a
position is the cross-entropy to the target's law p there, -sum p(x) log q(x), over the tokens of p that the corpus
records and the draft can say (Hinton et al. 2015, arXiv:1503.02531).
Shapes: B texts, T tokens of each, K tokens recorded of a law, V' tokens the draft can say, H hidden.
"""

from __future__ import annotations

import copy
import json
import os
import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from decoding.errors import UserError, sentence_of
from decoding.models.draft_file import Draft, sample_rows
from decoding.training.corpus import Laws, make_folder
from decoding.training.recipe import Recipe

CHECKPOINT, LOG = "checkpoint.pt", "log.jsonl"


@dataclass(frozen=True, slots=True)
class Score:
    """On texts held out: cross-entropy in nats; share of positions with the same likeliest token; and mean
    sum of min(p, q), how often the lossless rule accepts a draft at temperature 1 (arXiv:2211.17192, 3.2).
    """

    loss: float
    agreement: float
    acceptance: float


class Student(nn.Module):
    """The layers kept and the final norm, between the target's own embedding and some rows of its output layer."""

    head: Tensor

    def __init__(self, module: Any, layers: Sequence[int], vocabulary: np.ndarray) -> None:
        super().__init__()
        self.body = shortened(module, layers)
        self.body.embed_tokens.requires_grad_(False)
        head = module.get_output_embeddings().weight.detach()
        self.register_buffer("head", head[torch.from_numpy(vocabulary.astype(np.int64))].clone(), persistent=False)

    def forward(self, ids: Tensor, known: Tensor) -> Tensor:
        """Logits (N, V') after those of `ids` (B, T) that `known` (B, T) marks."""
        hidden: Tensor = self.body(input_ids=ids, use_cache=False).last_hidden_state
        return hidden[known] @ self.head.T

    def learnt(self) -> dict[str, Tensor]:
        """What training changes, by the names of a whole model."""
        return {f"model.{n}": p.detach() for n, p in self.body.named_parameters() if p.requires_grad}

    def learn(self, weights: Mapping[str, np.ndarray]) -> None:
        """Take what was learnt before, by the same names."""
        own = {name.removeprefix("model."): torch.from_numpy(weight) for name, weight in weights.items()}
        self.body.load_state_dict(own, strict=False)


def shortened(module: Any, layers: Sequence[int]) -> Any:
    """A copy of a model's body that has only these of its layers; the embedding is shared."""
    body = module.model
    others = {id(each): each for each in [body.embed_tokens, body.layers]}
    small = copy.deepcopy(body, dict(others))  # both are kept as they are
    kept = [copy.deepcopy(body.layers[layer]) for layer in layers]
    for number, layer in enumerate(kept):
        layer.self_attn.layer_idx = number
    small.layers = nn.ModuleList(kept)
    small.config = copy.deepcopy(body.config)
    small.config.num_hidden_layers = len(kept)
    for part in (small.layers, small.norm):
        part.requires_grad_(True)
    return small


def frequent_tokens(laws: Laws, size: int) -> np.ndarray:
    """The ids of the `size` tokens that hold the most of the target's probability, ascending."""
    mass = np.bincount(laws.ids.ravel(), laws.probs.ravel().astype(np.float64))
    return np.sort(np.argsort(-mass, kind="stable")[:size])


def loss_of(logits: Tensor, rows: Tensor, probs: Tensor) -> Tensor:
    """-sum p log q over the recorded tokens that have a row: logits (N, V'), `rows` (N, K) or -1, `probs` (N, K)."""
    said = logits.log_softmax(-1).gather(-1, rows.clamp(min=0))
    return -(probs * said * (rows >= 0)).sum(-1).mean()


class Distillation:
    """A training run in a folder: goes on from its checkpoint where there is one.

    With a `start` it begins with that draft's weights in place of the target's layers, and with its tokens where the
    recipe asks for as many. Raises UserError for a corpus with too few texts, a start with another number of layers, a
    checkpoint that is broken or of another recipe, corpus or start.
    """

    def __init__(
        self, module: Any, texts: np.ndarray, laws: Laws, recipe: Recipe, folder: Path, start: Draft | None = None
    ) -> None:
        if start is not None and start.layers != len(recipe.layers):
            raise UserError("draft_other_layers", count=start.layers, asked=len(recipe.layers))
        if len(texts) < (least := recipe.held_out + recipe.rows):
            raise UserError("corpus_too_small", count=len(texts), least=least, held=recipe.held_out, rows=recipe.rows)
        self.recipe, self.folder = recipe, folder
        self.texts, self.laws = texts, laws
        as_many = start is not None and len(start.vocabulary) == recipe.vocabulary
        read = Laws(laws.ids[: -recipe.held_out], laws.probs[: -recipe.held_out])
        self.vocabulary = start.vocabulary if start and as_many else frequent_tokens(read, recipe.vocabulary)
        self.start = start
        self.row_of = torch.full((module.config.vocab_size,), -1)
        self.row_of[torch.from_numpy(self.vocabulary)] = torch.arange(len(self.vocabulary))
        self.student = Student(module, recipe.layers, self.vocabulary)
        if start is not None:
            self.student.learn(start.weights)
        weights = [p for p in self.student.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(weights, lr=recipe.rate, weight_decay=recipe.weight_decay, betas=(0.9, 0.98))
        self.step = 0
        self._resume()

    def run(self) -> Iterator[dict[str, float]]:
        """Train to the end; yields a line of the log every `every` steps, after a checkpoint."""
        while self.step < self.recipe.steps:
            loss = self._learn()
            if self.step % self.recipe.every == 0 or self.step == self.recipe.steps:
                line = {"step": self.step, "train_loss": loss, **asdict(self.score())}
                self._save(line)
                yield line

    def score(self) -> Score:
        """On the texts held out, the last ones of the corpus."""
        found, positions = [], []
        with torch.inference_mode():
            for first in range(len(self.texts) - self.recipe.held_out, len(self.texts), self.recipe.rows):
                logits, rows, probs = self._read(slice(first, first + self.recipe.rows))
                q = logits.softmax(-1).gather(-1, rows.clamp(min=0)) * (rows >= 0)
                same = logits.argmax(-1) == rows[:, 0]
                acceptance = torch.minimum(q, probs).sum(-1).mean()
                found.append([float(loss_of(logits, rows, probs)), float(same.float().mean()), float(acceptance)])
                positions.append(len(logits))
        return Score(*np.average(found, 0, positions).tolist())

    def draft(self, target: str) -> Draft:
        """The draft as it is now."""
        weights = {name: weight.numpy() for name, weight in self.student.learnt().items()}
        embedding = self.student.body.embed_tokens.weight.detach().numpy()
        count, size = len(self.recipe.layers), len(embedding)
        alike = (self.texts == self.texts[0]).all(0)
        lead = tuple(self.texts[0][: len(alike) if alike.all() else alike.argmin()].tolist())
        return Draft(target, count, size, self.vocabulary, weights, sample_rows(embedding), lead)

    def _learn(self) -> float:
        """One step on the next texts; their order is drawn anew for each pass over the corpus."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate()
        logits, rows, probs = self._read(self._chosen())
        loss = loss_of(logits, rows, probs)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        return float(loss.detach())

    def _chosen(self) -> np.ndarray:
        count, rows = len(self.texts) - self.recipe.held_out, self.recipe.rows
        each = count // rows
        order = np.random.default_rng([self.recipe.seed, self.step // each]).permutation(count)
        first = self.step % each * rows
        return order[first : first + rows]

    def _rate(self) -> float:
        done, warmup = self.step, self.recipe.warmup
        if done < warmup:
            return self.recipe.rate * (done + 1) / warmup
        share = (done - warmup) / max(1, self.recipe.steps - warmup)
        return self.recipe.rate * (0.1 + 0.9 * 0.5 * (1 + float(np.cos(np.pi * share))))

    def _read(self, which: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (N, V') at the positions whose law is recorded, the rows of its tokens (N, K), their p (N, K)."""
        ids = torch.from_numpy(self.texts[which].astype(np.int64))
        law_ids = torch.from_numpy(self.laws.ids[which].astype(np.int64))
        probs = torch.from_numpy(self.laws.probs[which].astype(np.float32))
        known = probs[..., 0] > 0
        with torch.autocast("cpu", torch.bfloat16, enabled=self.recipe.bfloat16):
            logits = self.student(ids, known)
        return logits.float(), self.row_of[law_ids[known]], probs[known]

    def _resume(self) -> None:
        path = self.folder / CHECKPOINT
        if path.is_file():
            try:
                state = torch.load(path, weights_only=True)
            except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
                raise UserError("training_file", path=str(path), reason=sentence_of(error)) from error
            if state["of"] != self._of():
                raise UserError("checkpoint_other", path=str(self.folder))
            self.student.load_state_dict(state["student"], strict=False)
            self.optimizer.load_state_dict(state["optimizer"])
            self.step = state["step"]

    def _of(self) -> list[Any]:
        """What a checkpoint must be of, to go on from it; the number of steps and the rate may be others."""
        recipe, weights = self.recipe, self.start.weights if self.start else {}
        sums = _checksum([self.texts]), _checksum([weights[name] for name in sorted(weights)])
        return [list(recipe.layers), recipe.rows, recipe.seed, *sums, self.vocabulary.tolist()]

    def _save(self, line: dict[str, float]) -> None:
        make_folder(self.folder)
        kept = {name: p for name, p in self.student.state_dict().items() if "embed_tokens" not in name}
        state = {"student": kept, "optimizer": self.optimizer.state_dict(), "step": self.step, "of": self._of()}
        work = self.folder / (CHECKPOINT + ".tmp")
        torch.save(state, work)
        os.replace(work, self.folder / CHECKPOINT)
        with (self.folder / LOG).open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")


def _checksum(arrays: Sequence[np.ndarray]) -> int:
    found = 0
    for array in arrays:
        found = zlib.crc32(array.tobytes(), found)
    return found

"""A Llama-type model on ONNX Runtime, behind the protocol: the quick engine of a CPU.

Keys and values lie in buffers made ahead and bound to the graph, where a step writes its own in place:
no step copies the past. Shapes: B batch, T new tokens, S all tokens, L layers, K key and value heads,
C capacity in tokens, D head size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from decoding.models import huggingface, onnx_build
from decoding.models.architecture import Architecture
from decoding.models.machine import cores
from decoding.models.onnx_file import GRAPH, READ_BYTES
from decoding.models.onnx_graph import has_counts, hidden_name
from decoding.models.protocol import KVCache, Output, Progress
from decoding.models.reduction import Reduction
from decoding.models.text_model import TextModel

FIRST_CAPACITY = 256
MOST_THREADS = 8
"""A token of a small model waits for memory, which a few threads keep busy."""
SPINS_SHORTLY = (1, 32)
"""The first runtime known to end a thread's lookout for work after a given time."""
SPIN = 20
"""Microseconds that a thread looks out for its next share of work (spins) before it sleeps; after a forward none does.

Between two operators it is less than that, and waking a sleeper takes longer.
"""
CHUNK = 512
"""Most new tokens in one pass: the scores of attention take heads x T x C floats."""


class OnnxCache:
    """One buffer (L, 2, B, K, C, D) of keys and values, of which the first `length` tokens count."""

    def __init__(self, session: Any, arch: Architecture, batch: int) -> None:
        self._arch = arch
        self._length = 0
        self._alike = 0
        """So many first tokens are the same in every row: `reorder` need not move them."""
        self.rows = batch
        self.buffer = torch.empty(arch.layers, 2, batch, arch.kv_heads, 0, arch.head_size)
        self._binding = session.io_binding()
        self._wanted: tuple[Any, ...] = ()

    @property
    def length(self) -> int:
        """Tokens held per row."""
        return self._length

    def crop(self, length: int) -> None:
        """Keep the first `length` tokens."""
        assert 0 <= length <= self._length, f"crop to {length} of {self._length}"
        self._length, self._alike = length, min(self._alike, length)

    def keep(self, indices: Sequence[int]) -> None:
        """Keep just these positions, in this order. Those that stay where they are are not moved."""
        kept, indices = len(indices), list(indices)
        assert all(0 <= index < self._length for index in indices), f"keep {indices} of {self._length}"
        still = next((at for at, index in enumerate(indices) if at != index), kept)
        if still < kept:
            self.buffer[..., still:kept, :] = self.buffer.index_select(-2, torch.tensor(indices[still:]))
        self._length, self._alike = kept, min(self._alike, still)

    def reorder(self, rows: Sequence[int]) -> None:
        """Row i becomes what row `rows[i]` was; the number of rows may change."""
        chosen = torch.tensor(list(rows), dtype=torch.long)
        if len(rows) != self.rows:
            alike = self._length if self.rows == 1 else self._alike
            self._move(self.buffer.shape[-2], chosen)
            self._alike = alike
        elif self._alike < self._length:
            moved = (chosen != torch.arange(self.rows)).nonzero().flatten()
            tail = self.buffer[..., self._alike : self._length, :]
            tail[:, :, moved] = tail.index_select(2, chosen[moved])

    def reserve(self, total: int) -> None:
        """Make room for `total` tokens: at least twice what there was."""
        if total > (capacity := self.buffer.shape[-2]):
            self._move(max(total, 2 * capacity, FIRST_CAPACITY), torch.arange(self.rows))

    def appended(self, count: int) -> None:
        """The graph has written `count` more tokens of each row."""
        self._alike = self._length + count if self.rows == 1 else min(self._alike, self._length)
        self._length += count

    def bound(self, outputs: tuple[str, ...]) -> Any:
        """The binding, with the buffers as past and present; anew where they or the other outputs have changed."""
        wanted = self.buffer.data_ptr(), self.buffer.shape, outputs
        if wanted != self._wanted:
            bind_buffers(self._binding, self.buffer)
            self._wanted = wanted
        return self._binding

    def _move(self, capacity: int, rows: Tensor) -> None:
        """These rows in a buffer of this capacity."""
        shape = (*self.buffer.shape[:2], len(rows), self._arch.kv_heads, capacity, self._arch.head_size)
        buffer = torch.empty(shape)
        buffer[..., : self._length, :] = self.buffer[:, :, rows, :, : self._length]
        self.buffer, self.rows = buffer, len(rows)


def bind_buffers(binding: Any, buffer: Tensor) -> None:
    """Keys and values of every layer, past and present in one place. Other outputs bound before are forgotten."""
    binding.clear_binding_outputs()
    for layer, pair in enumerate(buffer):
        for kind, part in zip(("key", "value"), pair, strict=True):
            place = "cpu", 0, np.float32, part.shape, part.data_ptr()
            binding.bind_input(f"past.{layer}.{kind}", *place)
            binding.bind_output(f"present.{layer}.{kind}", *place)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a graph is built from, and what the model is called; see `onnx_build.ensure`."""

    source: str
    local: bool
    arch: Architecture
    name: str
    precision: str
    gguf: Path | None = None


class OnnxModel(TextModel):
    """A graph and its tokenizer. Threads may share it: all state of a run is in its cache."""

    def __init__(
        self, session: Any, origin: Origin, parts: tuple[Any, Any, Any], reduction: Reduction | None = None
    ) -> None:
        tokenizer, config, generation = parts
        rounded = origin.precision == "int4" and origin.gguf is None
        dtype, name, arch = "int4 (quantised here)" if rounded else origin.precision, origin.name, origin.arch
        if reduction is not None:
            arch = reduction.architecture(arch)
            name, dtype = f"{name}, {reduction.name}", "int8" if reduction.draft else dtype
        super().__init__(name, tokenizer, config, generation, "cpu", dtype, "onnx")
        self._session, self._arch, self.origin = session, arch, origin
        if reduction is not None and reduction.draft is not None:
            self.said, self.lead = torch.from_numpy(reduction.draft.vocabulary), reduction.draft.lead

    @property
    def weight_bytes(self) -> int:
        """Bytes of weights that every forward reads."""
        return int(self._session.get_modelmeta().custom_metadata_map[READ_BYTES])

    def new_cache(self, batch: int = 1) -> OnnxCache:
        """An empty cache for `batch` rows."""
        return OnnxCache(self._session, self._arch, batch)

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
        """As in the protocol. A mask can only take away from causal order: no token sees one read after it."""
        assert isinstance(cache, OnnxCache)
        batch, new = tokens.shape
        assert batch == cache.rows, f"{batch} rows of tokens for a cache of {cache.rows}"
        past = cache.length
        assert past + new <= self.info.context_length + onnx_build.BEYOND
        if mask is not None:
            assert not (mask[..., past:] > -1e9).triu(1).any(), "a mask lets a token see a later one"
        cache.reserve(past + new)
        keep = min(logits_to_keep, new) or new
        asked_layers = [layer % (self._arch.layers + 1) for layer in hidden_layers]
        layers = sorted(set(asked_layers))
        parts = []
        for first, last in pairwise(self._cuts(new, alone=past == 0 and positions is not None)):
            part = tokens[:, first:last], slice(past + first, past + last)
            here = None if positions is None else positions[:, first:last]
            seen = None if mask is None else mask[..., first:last, : past + last]
            asked = max(0, last - max(first, new - keep))
            parts.append(self._read(cache, *part, here, seen, asked, layers))
            cache.appended(last - first)
        logits, of = _join([part.own for part in parts], 1), (self.said, self.info.vocab_size)
        if not layers:
            return Output(logits, None, *of)
        hidden = _join([part.hidden for part in parts], 2)
        if layers != asked_layers:
            hidden = hidden[[layers.index(layer) for layer in asked_layers]]
        return Output(logits, hidden, *of)

    def _cuts(self, new: int, alone: bool) -> list[int]:
        """Where to cut the new tokens into passes. `alone`: the first by itself, in a runtime that needs that.

        One without the counts of new tokens takes the positions of a first pass to follow its first.
        """
        start = [0, 1] if alone and not has_counts() and new > 1 else [0]
        return [*start, *range(CHUNK, new, CHUNK), new]

    def _read(
        self,
        cache: OnnxCache,
        tokens: Tensor,
        places: slice,
        positions: Tensor | None,
        mask: Tensor | None,
        asked: int,
        layers: Sequence[int],
    ) -> Output:
        """One pass over `tokens`, whose slots in the cache are `places`.

        A runtime without the counts of new tokens reads rows one by one where there are several with several
        new tokens each, or with first positions of their own.
        """
        batch, new = tokens.shape
        if mask is None:
            mask = torch.zeros(1, 1, new, places.stop)
        if positions is None:
            positions, usual = torch.arange(places.start, places.stop).expand(batch, -1), True
        else:
            usual = places.start > 0
        fits = has_counts() or batch == 1 or (usual and (new == 1 or places.start == 0))
        names = tuple(hidden_name(layer) for layer in layers)
        if fits:
            return self._run(cache.bound(names), tokens, positions, mask, asked, names)
        outputs = []
        for row in range(batch):
            binding, one = self._session.io_binding(), slice(row, row + 1)
            bind_buffers(binding, cache.buffer[:, :, one])
            bias = mask if len(mask) == 1 else mask[one]
            outputs.append(self._run(binding, tokens[one], positions[one], bias, asked, names))
        hidden = torch.cat([output.hidden for output in outputs if output.hidden is not None], 1) if names else None
        return Output(torch.cat([output.own for output in outputs]), hidden)

    def _run(
        self, binding: Any, tokens: Tensor, positions: Tensor, bias: Tensor, asked: int, hidden_names: Sequence[str]
    ) -> Output:
        """Bind all but keys and values, and run; the outputs are written where the tensors returned lie."""
        batch, new = tokens.shape
        total = bias.shape[-1]
        least = max(asked, 1)  # no tensor that is bound may be empty
        rows = torch.arange(batch * new).view(batch, new)[:, new - least :]
        inputs = {
            "tokens": tokens.long(),
            "positions": positions.long(),
            "bias": bias.float(),
            "seen": torch.full((batch,), total - 1, dtype=torch.int32),
            "total": torch.tensor(total, dtype=torch.int32),
            "asked": rows.reshape(-1),
        }
        if has_counts():
            inputs["counts"] = torch.full((batch,), new, dtype=torch.int32)
        inputs = {name: value.contiguous() for name, value in inputs.items()}  # alive until the run is over
        logits = torch.empty(batch * least, self._arch.vocabulary)
        hidden = torch.empty(len(hidden_names), batch * new, self._arch.hidden)
        for name, value in inputs.items():
            binding.bind_input(name, "cpu", 0, NUMPY[value.dtype], value.shape, value.data_ptr())
        for name, value in (("logits", logits), *zip(hidden_names, hidden, strict=True)):
            binding.bind_output(name, "cpu", 0, np.float32, value.shape, value.data_ptr())
        self._session.run_with_iobinding(binding)
        states = hidden.view(-1, batch, new, self._arch.hidden) if hidden_names else None
        return Output(logits.view(batch, least, -1)[:, :asked], states)


NUMPY = {torch.int64: np.int64, torch.int32: np.int32, torch.float32: np.float32}


def _join(parts: Sequence[Tensor | None], axis: int) -> Tensor:
    found = [part for part in parts if part is not None]
    return found[0] if len(found) == 1 else torch.cat(found, axis)


def load(origin: Origin, progress: Progress | None = None, reduction: Reduction | None = None) -> OnnxModel:
    """The model of this origin, or a smaller one made of it; its graph is built first where the cache has none.

    A graph that does not load is built again, once. Raises UserError for a model that cannot be read.
    """
    tell = progress or (lambda stage, done: None)
    source, local, name = origin.source, origin.local, origin.name
    arch = origin.arch if reduction is None else reduction.architecture(origin.arch)

    def ensure(rebuild: bool = False) -> Path:
        return onnx_build.ensure(source, local, arch, name, origin.precision, origin.gguf, progress, rebuild, reduction)

    folder = ensure()
    tell("loading", 0.0)
    with huggingface.reading(name):
        parts = (huggingface.read_tokenizer(source, local), *huggingface.read_configs(source, local))
    tell("loading", 0.5)
    try:
        session = _session(folder)
    except Exception:  # the runtime's errors have no common class
        session = _session(ensure(rebuild=True))
    tell("loading", 1.0)
    return OnnxModel(session, origin, parts, reduction)


def _session(folder: Path) -> Any:
    """All cores; threads that wait for work sleep, after a very short lookout where the runtime can end it so soon.

    Measured on two cores, int4, tokens a second with 20 us, 200 us, and no lookout: 64, 61 and 53; with two programs
    at once, each 24, 10 and 14, since a thread that looks out for long takes a core from the other program.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(cores(), MOST_THREADS)
    if tuple(map(int, onnxruntime.__version__.split(".")[:2])) >= SPINS_SHORTLY:
        options.add_session_config_entry("session.intra_op.spin_duration_us", str(SPIN))
        options.add_session_config_entry("session.force_spinning_stop", "1")
    else:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(folder / GRAPH), options, providers=["CPUExecutionProvider"])

"""What one forward costs on this machine: T(n) for n new tokens, B(b) for b rows, and the memory's bandwidth.

A token's forward reads every weight once, so its time cannot be below weight bytes / bandwidth; more tokens
read the same weights, and are nearly free until the arithmetic takes longer than the reading (a roofline:
Williams, Waterman and Patterson 2009, doi:10.1145/1498765.1498785).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import torch

from decoding import codec
from decoding.errors import UserError
from decoding.models.bundled import cache_root
from decoding.models.machine import cores, processor
from decoding.models.protocol import KVCache, LanguageModel
from decoding.values import ForwardTime, ForwardTimes

CONTEXT = 100
TOKENS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32)
ROWS = (1, 2, 4, 8, 16, 32)
SECONDS = 4.0
"""Rounds over all counts go on for so long, but at least LEAST_ROUNDS."""
LEAST_ROUNDS = 3
MOST_BYTES = 2**30
"""Read at most to find the bandwidth."""
SMALL_BYTES = 2**22
"""So few are read by one core: to share them out takes longer."""


class Weighed(LanguageModel, Protocol):
    """A model that knows how many bytes of weights a forward reads."""

    @property
    def weight_bytes(self) -> int:
        """Bytes of weights that every forward reads."""
        ...


def forward_times(model: Weighed, progress: Callable[[float], None] | None = None, fresh: bool = False) -> ForwardTimes:
    """The times of this model here: from the cache folder, else measured in a few seconds and put there.

    `fresh`: measure, whatever the cache holds. A cache that cannot be written is no fault.
    """
    path = cache_root() / f"times-{_key(model)}.json"
    if not fresh:
        with contextlib.suppress(OSError, UserError):
            return codec.loads(path.read_bytes(), ForwardTimes)
    times = measure(model, progress or (lambda done: None))
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        work = path.with_name(f"{path.name}.tmp-{os.getpid()}")
        work.write_text(codec.dumps(times), encoding="utf-8")
        os.replace(work, path)
    return times


def measure(
    model: Weighed,
    progress: Callable[[float], None],
    tokens: Sequence[int] = TOKENS,
    rows: Sequence[int] = ROWS,
    seconds: float = SECONDS,
) -> ForwardTimes:
    """Time every count in turn, round after round, and keep the best of each: what a quiet moment gives."""
    jobs = [(1, count) for count in tokens] + [(count, 1) for count in rows]
    caches = {batch: _filled(model, batch) for batch in sorted({batch for batch, _ in jobs})}
    best = dict.fromkeys(jobs, float("inf"))
    started, timed, quickest = time.perf_counter(), 0, float("inf")
    size = min(model.weight_bytes, MOST_BYTES)
    with _reader(model.info.device, size) as read:
        while timed < LEAST_ROUNDS * len(jobs) or time.perf_counter() - started < seconds:
            for job in jobs:
                best[job] = min(best[job], _milliseconds(model, caches[job[0]], *job))
                timed += 1
                elapsed = time.perf_counter() - started
                progress(min(timed / (LEAST_ROUNDS * len(jobs)), elapsed / seconds, 0.99))
            quickest = min(quickest, *(_seconds(read) for _ in range(3)))
    progress(1.0)
    # A forward that read its weights quicker than the array was read has shown a higher bandwidth.
    shown = 1000 * model.weight_bytes / min(best.values())
    return ForwardTimes(
        model=model.info,
        machine=processor(),
        cores=cores(),
        context=CONTEXT,
        weight_bytes=model.weight_bytes,
        bandwidth=max(size / quickest, shown),
        tokens=tuple(ForwardTime(count, best[1, count]) for count in tokens),
        rows=tuple(ForwardTime(count, best[count, 1]) for count in rows),
    )


def _filled(model: LanguageModel, rows: int) -> KVCache:
    """A cache of so many rows, each with the same CONTEXT tokens."""
    cache = model.new_cache()
    model.forward(_any_tokens(model, 1, CONTEXT), cache, logits_to_keep=1)
    cache.reorder([0] * rows)
    return cache


def _any_tokens(model: LanguageModel, rows: int, count: int) -> torch.Tensor:
    """Token ids spread over the vocabulary; which ones does not matter for the time."""
    return (torch.arange(rows * count) * 7919 % model.info.vocab_size).view(rows, count)


def _milliseconds(model: LanguageModel, cache: KVCache, rows: int, count: int) -> float:
    tokens = _any_tokens(model, rows, count)
    started = time.perf_counter()
    logits = model.forward(tokens, cache).logits
    logits[-1, -1, -1].item()  # waits for a GPU
    elapsed = time.perf_counter() - started
    cache.crop(CONTEXT)
    return 1000 * elapsed


@contextlib.contextmanager
def _reader(device: str, size: int) -> Iterator[Callable[[], object]]:
    """A function that reads so many bytes of the device's memory: on a CPU a part with each core, as a forward does.

    As many as the model has weights, so that a processor's caches help it as much as they help the model.
    """
    if device != "cpu":
        array = torch.ones(size // 4, device=device)
        yield lambda: array.sum().item()
    elif size <= SMALL_BYTES or cores() == 1:
        whole = np.ones(size // 4, np.float32)
        yield whole.max
    else:
        parts = np.array_split(np.ones(size // 4, np.float32), cores())
        with ThreadPoolExecutor(len(parts)) as pool:
            yield lambda: list(pool.map(np.max, parts))


def _seconds(read: Callable[[], object]) -> float:
    started = time.perf_counter()
    read()
    return time.perf_counter() - started


def _key(model: Any) -> str:
    """One file for each model, engine, precision, machine and version."""
    versions = [torch.__version__]
    with contextlib.suppress(ImportError):
        import onnxruntime

        versions.append(onnxruntime.__version__)
    threads = torch.get_num_threads() if model.info.engine == "torch" else None  # ONNX Runtime has its own
    key = [model.info, model.weight_bytes, processor(), cores(), threads, versions]
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]

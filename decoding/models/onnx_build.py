"""Builds a model's graph for ONNX Runtime into the cache folder, once for each precision.

`float32` holds the weights as they are. `int4` holds a GGUF file's own blocks, or, of a model that has none,
blocks of 4 bits (8 for the embedding and the output layer) rounded here; its products round their inputs to
8 bits within each block of 32.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from decoding.models import bundled, huggingface
from decoding.models.architecture import Architecture
from decoding.models.blocks import BLOCK, Weight, quantize, read_gguf
from decoding.models.onnx_graph import Weights, write
from decoding.models.protocol import Progress
from decoding.models.reduction import Reduction

VERSION = 1
"""Raised when the graph changes, so that older folders are not used."""
ACCURACY = {"float32": 0, "int4": 4}
"""Of MatMulNBits: 4 rounds the inputs to 8 bits by block, 0 would not.

Not rounding gives float32's own numbers (KL below 1e-9) but the kernel for it reads several tokens 3.5 times
as slowly as one, slower than float32 itself; with rounding, KL to float32 is below the 0.01 nats allowed.
"""
BEYOND = 1024
"""Positions past the model's context that still have rotary angles, for the slots of a drafted tree."""


def ensure(
    source: str,
    local: bool,
    arch: Architecture,
    name: str,
    precision: str,
    gguf: Path | None = None,
    progress: Progress | None = None,
    rebuild: bool = False,
    reduction: Reduction | None = None,
) -> Path:
    """The folder with the graph of the model that transformers finds at `source`, built where there is none.

    `reduction`: of a smaller model made of it, whose sizes are `arch`.
    Raises UserError for weights that cannot be read, or a cache that cannot be written.
    """
    tell: Callable[[float], None] = (lambda done: progress("building", done)) if progress else (lambda done: None)

    def make(folder: Path) -> None:
        tell(0.0)
        with huggingface.reading(name):
            module = huggingface.read_module(source, local, torch.float32)
        tell(0.3)
        if reduction is not None:
            reduction.check(module.get_input_embeddings().weight.numpy(), name)
        whole = _weights(module, precision, gguf)
        weights: Weights = whole if reduction is None else lambda name: reduction.weight(name, whole)
        tell(0.6)
        accuracy = _accuracy(precision, reduction)
        write(folder, arch, weights, _rotary(module), accuracy, lambda done: tell(0.6 + 0.4 * done))

    return bundled.ensure_folder(_folder_name(source, local, precision, reduction), make, rebuild)


def _folder_name(source: str, local: bool, precision: str, reduction: Reduction | None) -> str:
    """One folder for each model, precision, version of this builder and of the runtime."""
    import onnxruntime

    key = [huggingface.identity(source, local), precision, VERSION, onnxruntime.__version__]
    if reduction is not None:
        key += [reduction.key, _accuracy(precision, reduction)]
    return f"onnx-{precision}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}"


def _accuracy(precision: str, reduction: Reduction | None) -> int:
    """Of MatMulNBits. A trained draft is always in blocks, and takes the quick way: its errors cost only time."""
    return ACCURACY["int4" if reduction is not None and reduction.draft is not None else precision]


def _weights(module: Any, precision: str, gguf: Path | None) -> Weights:
    state = {name: weight.numpy() for name, weight in module.state_dict().items()}
    if precision == "float32":
        return state.get
    if gguf is not None:
        return read_gguf(gguf).get
    return lambda name: _rounded(name, state[name]) if name in state else None


def _rounded(name: str, weight: np.ndarray) -> Weight:
    """A matrix in blocks; a norm, a bias or a matrix that does not split into blocks as it is."""
    if weight.ndim < 2 or weight.shape[1] % BLOCK:
        return weight
    return quantize(weight, 4 if name.endswith("_proj.weight") else 8)


def _rotary(module: Any) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines of every position and pair, as the module itself computes them: (positions, head size / 2)."""
    positions = torch.arange(module.config.max_position_embeddings + BEYOND)[None]
    with torch.inference_mode():
        tables = module.model.rotary_emb(torch.zeros(1), positions)
    cosines, sines = (table[0, :, : table.shape[-1] // 2].numpy() for table in tables)
    return cosines, sines

"""Weights in blocks of 32 with 4 or 8 bits each: read from a GGUF file as they are, or made here.

GGUF's Q4_1 is w = d q + m with q in 0..15, Q4_0 w = d (q - 8), Q8_0 w = d q with q in -128..127; d and m are
float16 numbers of the block (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Here all are
w = scale (code - middle) + offset with middle = 2^(bits - 1): what ONNX Runtime's MatMulNBits multiplies
quickly, and a rest of 1/32 of the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 32


@dataclass(frozen=True, slots=True)
class Blocks:
    """A matrix (out, in) in blocks along `in`: codes (out, in / 32, 32) uint8, scales and offsets (out, in / 32)."""

    bits: int
    codes: np.ndarray
    scales: np.ndarray
    offsets: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(out, in) of the matrix."""
        return self.codes.shape[0], self.codes.shape[1] * BLOCK

    @property
    def kind(self) -> tuple[int, bool]:
        """What must be the same of matrices that are to be one: bits, and whether there are offsets."""
        return self.bits, self.offsets is not None

    def packed(self) -> np.ndarray:
        """The codes as bytes (out, in / 32, 32 * bits / 8); of 4 bits, two to a byte, the lower half first."""
        if self.bits == 8:
            return self.codes
        return self.codes[..., ::2] | self.codes[..., 1::2] << 4

    def matrix(self) -> np.ndarray:
        """The weights in float32."""
        weights = (self.codes.astype(np.float32) - 2 ** (self.bits - 1)) * self.scales[..., None]
        if self.offsets is not None:
            weights += self.offsets[..., None]
        return weights.reshape(self.shape)

    def rows(self, order: np.ndarray) -> Blocks:
        """The rows in another order."""
        offsets = None if self.offsets is None else self.offsets[order]
        return Blocks(self.bits, self.codes[order], self.scales[order], offsets)

    @classmethod
    def concatenate(cls, parts: Sequence[Blocks]) -> Blocks:
        """Matrices of one kind, one below the other."""
        if len(parts) == 1:
            return parts[0]
        codes, scales = np.concatenate([p.codes for p in parts]), np.concatenate([p.scales for p in parts])
        offsets = [part.offsets for part in parts if part.offsets is not None]
        return cls(parts[0].bits, codes, scales, np.concatenate(offsets) if offsets else None)


Weight = np.ndarray | Blocks
"""A matrix (out, in): float32, or blocks of 4 or 8 bits."""


def quantize(weight: np.ndarray, bits: int) -> Blocks:
    """Round a float32 matrix to the nearest codes.

    4 bits: from the least to the greatest weight of the block in 15 steps, as Q4_1. 8 bits: symmetric, as Q8_0.
    """
    blocks = np.ascontiguousarray(weight, np.float32).reshape(weight.shape[0], -1, BLOCK)
    if bits == 8:
        scales = np.abs(blocks).max(-1) / 127
        codes = np.rint(blocks / _nonzero(scales)[..., None]) + 128
        return Blocks(8, codes.astype(np.uint8), scales)
    least = blocks.min(-1)
    scales = (blocks.max(-1) - least) / 15
    codes = np.rint((blocks - least[..., None]) / _nonzero(scales)[..., None])
    return Blocks(4, codes.astype(np.uint8), scales, least + 8 * scales)


def _nonzero(scales: np.ndarray) -> np.ndarray:
    return np.where(scales > 0, scales, 1)


def read_gguf(path: Path) -> dict[str, np.ndarray | Blocks]:
    """All tensors of a Llama's GGUF file under transformers' names: blocks where it has blocks of these kinds."""
    from gguf import GGUFReader

    from decoding.models.convert import transformers_name, unpermute

    reader = GGUFReader(path)
    heads = {
        kind: int(reader.fields[f"llama.attention.{field}"].contents())
        for kind, field in (("attn_q", "head_count"), ("attn_k", "head_count_kv"))
    }
    weights: dict[str, np.ndarray | Blocks] = {}
    for tensor in reader.tensors:
        weight = _read_tensor(tensor)
        kind = tensor.name.split(".")[-2]
        if kind in heads:
            order = unpermute(np.arange(weight.shape[0]), heads[kind])
            weight = weight.rows(order) if isinstance(weight, Blocks) else weight[order]
        weights[transformers_name(tensor.name)] = weight
    return weights


def _read_tensor(tensor: Any) -> np.ndarray | Blocks:
    from gguf import GGMLQuantizationType as Kind
    from gguf import dequantize

    kind = tensor.tensor_type
    if kind not in (Kind.Q4_0, Kind.Q4_1, Kind.Q8_0):
        return dequantize(tensor.data, kind).astype(np.float32, copy=False)
    heads = {Kind.Q4_0: 2, Kind.Q4_1: 4, Kind.Q8_0: 2}[kind]
    blocks = tensor.data.reshape(tensor.data.shape[0], -1, heads + (32 if kind == Kind.Q8_0 else 16))
    numbers = np.ascontiguousarray(blocks[..., :heads]).view(np.float16).astype(np.float32)
    scales, body = np.ascontiguousarray(numbers[..., 0]), blocks[..., heads:]
    if kind == Kind.Q8_0:
        return Blocks(8, body ^ 128, scales)  # two's complement to an offset of 128
    codes = np.concatenate([body & 15, body >> 4], axis=-1)  # low halves are the first 16 weights
    return Blocks(4, codes, scales, numbers[..., 1] + 8 * scales if kind == Kind.Q4_1 else None)

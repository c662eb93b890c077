"""Many draws at once: each function gives, from the same uniforms, what its readable twin in `decoding.samplers` gives.

Shapes: `probs`, `logits`, `cumulative` (k,), float64; `uniforms`, `coins` (n,) in [0, 1), float64; drawn items (n,),
int64. Chunks keep what is held besides these under about 64 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Generator, Tensor

from decoding.samplers import AliasTable, build_alias, cumulate, gumbel_noise

CHUNK = 2**20
"""Most numbers worked on at once (8 MB of float64)."""

Drawer = Callable[[int, Generator], Tensor]
"""Draws n items, taking fresh uniforms from the generator: (n,)."""


def direct(cumulative: Tensor, uniforms: Tensor) -> Tensor:
    """How many running sums are not above each uniform: every sum is compared with every uniform, O(n k).

    The first item whose running sum exceeds the uniform, as `samplers.direct`. `cumulative`: of `samplers.cumulate`.
    """
    rows = max(1, CHUNK // len(cumulative))
    parts = [(cumulative <= some[:, None]).sum(-1) for some in uniforms.split(rows)]
    return torch.cat(parts) if parts else uniforms.new_empty(0, dtype=torch.long)


def binary(cumulative: Tensor, uniforms: Tensor) -> Tensor:
    """Bisect the running sums of `samplers.cumulate` for the first above each uniform, O(n log k)."""
    return torch.searchsorted(cumulative, uniforms, right=True)


def alias(table: AliasTable, uniforms: Tensor, coins: Tensor) -> Tensor:
    """A column and a coin for each draw, O(n)."""
    return from_columns(*columns(table), uniforms, coins)


def columns(table: AliasTable) -> tuple[Tensor, Tensor]:
    """Thresholds (k,), float64, and aliases (k,), int64."""
    return torch.tensor(table.thresholds, dtype=torch.float64), torch.tensor(table.aliases)


def from_columns(thresholds: Tensor, aliases: Tensor, uniforms: Tensor, coins: Tensor) -> Tensor:
    """`alias` from a table that is made of tensors already."""
    size = len(thresholds)
    column = (uniforms * size).long().clamp(max=size - 1)
    return torch.where(coins >= thresholds[column], aliases[column], column)


def gumbel(logits: Tensor, uniforms: Tensor) -> Tensor:
    """The largest logit + noise in each row of `uniforms` (n, k), O(n k). -inf is never drawn."""
    rows = max(1, CHUNK // len(logits))
    parts = [(logits.double() + gumbel_noise(some)).argmax(-1) for some in uniforms.split(rows)]
    return torch.cat(parts) if parts else uniforms.new_empty(0, dtype=torch.long)


def fresh(generator: Generator, draws: int, size: int) -> Iterator[Tensor]:
    """Uniforms for `draws` rows of `size`, a chunk of rows at a time; the same numbers as all rows at once."""
    rows = max(1, CHUNK // size)
    for start in range(0, draws, rows):
        yield _uniforms(generator, min(rows, draws - start), size)


def _uniforms(generator: Generator, *shape: int) -> Tensor:
    return torch.rand(*shape, dtype=torch.float64, generator=generator)


def _direct(probs: Tensor) -> Drawer:
    cumulative = cumulate(probs)
    return lambda draws, generator: direct(cumulative, _uniforms(generator, draws))


def _binary(probs: Tensor) -> Drawer:
    cumulative = cumulate(probs)
    return lambda draws, generator: binary(cumulative, _uniforms(generator, draws))


def _alias(probs: Tensor) -> Drawer:
    thresholds, aliases = columns(build_alias(probs))
    return lambda draws, generator: from_columns(thresholds, aliases, *_uniforms(generator, draws, 2).unbind(-1))


def _gumbel(probs: Tensor) -> Drawer:
    logits = probs.double().log()
    return lambda draws, generator: torch.cat([gumbel(logits, some) for some in fresh(generator, draws, len(logits))])


def _multinomial(probs: Tensor) -> Drawer:
    return lambda draws, generator: torch.multinomial(probs, draws, replacement=True, generator=generator)


PREPARE: dict[str, Callable[[Tensor], Drawer]] = {
    "direct": _direct,
    "binary": _binary,
    "alias": _alias,
    "gumbel": _gumbel,
    "multinomial": _multinomial,
}
"""Sampler -> what it builds from `probs` (k,) once; what comes back draws. Generators with the same seed give direct
and binary the same uniforms, so the same items; and the first draws of many are those of few."""


def draw(sampler: str, probs: Tensor, draws: int, seed: int) -> Tensor:
    """`draws` items (n,), at least one, by a sampler of `PREPARE`."""
    assert draws >= 1
    return PREPARE[sampler](probs)(draws, torch.Generator().manual_seed(seed))

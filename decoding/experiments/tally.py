"""Many draws counted against the exact law: chi-square, total variation, and how it shrinks with n."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from decoding.experiments import batch
from decoding.experiments.values import Convergence, ConvergenceCurve, Fit, Law, Tally

FEWEST_EXPECTED = 5
"""Cells expected less often share one: below it the chi-square law is no good approximation (Cochran 1954)."""


def sample(sampler: str, law: Law, draws: int, seed: int) -> Tally:
    """`draws` draws by a sampler of `batch.PREPARE`, counted."""
    return tally(sampler, law, batch.draw(sampler, _probs(law), draws, seed))


def tally(sampler: str, law: Law, drawn: Tensor) -> Tally:
    """Items drawn (n,), counted against the law."""
    counts = torch.bincount(drawn, minlength=len(law.probs))
    assert len(counts) == len(law.probs) and len(drawn)
    listed = tuple(counts.tolist())
    return Tally(sampler, law, len(drawn), listed, fit(listed, law.probs), _total_variation(counts, _probs(law)))


def fit(counts: Sequence[int], probs: Sequence[float]) -> Fit:
    """Pearson's test: the statistic's law, where `counts` follow `probs`, is chi-square with cells - 1 degrees.

    p-value = Q(degrees / 2, statistic / 2), the regularized upper incomplete gamma function.
    """
    draws = sum(counts)
    assert draws and len(counts) == len(probs)
    if any(count and not prob for count, prob in zip(counts, probs, strict=True)):
        return Fit(None, max(0, sum(prob > 0 for prob in probs) - 1), 0.0, 0)
    cells, pooled = _cells(counts, probs, draws)
    if len(cells) < 2:
        return Fit(0.0, 0, 1.0, pooled)
    statistic = math.fsum((count - expected) ** 2 / expected for count, expected in cells)
    halves = torch.tensor([(len(cells) - 1) / 2, statistic / 2], dtype=torch.float64)
    return Fit(statistic, len(cells) - 1, float(torch.special.gammaincc(*halves)), pooled)


def _cells(counts: Sequence[int], probs: Sequence[float], draws: int) -> tuple[list[tuple[int, float]], int]:
    """(count, expected) of each cell, and how many items share one.

    The rarest items go into the shared cell until it, too, is expected `FEWEST_EXPECTED` times.
    """
    rarest_first = sorted((draws * prob, count) for count, prob in zip(counts, probs, strict=True) if prob > 0)
    pooled, shared, expected = 0, 0, 0.0
    for mass, count in rarest_first:
        if mass >= FEWEST_EXPECTED and not 0 < expected < FEWEST_EXPECTED:
            break
        pooled, shared, expected = pooled + 1, shared + count, expected + mass
    cells = [(count, mass) for mass, count in rarest_first[pooled:]]
    return ([(shared, expected)] if pooled else []) + cells, pooled


def _total_variation(counts: Tensor, probs: Tensor) -> float:
    return float((counts.double() / counts.sum() - probs).abs().sum() / 2)


def _probs(law: Law) -> Tensor:
    return torch.tensor(law.probs, dtype=torch.float64)


def grid(draws: int, per_decade: int = 6) -> tuple[int, ...]:
    """Numbers of draws from 1 to `draws`, evenly spaced in their logarithm."""
    assert draws >= 1
    steps = math.ceil(per_decade * math.log10(draws)) if draws > 1 else 0
    return tuple(sorted({min(draws, round(10 ** (step / per_decade))) for step in range(steps)} | {draws}))


def converge(law: Law, samplers: Sequence[str], draws: int, seed: int) -> Convergence:
    """Total variation of each sampler's first n draws, for n up to `draws`, beside what is expected.

    E|count / n - p| is near sqrt(2 p (1 - p) / (pi n)); half their sum is constant / sqrt(n).
    """
    sizes, probs = grid(draws), _probs(law)
    curves = tuple(
        ConvergenceCurve(sampler, _curve(batch.draw(sampler, probs, draws, seed), probs, sizes)) for sampler in samplers
    )
    constant = float((probs * (1 - probs)).sqrt().sum()) / math.sqrt(2 * math.pi)
    return Convergence(law, sizes, curves, constant, tuple(constant / math.sqrt(size) for size in sizes))


def _curve(drawn: Tensor, probs: Tensor, sizes: Sequence[int]) -> tuple[float, ...]:
    counts = torch.zeros_like(probs, dtype=torch.long)
    distances, start = [], 0
    for size in sizes:
        counts += torch.bincount(drawn[start:size], minlength=len(probs))
        start = size
        distances.append(_total_variation(counts, probs))
    return tuple(distances)

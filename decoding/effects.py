"""Exact sweeps over one step's law: what temperature and top-p do, and what many draws look like.

All from the full logits (V,) that one forward left; no model is run, nothing is approximated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from decoding.processors import Temperature, TopP
from decoding.ranking import nucleus_size
from decoding.samplers import cumulate
from decoding.trace import Distribution, Token
from decoding.values import Effects, Histogram


def effects(
    logits: Tensor,
    ids: Sequence[int],
    token: Callable[[int], Token],
    temperatures: Sequence[float],
    top_ps: Sequence[float],
) -> Effects:
    """The law softmax(logits / T) over a grid: probabilities of `ids`, entropy, tokens kept by top-p.

    `logits` (V,) in nats; `token` names an id; T from 0 (one-hot) up. Entropy, -sum p log2 p in
    bits, is over the whole vocabulary. Kept counts are those of `TopP(p)(Temperature(T)(logits))`.
    Temperature keeps the order, so one sort serves all. Raises UserError on a T or p out of range.
    """
    assert logits.ndim == 1 and temperatures
    ranked, order = logits.sort(descending=True, stable=True)
    ranks = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
    rank_of_ids = ranks[torch.as_tensor(list(ids), dtype=torch.long, device=order.device)]
    nuclei = [TopP(p) for p in top_ps]
    wanted = torch.tensor([nucleus.p for nucleus in nuclei], dtype=torch.float64, device=order.device)
    columns, entropies, kept = [], [], []
    for temperature in temperatures:
        scaled = Temperature(temperature)(ranked)
        probs = scaled.softmax(-1, dtype=torch.float64)
        columns.append(probs[rank_of_ids].tolist())
        entropies.append(float(torch.special.entr(probs).sum()) / math.log(2))
        sizes = nucleus_size(probs.cumsum(0), wanted).tolist()
        whole = int((~scaled.isneginf()).sum())
        kept.append([size if nucleus.active else whole for size, nucleus in zip(sizes, nuclei, strict=True)])
    return Effects(
        tokens=tuple(token(id) for id in ids),
        temperatures=tuple(float(t) for t in temperatures),
        probs=tuple(zip(*columns, strict=True)),
        entropies=tuple(entropies),
        top_ps=tuple(nucleus.p for nucleus in nuclei),
        kept=tuple(zip(*kept, strict=True)),
    )


def histogram(probs: Tensor, law: Distribution, draws: int, generator: torch.Generator | None = None) -> Histogram:
    """`draws` independent draws from `probs` (V,), counted for the tokens of `law.top` and the rest.

    Each draw inverts the cumulative sum, as `samplers.binary_search` does. The total variation,
    half the sum of |empirical - exact|, is over the whole vocabulary.
    """
    assert probs.ndim == 1 and draws >= 1
    exact = probs.double() / probs.double().sum()
    device = exact.device if generator is None else generator.device
    uniforms = torch.rand(draws, dtype=torch.float64, generator=generator, device=device).to(exact.device)
    drawn = torch.searchsorted(cumulate(exact), uniforms, right=True)  # the first sum above the uniform
    counts = torch.bincount(drawn, minlength=len(exact))
    shown = tuple(int(counts[candidate.token.id]) for candidate in law.top)
    return Histogram(
        law=law,
        draws=draws,
        counts=shown,
        tail_count=draws - sum(shown),
        total_variation=float((counts / draws - exact).abs().sum() / 2),
        expected=expected_variation(exact, draws),
    )


def expected_variation(probs: Tensor, draws: int) -> float:
    """Mean total variation of `draws` fair draws, exactly: half the sum of E|X/n - p|, X binomial (n, p).

    E|X - np| = 2 v C(n, v) p^v (1 - p)^(n - v + 1) with v = floor(np) + 1 (de Moivre 1730).
    """
    p = probs[(probs > 0) & (probs < 1)]
    n = torch.tensor(float(draws), dtype=torch.float64)
    v = (n * p).floor() + 1
    choose = torch.lgamma(n + 1) - torch.lgamma(v + 1) - torch.lgamma(n - v + 1)
    deviation = 2 * (v.log() + choose + v * p.log() + (n - v + 1) * torch.log1p(-p)).exp()
    return float(deviation.sum() / n / 2)

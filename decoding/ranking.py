"""What the processors share: which tokens are the highest, how many hold a probability, how often ids occur.

Shapes: `logits`, `scores`, `probs` (..., V); masks likewise; a count or a border (..., 1).
"""

from __future__ import annotations

import math
import sys

import torch
from torch import Tensor

TOLERANCE = 1e-6
"""Probability mass: .5 + .3 stored in float32 must still reach .8."""

HEADS = (256, 4096, sys.maxsize)
"""How many of the highest tokens to sort, tried in turn: most laws are peaked, and a full sort is slow."""


def nucleus_size(cumulative: Tensor, p: Tensor) -> Tensor:
    """How many tokens hold probability `p`: the first sum that reaches p - `TOLERANCE`, at least one.

    `cumulative` (..., n): float64 sums, most likely token first; `p` (..., q) -> counts (..., q).
    """
    return (torch.searchsorted(cumulative, p - TOLERANCE) + 1).clamp(max=cumulative.shape[-1])


def fewest(scores: Tensor, probs: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """The fewest tokens, highest score first, that hold `p`: how many, and the last one's score; (..., 1) each."""
    wanted = probs.new_full((*probs.shape[:-1], 1), p)
    for head in HEADS:
        best, ids = scores.topk(min(head, scores.shape[-1]), dim=-1)
        cumulative = probs.gather(-1, ids).cumsum(-1)
        if bool((cumulative[..., -1:] >= wanted - TOLERANCE).all()):
            break
    count = nucleus_size(cumulative, wanted)
    return count, best.gather(-1, count - 1)


def highest(logits: Tensor, count: Tensor | int, border: Tensor) -> Tensor:
    """Mask of the `count` highest, given the last one's value; of those equal to it, the lowest ids."""
    kept = logits >= border
    if bool((kept.sum(-1, keepdim=True) <= count).all()):
        return kept
    above = logits > border
    level = logits == border
    return above | (level & (level.cumsum(-1) <= count - above.sum(-1, keepdim=True)))


def most_likely(logits: Tensor) -> Tensor:
    """Mask of one token: the highest, of equals the lowest id."""
    mask = torch.zeros_like(logits, dtype=torch.bool)
    return mask.scatter_(-1, logits.max(-1, keepdim=True).indices, True)


def clamp_finite(changed: Tensor, logits: Tensor) -> Tensor:
    """`changed` in the type of `logits`, finite just where `logits` is."""
    limits = torch.finfo(logits.dtype)
    return changed.clamp(limits.min, limits.max).to(logits.dtype).masked_fill(logits.isneginf(), -math.inf)


def within(ids: Tensor | None, logits: Tensor) -> Tensor:
    """`ids` as (..., S) for the rows of `logits`, each id beyond the vocabulary made V."""
    ids = torch.empty(0, dtype=torch.long) if ids is None else ids
    return ids.to(logits.device).clamp(max=logits.shape[-1]).expand(*logits.shape[:-1], -1)


def count_ids(ids: Tensor | None, logits: Tensor) -> Tensor:
    """How often each token of the vocabulary is in `ids` (..., S); (..., V)."""
    ids = within(ids, logits)
    counts = torch.zeros(*logits.shape[:-1], logits.shape[-1] + 1, dtype=torch.long, device=logits.device)
    return counts.scatter_add_(-1, ids, torch.ones_like(ids))[..., :-1]


def probs_of(logits: Tensor) -> Tensor:
    return logits.softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def log_probs_of(logits: Tensor) -> Tensor:
    return logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def entropy_of(log_probs: Tensor) -> Tensor:
    """In nats, (..., 1); a token of probability 0 adds nothing."""
    return -(log_probs * log_probs.exp()).nansum(-1, keepdim=True)

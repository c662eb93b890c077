"""What a beam search chooses from at one depth: extensions of its open beams, as flat tensors.

Shapes: R open beams, V vocabulary, n candidates. Log-probabilities are in nats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Extensions of the open beams at one depth, n of them, in no order.

    `parents` (n,): int64, row of the open beam it extends. `tokens` (n,): int64, the id it adds.
    `logprobs` (n,): float64, nats, summed from the root. `local` (n,): float64, nats, the token's own (<= 0).
    """

    parents: Tensor
    tokens: Tensor
    logprobs: Tensor
    local: Tensor


def likeliest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Per row of (R, V), the `count` highest values and their ids: highest first, lowest id first on ties.

    (R, count) each, on the CPU; fewer where V is smaller.
    """
    if count < values.shape[-1]:
        best, ids = (part.cpu() for part in values.topk(count + 1))
        tied = (best[:, -2] == best[:, -1]) & (best[:, -1] > -math.inf)
        if not bool(tied.any()):  # else topk took any of those that tie
            ids, order = ids[:, :-1].sort(dim=-1)
            best, order = best[:, :-1].gather(-1, order).sort(dim=-1, descending=True, stable=True)
            return best, ids.gather(-1, order)
    best, ids = values.cpu().sort(dim=-1, descending=True, stable=True)
    return best[:, :count], ids[:, :count]


def extensions(law: Tensor, sums: Tensor, count: int) -> Candidates:
    """The `count` likeliest extensions of each beam; those of probability 0 are none.

    `law` (R, V): ln p of every next token. `sums` (R,): the beams' own, in the type of `law`, in which they are
    added, so that float32 sums round as transformers' do.
    """
    local, ids = likeliest(law, count)
    possible = local > -math.inf
    parents = torch.arange(len(ids))[:, None].expand_as(ids)
    logprobs = local + sums.to(local)[:, None]
    return Candidates(parents[possible], ids[possible], logprobs[possible].double(), local[possible].double())


def count_possible(law: Tensor) -> int:
    """How many extensions have a probability above 0; `law` (R, V) holds -inf elsewhere."""
    if bool(law.amin() > -math.inf):
        return law.numel()
    return int((law > -math.inf).sum())

"""The tokens drafted in one round, as a tree; a chain is a tree of width one.

N tokens drafted, S all that a forward can see: those held by the cache, those not read yet, and the drafted ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

ROOT = -1
"""The parent of a token that follows the text so far."""
LOWEST = torch.finfo(torch.float32).min
"""What a mask adds where a token may not look."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenTree:
    """Drafted `tokens` (N,), and the node each follows: `parents` (N,) with parents[i] < i, `ROOT` after the text."""

    tokens: Tensor
    parents: Tensor

    def __post_init__(self) -> None:
        count = len(self.tokens)
        assert self.tokens.shape == self.parents.shape == (count,), "as many parents as tokens"
        below = self.parents < torch.arange(count)
        assert bool((below & (self.parents >= ROOT)).all()), "a parent stands before its children"

    @classmethod
    def chain(cls, tokens: Sequence[int]) -> TokenTree:
        """Each token after the one before."""
        return cls(torch.tensor(tokens, dtype=torch.long), torch.arange(len(tokens)) - 1)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def is_chain(self) -> bool:
        """Whether each token follows the one before; also of an empty tree."""
        return torch.equal(self.parents, torch.arange(len(self)) - 1)

    def depths(self) -> Tensor:
        """(N,) how many tokens lead from the text to each node, itself included: from 1."""
        return self.ancestors().sum(-1)

    def ancestors(self) -> Tensor:
        """(N, N) bool: row i is true at i and at all nodes that lead to it."""
        rows = torch.eye(len(self), dtype=torch.bool)
        for node, parent in enumerate(self.parents.tolist()):
            if parent != ROOT:
                rows[node] |= rows[parent]
        return rows

    def children(self, node: int) -> tuple[int, ...]:
        """The nodes that follow this one (`ROOT`: the text), in order."""
        return tuple((self.parents == node).nonzero().flatten().tolist())

    def path(self, node: int) -> tuple[int, ...]:
        """The nodes from the text to this one, itself included; none of `ROOT`."""
        found: list[int] = []
        while node != ROOT:
            found.append(node)
            node = int(self.parents[node])
        return tuple(reversed(found))

    def positions(self, held: int, unread: int) -> Tensor | None:
        """(1, unread + N) positions of a forward after `held` tokens; siblings share theirs. None for a chain."""
        if self.is_chain:
            return None
        text = held + unread
        return torch.cat((torch.arange(held, text), text - 1 + self.depths()))[None]

    def mask(self, held: int, unread: int) -> Tensor | None:
        """(1, 1, unread + N, S) additive float32 mask: a node sees the text, its ancestors and itself.

        Of 0 and the lowest float. None for a chain, whose order is causal already.
        """
        if self.is_chain:
            return None
        text, count = held + unread, len(self)
        visible = torch.ones(unread + count, text + count, dtype=torch.bool).tril(held)
        visible[unread:, text:] = self.ancestors()
        return torch.zeros(visible.shape).masked_fill(~visible, LOWEST)[None, None]

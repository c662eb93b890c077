"""A transformers cache whose layers have room to grow.

A step that finds room writes its own keys and values and copies no past. Where there is none (the room is used up, or
rows or places have just been chosen, which copies what is held) the past moves once into a buffer with room again.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

ROOM = 64
"""Tokens of room in a new buffer, beyond twice what it must hold."""


class GrowingLayer(DynamicLayer):
    """Keys and values (B, heads, length, head size) are the front of buffers, made twice as long as what they hold."""

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        super().lazy_initialization(key_states, value_states)
        self.keys, self.values = (states[..., :0, :] for states in (key_states, value_states))
        self._buffers = self.keys, self.values

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write the new states (B, heads, T, head size) behind those held; all of them are returned."""
        past, new = self.get_seq_length(), key_states.shape[-2]
        if past == 0:
            self.lazy_initialization(key_states, value_states)
        assert self.keys.shape[:2] == key_states.shape[:2], f"{len(key_states)} rows after {len(self.keys)}"
        if not self._has_room(past + new):
            self._buffers = self._moved(self.keys, key_states), self._moved(self.values, value_states)
        for buffer, states in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[..., past : past + new, :] = states
        self.keys, self.values = (buffer[..., : past + new, :] for buffer in self._buffers)
        return self.keys, self.values

    def keep(self, places: Tensor) -> None:
        """Hold just these places, in this order."""
        self.keys, self.values = (states.index_select(-2, places) for states in (self.keys, self.values))
        self._let_go()

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Row i becomes what row `beam_idx[i]` was."""
        super().reorder_cache(beam_idx)
        if self.get_seq_length() > 0:
            self._let_go()

    def _let_go(self) -> None:
        """What is held is a copy now: free the buffers at once, and have no room in the copy."""
        self._buffers = self.keys[..., :0, :], self.values[..., :0, :]

    def _has_room(self, total: int) -> bool:
        """Whether what is held is the front of the buffers still (rows and places may have been chosen), and fits."""
        held = zip((self.keys, self.values), self._buffers, strict=True)
        at_front = all(k.data_ptr() == b.data_ptr() and k.shape[:2] == b.shape[:2] for k, b in held)
        return at_front and total <= self._buffers[0].shape[-2]

    def _moved(self, held: Tensor, states: Tensor) -> Tensor:
        rows, heads, new, size = states.shape
        past = held.shape[-2]
        buffer = states.new_empty((rows, heads, 2 * (past + new) + ROOM, size))
        buffer[..., :past, :] = held
        return buffer


def new_cache(config: Any) -> DynamicCache:
    """An empty cache for a model of this config; layers that keep a window only stay transformers' own."""
    cache = DynamicCache(config=config)
    cache.layers = [GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache

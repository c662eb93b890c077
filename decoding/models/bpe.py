"""Byte-pair encoding, one merge at a time, and the alphabet that writes bytes as letters. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise


def byte_alphabet() -> dict[str, int]:
    """The letter of each byte in a byte-level vocabulary (GPT-2's): letter to byte.

    Printable bytes of Latin-1 stand for themselves; the other 68 are, in order, the letters from
    U+0100 on. So a space is `Ġ` and a newline is `Ċ`.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


def merge_steps(pieces: Sequence[str], ranks: Mapping[tuple[str, str], int]) -> list[tuple[int, tuple[str, ...]]]:
    """What byte-pair encoding does to one word: after each merge, its rank and the pieces then.

    Each step joins the neighbouring pair with the lowest rank (learned earliest), the leftmost of
    equals, until no pair has a rank. O(n^2) for n pieces. Sennrich et al., arXiv:1508.07909.
    """
    steps: list[tuple[int, tuple[str, ...]]] = []
    now = tuple(pieces)
    while True:
        found = [(rank, at) for at, pair in enumerate(pairwise(now)) if (rank := ranks.get(pair)) is not None]
        if not found:
            return steps
        rank, at = min(found)
        now = (*now[:at], now[at] + now[at + 1], *now[at + 2 :])
        steps.append((rank, now))

"""What makes long work on this machine quick: 16-bit numbers where it has them, and memory that is kept."""

from __future__ import annotations

import contextlib
import ctypes
import time

import torch

ROWS, INPUTS, OUTPUTS = 512, 576, 1536
GAIN = 1.5
"""So many times as quick must a product in bfloat16 be: without support by the processor it is far slower."""


def bfloat16_is_quick() -> bool:
    """Measured on one product, best of several."""
    seconds = {dtype: _seconds(dtype) for dtype in (torch.float32, torch.bfloat16)}
    return GAIN * seconds[torch.bfloat16] < seconds[torch.float32]


def _seconds(dtype: torch.dtype) -> float:
    values, weights = torch.ones(ROWS, INPUTS, dtype=dtype), torch.ones(OUTPUTS, INPUTS, dtype=dtype)
    best = float("inf")
    for _ in range(6):
        started = time.perf_counter()
        torch.nn.functional.linear(values, weights)
        best = min(best, time.perf_counter() - started)
    return best


MMAP_MAX, TRIM_THRESHOLD, TOP_PAD = -4, -1, -2
"""Numbers of glibc's options, malloc.h."""
KEPT, AT_ONCE = 2**31 - 1, 2**29
"""Bytes."""


def keep_freed_memory() -> None:
    """Let glibc keep large blocks that were freed; nothing happens with another C library.

    It would give each back to the system and have its pages cleared again a moment later. A step of training frees
    some hundred megabytes: a fifth of its time went there.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in ((MMAP_MAX, 0), (TRIM_THRESHOLD, KEPT), (TOP_PAD, AT_ONCE)):
            mallopt(option, value)

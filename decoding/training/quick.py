"""Whether 16-bit numbers are the quicker ones on this machine."""

from __future__ import annotations

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

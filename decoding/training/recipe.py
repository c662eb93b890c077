"""How a corpus is written and a draft is trained. Standard library only: a command line shows the usual values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Writing:
    """How a corpus is written: texts of `length` tokens, `rows` at a time, at `temperature` and `top_p`.

    `answers`: the temperature of every second turn, which answers the one before it; 0 takes the likeliest token.
    """

    rows: int = 192
    length: int = 256
    temperature: float = 1.0
    answers: float = 1.0
    top_p: float = 0.95
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a draft is trained: which of the target's layers it starts from, and the steps of AdamW.

    `vocabulary`: tokens it can say. `rows`: texts a step; the learning rate rises for `warmup` steps to `rate` and
    falls as a cosine to a tenth. A score on the `held_out` last texts, and a checkpoint, `every` so many steps.
    `bfloat16`: whether products are rounded to 16 bits; the weights learnt stay in 32.
    """

    layers: tuple[int, ...]
    vocabulary: int = 8192
    steps: int = 3000
    rows: int = 8
    rate: float = 1e-3
    warmup: int = 50
    weight_decay: float = 0.01
    held_out: int = 24
    every: int = 50
    seed: int = 0
    bfloat16: bool = True

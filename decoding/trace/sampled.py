"""A step of a sampled or greedy run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from decoding.trace.draws import Draw
from decoding.trace.law import Stage, Token


@dataclass(frozen=True, slots=True)
class SampleStep:
    """One token of a sampled or greedy run.

    `position` counts new tokens from 0. All stages list the same tokens: the most likely of the
    model and of the final law, and always `token`, however improbable. `prob` is the chosen
    token's probability in the final law, `model_prob` in the model's own.
    """

    position: int
    stages: tuple[Stage, ...]
    draw: Draw
    token: Token
    prob: float
    model_prob: float
    kind: Literal["sample"] = "sample"

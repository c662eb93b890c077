"""What a rule is: a checked setting that is also the function it sets."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, ClassVar

import torch
from torch import Tensor

from decoding.errors import UserError

NOTES: tuple[str, ...] = ("tie_broken", "no_filtering", "kept_most_likely", "most_likely_removed")
"""Codes of what a person should know about one use of a processor; see `Processor.notes`."""


def check_number(name: str, value: Any, low: float, high: float, limit: str, whole: bool = False) -> Any:
    """`value` as a float (an int where `whole`) within [low, high]; `limit` writes that in symbols.

    Raises UserError (`not_a_number`, `out_of_range`).
    """
    number = isinstance(value, Real) and not isinstance(value, bool)
    within = number and low <= value <= high  # NaN is not
    if not within or (whole and not isinstance(value, Integral)):
        text = repr(value) if len(repr(value)) <= 40 else repr(value)[:39] + "…"
        raise UserError("out_of_range" if number else "not_a_number", name=name, value=text, limit=limit)
    return int(value) if whole else float(value)


class Setting(ABC):
    """A rule's one value, checked when it is made. `name`: the option that sets it."""

    __slots__ = ()
    name: ClassVar[str]
    neutral: ClassVar[float] = 0
    low: ClassVar[float] = 0
    high: ClassVar[float] = 1
    limit: ClassVar[str] = "0 ≤ {name} ≤ 1"
    whole: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, value: Any, /) -> None: ...

    def __post_init__(self) -> None:
        """Check the value. Raises UserError (`not_a_number`, `out_of_range`)."""
        ((symbol, value),) = self.params().items()
        limit = self.limit.format(name=self.name)
        object.__setattr__(self, symbol, check_number(self.name, value, self.low, self.high, limit, self.whole))

    def params(self) -> dict[str, Any]:
        """The setting by its symbol, for the trace."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @property
    def value(self) -> Any:
        """The setting by itself."""
        (value,) = self.params().values()
        return value

    @property
    def active(self) -> bool:
        """False at the neutral value, where the rule never changes anything."""
        return bool(self.value != self.neutral)


class Processor(Setting):
    """One rule on the logits. `name`: its option in transformers' generate(), where it has one."""

    __slots__ = ()

    def __call__(self, logits: Tensor, history: Tensor | None = None) -> Tensor:
        """The logits after this rule; `logits` itself where it is off."""
        return self._change(logits, history) if self.active else logits

    @abstractmethod
    def _change(self, logits: Tensor, history: Tensor | None) -> Tensor: ...

    def notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        """What happened in any of the rows, given the logits before and after.

        tie_broken: a kept and a removed token had the same logit. no_filtering: no row lost a
        token. kept_most_likely: the rule asked for less than one token, so the most likely
        stayed. most_likely_removed: the most likely token was removed.
        """
        return ()


class Filter(Processor):
    """A rule that removes tokens and leaves the logits of the others."""

    __slots__ = ()

    def _change(self, logits: Tensor, history: Tensor | None) -> Tensor:
        return logits.masked_fill(~self._kept(logits, history), -math.inf)

    @abstractmethod
    def _kept(self, logits: Tensor, history: Tensor | None) -> Tensor:
        """Mask (..., V) of the tokens to keep; those already removed may be in it."""

    def notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        if after is before or torch.equal(before.isneginf(), after.isneginf()):
            return ("no_filtering",)
        return self._removal_notes(before, after)

    def _removal_notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        return ()


def tie_notes(before: Tensor, after: Tensor) -> tuple[str, ...]:
    """`tie_broken` where a removed token was as high as the lowest kept one."""
    removed = after.isneginf()
    lowest_kept = before.masked_fill(removed, math.inf).amin(-1)
    highest_removed = before.masked_fill(~removed, -math.inf).amax(-1)
    return ("tie_broken",) if bool((lowest_kept == highest_removed).any()) else ()

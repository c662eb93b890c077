"""Frozen, self-checking settings; one class per method. Names are those of transformers' `generate`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoding import processors as rules
from decoding.errors import UserError
from decoding.processors import Processor
from decoding.samplers import SAMPLERS

TOP_LIMIT = 50
"""Most alternatives recorded per step and law."""
MAX_SEED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one run may ask for, in tokens. A server sets these; both are checked before a run."""

    prompt_tokens: int = 2000
    new_tokens: int = 256

    @classmethod
    def from_environment(cls) -> Limits:
        """The limits that $DECODING_LAB_PROMPT_TOKENS and $DECODING_LAB_NEW_TOKENS set, else the usual ones."""
        names = {"prompt_tokens": "DECODING_LAB_PROMPT_TOKENS", "new_tokens": "DECODING_LAB_NEW_TOKENS"}
        given = {field_: os.environ[name] for field_, name in names.items() if os.environ.get(name)}
        for field_, value in given.items():
            if not value.isdecimal() or int(value) < 1:
                raise UserError("out_of_range", name=names[field_], value=repr(value), limit="≥ 1")
        return cls(**{field_: int(value) for field_, value in given.items()})


def check_int(name: str, value: Any, low: int, high: int) -> None:
    """Raise UserError unless `value` is an int in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UserError("out_of_range", name=name, value=value, limit=f"{low} … {high}")


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """Sampling: the processors in the order applied, then one draw per token.

    Greedy is `sampler="argmax"` with no processors. `top`: alternatives recorded per law.
    `forced`: position of a new token -> the token id the user chose there.
    """

    processors: tuple[Processor, ...] = ()
    sampler: str = "direct"
    max_new_tokens: int = 32
    top: int = 20
    forced: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_int("max_new_tokens", self.max_new_tokens, 1, 1_000_000)
        check_int("top", self.top, 1, TOP_LIMIT)
        choices = ("argmax", *SAMPLERS)
        if self.sampler not in choices:
            raise UserError("unknown_choice", name="sampler", value=self.sampler, choices=", ".join(choices))

    @property
    def method(self) -> str:
        """`greedy` where nothing is drawn and nothing is processed, else `sample`."""
        return "greedy" if self.sampler == "argmax" and not self.processors else "sample"

    def plain(self) -> dict[str, Any]:
        """The settings as JSON values, for a trace's header."""
        plain: dict[str, Any] = {"sampler": self.sampler, "max_new_tokens": self.max_new_tokens, "top": self.top}
        for processor in self.processors:
            (plain[processor.name],) = processor.params().values()
        plain["order"] = [processor.name for processor in self.processors]
        if self.forced:
            plain["forced"] = {str(position): token for position, token in sorted(self.forced.items())}
        return plain


def greedy_settings(max_new_tokens: int = 32, top: int = 20) -> SampleSettings:
    """The most likely token at every step."""
    return SampleSettings(sampler="argmax", max_new_tokens=max_new_tokens, top=top)


def sample_settings(
    *,
    sampler: str = "direct",
    max_new_tokens: int = 32,
    top: int = 20,
    order: Sequence[str] = (),
    forced: Mapping[int, int] | None = None,
    **options: Any,
) -> SampleSettings:
    """Settings from options named as in `generate`: `temperature=0.7, top_p=0.9, order=("top_p", "temperature")`.

    `order` lists processors to apply first, in that order; those it leaves out follow in the usual order.
    Raises UserError on an unknown name or a value out of range.
    """
    known = ", ".join(rules.DEFAULT_ORDER)
    for name in (*options, *order):
        if name not in rules.REGISTRY:
            raise UserError("unknown_choice", name="processor", value=name, choices=known)
    names = dict.fromkeys((*order, *rules.DEFAULT_ORDER))
    made = [rules.REGISTRY[name](options[name]) for name in names if options.get(name) is not None]
    active = tuple(processor for processor in made if processor.active)
    return SampleSettings(active, sampler, max_new_tokens, top, dict(forced or {}))


def check_seed(seed: Any) -> None:
    """Raise UserError unless `seed` is an int from 0 to 2^63 - 1."""
    check_int("seed", seed, 0, MAX_SEED)


def settings_from(plain: Mapping[str, Any], forced: Mapping[int, int] | None = None) -> SampleSettings:
    """The settings a trace's header records, with more tokens `forced` at their positions.

    Tokens forced after the last of those positions are dropped: a branch there makes them moot.
    """
    options = {name: value for name, value in plain.items() if name in rules.REGISTRY}
    old = {int(position): token for position, token in dict(plain.get("forced", {})).items()}
    if forced:
        old = {position: token for position, token in old.items() if position < min(forced)}
    return sample_settings(
        sampler=plain["sampler"],
        max_new_tokens=plain["max_new_tokens"],
        top=plain["top"],
        order=tuple(plain.get("order", ())),
        forced={**old, **(forced or {})},
        **options,
    )

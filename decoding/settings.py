"""Frozen, self-checking settings; one class per method. Names are those of transformers' `generate`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoding import processors as rules
from decoding.errors import UserError
from decoding.processor_base import Processor, check_number
from decoding.samplers import SAMPLERS

TOP_LIMIT = 50
"""Most alternatives recorded per step and law."""
MAX_NEW_TOKENS = 1_000_000
MAX_SEED = 2**53 - 1
"""The largest seed that a browser and JSON keep exactly."""


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


def check_int(name: str, value: Any, low: int, high: int) -> int:
    """`value` as an int; raises UserError unless it is a whole number in [low, high]."""
    return int(check_number(name, value, low, high, f"{low} … {high}", whole=True))


def check_name(name: str, value: Any, known: Sequence[str]) -> None:
    """Raise UserError unless `value` is one of the names known."""
    if not isinstance(value, str) or value not in known:
        raise UserError("unknown_choice", name=name, value=str(value)[:40], choices=", ".join(known))


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
        """Check the values. Raises UserError (`not_a_number`, `out_of_range`, `unknown_choice`)."""
        names = [processor.name for processor in self.processors]
        assert len(set(names)) == len(names), "each processor once: a header records them by name"
        check_name("sampler", self.sampler, SAMPLERS)
        forced = {
            check_int("forced", position, 0, MAX_NEW_TOKENS - 1): check_int("forced", token, 0, MAX_SEED)
            for position, token in self.forced.items()
        }
        object.__setattr__(self, "max_new_tokens", check_int("max_new_tokens", self.max_new_tokens, 1, MAX_NEW_TOKENS))
        object.__setattr__(self, "top", check_int("top", self.top, 1, TOP_LIMIT))
        object.__setattr__(self, "forced", forced)

    @property
    def method(self) -> str:
        """`greedy` where nothing is drawn and nothing is processed, else `sample`."""
        return "greedy" if self.sampler == "argmax" and not self.processors else "sample"

    def plain(self) -> dict[str, Any]:
        """The settings as JSON values, for a trace's header."""
        plain: dict[str, Any] = {"sampler": self.sampler, "max_new_tokens": self.max_new_tokens, "top": self.top}
        for processor in self.processors:
            (plain[processor.name],) = processor.params().values()
        plain["order"] = tuple(processor.name for processor in self.processors)
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
    for name in (*options, *order):
        check_name("processor", name, rules.DEFAULT_ORDER)
    names = dict.fromkeys((*order, *rules.DEFAULT_ORDER))
    made = [rules.REGISTRY[name](options[name]) for name in names if options.get(name) is not None]
    active = tuple(processor for processor in made if processor.active)
    return SampleSettings(active, sampler, max_new_tokens, top, dict(forced or {}))


def check_seed(seed: Any) -> int:
    """`seed` as an int; raises UserError unless it is a whole number from 0 to 2^53 - 1."""
    return check_int("seed", seed, 0, MAX_SEED)


def settings_from(plain: Mapping[str, Any], forced: Mapping[int, int] | None = None) -> SampleSettings:
    """The settings a trace's header records, with more tokens `forced` at their positions.

    Tokens forced after the first of those positions are dropped: a branch there makes them moot.
    Raises UserError where the record holds a name or a value that settings cannot have.
    """
    options = dict(plain)
    order, old = options.pop("order", ()), options.pop("forced", {})
    if not isinstance(order, (list, tuple)) or not isinstance(old, Mapping):
        raise UserError("trace_broken", where="header.settings", why="order is not a list, or forced is not an object")
    kept = {_position(position): token for position, token in old.items()}
    if forced:
        kept = {position: token for position, token in kept.items() if position < min(forced)}
    return sample_settings(order=tuple(order), forced={**kept, **(forced or {})}, **options)


def _position(text: Any) -> Any:
    """JSON writes the keys of an object as text."""
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 20 else text

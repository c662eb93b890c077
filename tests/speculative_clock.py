"""Models and a clock for the tests of what is timed: only a forward takes time, and as much as it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from decoding.models.toy import ToyModel
from decoding.speculative.race import Racers
from decoding.speculative_settings import speculative_settings
from tests.speculative_toys import toy

TARGET = {"": {"a": 0.5, "b": 0.3, "c": 0.2}, "a": {"b": 0.6, "c": 0.4}, "b": {"a": 0.3, "c": 0.7}}
DRAFT = {"": {"a": 0.2, "b": 0.7, "c": 0.1}, "a": {"b": 0.9, "c": 0.1}, "b": {"a": 0.8, "c": 0.2}}
LONG = 60
"""Words after which both end, and not before: longer than any race."""


class Time:
    """A clock that others move."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Ticking:
    """A toy whose forward of n tokens moves the clock by `cost(n)` seconds; `seen`: every n so far."""

    def __init__(self, model: ToyModel, clock: Time, cost: Callable[[int], float]) -> None:
        self._model, self._clock, self._cost = model, clock, cost
        self.seen: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def forward(self, tokens: Any, *given: Any, **options: Any) -> Any:
        """As the toy's own, in its time."""
        self.seen.append(tokens.shape[1])
        self._clock.now += self._cost(tokens.shape[1])
        return self._model.forward(tokens, *given, **options)


def target_table() -> ToyModel:
    """The target."""
    return toy("target", TARGET, LONG)


def draft_table() -> ToyModel:
    """Likes other words."""
    return toy("draft", DRAFT, LONG)


def target_seconds(count: int) -> float:
    """T(n): 10 for one token, 1 more for each further one."""
    return 9.0 + count


def draft_seconds(count: int) -> float:
    """Of the draft: 2, and a quarter more for each further one."""
    return 1.75 + count / 4


def racers(clock: Time, tokens: int = 24, seed: int = 5, **options: Any) -> Racers:
    """Two tables that end late, at the start; `drafter="toy"` is the draft."""
    target: Any = Ticking(target_table(), clock, target_seconds)
    draft: Any = Ticking(draft_table(), clock, draft_seconds)
    settings = speculative_settings(**{"drafter": "toy", "gamma": 3, "max_new_tokens": tokens, **options})
    return Racers(target, draft if settings.needs_model else None, target.encode(""), settings, seed, clock)

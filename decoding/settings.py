"""Frozen, self-checking settings; one class per method. Names are those of transformers' `generate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from decoding import processors as rules
from decoding.beam import pruning
from decoding.beam.pruning import PruningRule
from decoding.errors import UserError
from decoding.processor_base import Processor, check_number
from decoding.samplers import SAMPLERS
from decoding.trace import MAX_BEAMS

TOP_LIMIT = 50
"""Most alternatives recorded per step and law."""
MAX_NEW_TOKENS = 1_000_000
MAX_SEED = 2**53 - 1
"""The largest seed that a browser and JSON keep exactly."""
MAX_NODES = 80_000
"""Most beam candidates a run may record, beams x `top` x tokens: about 23 MB of JSON."""
SEARCHES: tuple[str, ...] = ("beam", "sample", "stochastic")
"""How a beam search picks: the best, the best of a draw without replacement, or the draw itself."""


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


def check_float(name: str, value: Any, low: float, high: float) -> float:
    """`value` as a float; raises UserError unless it is a number in [low, high]."""
    return float(check_number(name, value, low, high, f"{low:g} … {high:g}"))


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
        plain |= by_name(self.processors, "order")
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
    return SampleSettings(made(rules.REGISTRY, options, order), sampler, max_new_tokens, top, dict(forced or {}))


@dataclass(frozen=True, slots=True)
class BeamSettings:
    """Beam search: `num_beams` texts side by side; the pruning `rules` in the order applied.

    `search`: `beam` takes the best candidates; `sample` draws without replacement, twice as many as there are
    beams (more where a model has several end tokens), and takes the best of those; `stochastic` takes the draw
    itself. `sample_first` tokens are drawn one by one before the search starts. `processors` shape the law of every
    beam. `top`: candidates recorded per beam and depth, beside those the search took. `early_stopping`: end when
    `num_beams` texts are finished (True), or when no open beam can become better than the worst of them, judged at
    its present length (False) or at its most favourable ("never").
    `num_beam_groups` and `diversity_penalty` (nats): Vijayakumar et al. 2016, arXiv:1610.02424.
    """

    num_beams: int = 4
    max_new_tokens: int = 32
    length_penalty: float = 1.0
    early_stopping: bool | Literal["never"] = False
    num_return_sequences: int = 1
    top: int = 8
    rules: tuple[PruningRule, ...] = ()
    processors: tuple[Processor, ...] = ()
    search: str = "beam"
    sample_first: int = 0
    num_beam_groups: int = 1
    diversity_penalty: float = 0.0

    def __post_init__(self) -> None:
        """Check the values, alone and together.

        Raises UserError (`not_a_number`, `out_of_range`, `unknown_choice`, `option_unused`, `beam_groups_uneven`,
        `too_many_nodes`).
        """
        names = [*(processor.name for processor in self.processors), *(rule.name for rule in self.rules)]
        assert len(set(names)) == len(names), "each once: a header records them by name"
        check_name("search", self.search, SEARCHES)
        if not isinstance(self.early_stopping, bool) and self.early_stopping != "never":
            value = str(self.early_stopping)[:40]
            raise UserError("unknown_choice", name="early_stopping", value=value, choices="False, True, never")
        self._check_number(check_int, "num_beams", 1, MAX_BEAMS)
        self._check_number(check_int, "max_new_tokens", 1, MAX_NEW_TOKENS)
        self._check_number(check_int, "top", 1, TOP_LIMIT)
        self._check_number(check_int, "num_return_sequences", 1, self.num_beams)
        self._check_number(check_int, "num_beam_groups", 1, self.num_beams)
        self._check_number(check_int, "sample_first", 0, self.max_new_tokens - 1)
        self._check_number(check_float, "length_penalty", -5, 5)
        self._check_number(check_float, "diversity_penalty", 0, 1000)
        self._check_together()

    def _check_number(self, check: Callable[[str, Any, int, int], float], name: str, low: int, high: int) -> None:
        object.__setattr__(self, name, check(name, getattr(self, name), low, high))

    def _check_together(self) -> None:
        """Raise UserError where an option has no meaning beside the others."""
        beams, groups = self.num_beams, self.num_beam_groups
        if beams % groups:
            choices = ", ".join(str(n) for n in range(1, beams + 1) if beams % n == 0)
            raise UserError("beam_groups_uneven", groups=groups, beams=beams, choices=choices)
        if self.diversity_penalty and groups == 1:
            self._refuse("diversity_penalty", self.diversity_penalty, "num_beam_groups ≥ 2", 0)
        if groups > 1 and self.search != "beam":
            self._refuse("num_beam_groups", groups, "search = beam", 1)
        if self.search == "stochastic":  # a fair sample has no other order, and leaves nobody out
            for rule in self.rules:
                self._refuse(rule.name, rule.value, "search = beam | sample", rule.neutral)
            if self.length_penalty != 1:
                self._refuse("length_penalty", self.length_penalty, "search = beam | sample", 1)
            if self.early_stopping:
                self._refuse("early_stopping", self.early_stopping, "search = beam | sample", False)
        if (count := beams * self.top * self.max_new_tokens) > MAX_NODES:
            values = {"beams": beams, "top": self.top, "tokens": self.max_new_tokens}
            raise UserError("too_many_nodes", count=count, limit=MAX_NODES, **values)

    def _refuse(self, name: str, value: Any, needs: str, neutral: Any) -> None:
        raise UserError("option_unused", name=name, value=value, needs=needs, neutral=neutral)

    @property
    def method(self) -> str:
        """`beam`, whatever the search."""
        return "beam"

    def plain(self) -> dict[str, Any]:
        """The settings as JSON values, for a trace's header."""
        parts = ("rules", "processors")
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in parts}
        return plain | by_name(self.processors, "order") | by_name(self.rules, "rule_order")


def beam_settings(*, order: Sequence[str] = (), rule_order: Sequence[str] = (), **options: Any) -> BeamSettings:
    """Settings from option names: `num_beams=4, relative_threshold=0.3, temperature=0.8, top_k=50`.

    `order` lists processors to apply first, `rule_order` pruning rules; those left out follow in the usual order.
    None leaves an option at its default. Raises UserError on an unknown name or a value that cannot be had.
    """
    own = [f.name for f in fields(BeamSettings) if f.name not in ("rules", "processors")]
    for name in order:
        check_name("processor", name, rules.DEFAULT_ORDER)
    for name in rule_order:
        check_name("rule", name, pruning.DEFAULT_ORDER)
    for name in options:
        check_name("option", name, (*own, *pruning.DEFAULT_ORDER, *rules.DEFAULT_ORDER))
    return BeamSettings(
        rules=made(pruning.REGISTRY, options, rule_order),
        processors=made(rules.REGISTRY, options, order),
        **{name: options[name] for name in own if options.get(name) is not None},
    )


def beam_settings_from(plain: Mapping[str, Any]) -> BeamSettings:
    """The settings a beam trace's header records. Raises UserError where it holds what settings cannot have."""
    options = dict(plain)
    orders = {name: options.pop(name, ()) for name in ("order", "rule_order")}
    if not all(isinstance(order, (list, tuple)) for order in orders.values()):
        raise UserError("trace_broken", where="header.settings", why="order or rule_order is not a list")
    return beam_settings(**{name: tuple(order) for name, order in orders.items()}, **options)


def made(registry: Mapping[str, Any], options: Mapping[str, Any], order: Sequence[str]) -> tuple[Any, ...]:
    """The active ones of those that `options` give a value, first those in `order`, then in the registry's own."""
    names = dict.fromkeys((*order, *registry))
    made = [registry[name](options[name]) for name in names if options.get(name) is not None]
    return tuple(item for item in made if item.active)


def by_name(items: Sequence[Processor | PruningRule], order: str) -> dict[str, Any]:
    """Each one's value by its name, and their names in order."""
    values = {item.name: item.value for item in items}
    return values | {order: tuple(item.name for item in items)}


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

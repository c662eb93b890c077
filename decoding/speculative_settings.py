"""Settings of speculative decoding: who drafts, how much, and by which rule the target judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from decoding import processors as rules
from decoding.errors import UserError
from decoding.processor_base import Processor
from decoding.settings import MAX_NEW_TOKENS, TOP_LIMIT, by_name, check_float, check_int, check_name, made
from decoding.speculative.verification import ExactMatch, Lossless, TopK, Typical, Verifier
from decoding.trace import DRAFTERS, LOOKUP_FIRST, MAX_GAMMA, VERIFIERS, WITHOUT_MODEL

MAX_NAME = 1000
"""Most characters of a model's name, which may be a path."""


@dataclass(frozen=True, slots=True)
class SpeculativeSettings:
    """Speculative decoding: rounds of up to `gamma` drafted tokens, judged in one forward of the target.

    `processors` shape the laws of target and draft alike. `drafter`: one of `DRAFTERS`, or the name of a model, after
    `LOOKUP_FIRST` where the text is looked up first; `exit_layer`: layers that the drafter `early` runs; `ngram_max`,
    `ngram_min`: longest and shortest end of the text that is looked up, before a model at least two tokens.
    `verify_top_k`, `typical_epsilon`, `typical_delta`: of the verifiers `top_k` and `typical`; the latter's defaults
    are those of Medusa's code. `top`: tokens recorded of each law.
    """

    processors: tuple[Processor, ...] = ()
    gamma: int = 4
    drafter: str = "trained"
    verifier: str = "lossless"
    verify_top_k: int = 5
    typical_epsilon: float = 0.09
    typical_delta: float = 0.3
    ngram_max: int = 3
    ngram_min: int = 1
    exit_layer: int = 8
    max_new_tokens: int = 32
    top: int = 8

    def __post_init__(self) -> None:
        """Check the values. Raises UserError (`not_a_number`, `out_of_range`, `unknown_choice`)."""
        names = [processor.name for processor in self.processors]
        assert len(set(names)) == len(names), "each processor once: a header records them by name"
        check_name("verifier", self.verifier, VERIFIERS)
        if not isinstance(self.drafter, str) or not 0 < len(self.drafter) <= MAX_NAME:
            check_name("drafter", str(self.drafter), (*DRAFTERS, "smollm2", "toy:NAME", "…"))
        whole = {
            "gamma": (1, MAX_GAMMA),
            "verify_top_k": (1, MAX_NEW_TOKENS),
            "ngram_max": (1, MAX_GAMMA),
            "exit_layer": (1, MAX_NEW_TOKENS),
            "max_new_tokens": (1, MAX_NEW_TOKENS),
            "top": (1, TOP_LIMIT),
        }
        for name, (low, high) in whole.items():
            object.__setattr__(self, name, check_int(name, getattr(self, name), low, high))
        object.__setattr__(self, "ngram_min", check_int("ngram_min", self.ngram_min, 1, self.ngram_max))
        for name in ("typical_epsilon", "typical_delta"):
            object.__setattr__(self, name, check_float(name, getattr(self, name), 0, 1))

    @property
    def method(self) -> str:
        """`speculate`, whoever drafts."""
        return "speculate"

    @property
    def needs_model(self) -> bool:
        """Whether drafting takes a model beside the target."""
        return self.drafter not in WITHOUT_MODEL

    @property
    def draft_name(self) -> str:
        """The draft model's own name, where drafting takes one."""
        return self.drafter.removeprefix(LOOKUP_FIRST)

    @property
    def rule(self) -> Verifier:
        """The verifier with its settings."""
        if self.verifier == "top_k":
            return TopK(self.verify_top_k)
        if self.verifier == "typical":
            return Typical(self.typical_epsilon, self.typical_delta)
        return ExactMatch() if self.verifier == "exact" else Lossless()

    def plain(self) -> dict[str, Any]:
        """The settings as JSON values, for a trace's header."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "processors"}
        return plain | by_name(self.processors, "order")


def speculative_settings(*, order: Sequence[str] = (), **options: Any) -> SpeculativeSettings:
    """Settings from option names: `gamma=4, drafter="ngram", verifier="typical", temperature=0.8, top_k=50`.

    `order` lists processors to apply first; those left out follow in the usual order. None leaves an option at its
    default. Raises UserError on an unknown name or a value that cannot be had.
    """
    own = [f.name for f in fields(SpeculativeSettings) if f.name != "processors"]
    for name in order:
        check_name("processor", name, rules.DEFAULT_ORDER)
    for name in options:
        check_name("option", name, (*own, *rules.DEFAULT_ORDER))
    return SpeculativeSettings(
        processors=made(rules.REGISTRY, options, order),
        **{name: options[name] for name in own if options.get(name) is not None},
    )


def speculative_settings_from(plain: Mapping[str, Any]) -> SpeculativeSettings:
    """The settings a speculative trace's header records. Raises UserError where it holds what settings cannot have."""
    options = dict(plain)
    order = options.pop("order", ())
    if not isinstance(order, (list, tuple)):
        raise UserError("trace_broken", where="header.settings", why="order is not a list")
    return speculative_settings(order=tuple(order), **options)

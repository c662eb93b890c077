"""What changes the law of the next token: each class is a checked setting and the function it sets.

`TopK(k=50)(logits, history)`: `logits` (..., V) in nats, any float type, -inf where a token is
already removed; `history` (..., S) the ids of all tokens so far, prompt included, or None. The
answer has the shape and type of `logits`, which is never changed; a removed token is at -inf and
stays so; every filter keeps at least one token. Below, x = logits and p = softmax(x).

The formulas are those of transformers, with three differences: of tokens that tie at the border,
top-k and top-p keep the lowest ids, never more than asked; a sum of probabilities short of its
limit by no more than `TOLERANCE` has reached it; no rule leaves an empty law.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar

import torch
from torch import Tensor

from decoding.errors import UserError

TOLERANCE = 1e-6
"""Probability mass: .5 + .3 stored in float32 must still reach .8."""

HEADS = (256, 4096, sys.maxsize)
"""How many of the highest tokens to sort, tried in turn: most laws are peaked, and a full sort is slow."""

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


class Processor(ABC):
    """One rule, made from its value. `name`: its option in transformers' generate(), where it has one."""

    __slots__ = ()
    name: ClassVar[str]
    neutral: ClassVar[float]
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
    def active(self) -> bool:
        """False at the neutral value, where the rule never changes anything."""
        return all(value != self.neutral for value in self.params().values())

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


@dataclass(frozen=True, slots=True)
class RepetitionPenalty(Processor):
    """Makes every token of `history` less likely, however often it came.

    x_i / penalty where x_i >= 0, else x_i * penalty. Above 0; 1 is off.
    Keskar et al. 2019, CTRL, arXiv:1909.05858, section 4.1; the rule for x_i < 0 as in transformers.
    """

    penalty: float
    name, neutral = "repetition_penalty", 1
    low, high, limit = math.ulp(0.0), sys.float_info.max, "0 < {name} < ∞"

    def _change(self, logits: Tensor, history: Tensor | None) -> Tensor:
        penalty = max(self.penalty, torch.finfo(torch.float32).tiny)  # below it, 0 / penalty is NaN
        padded = torch.nn.functional.pad(logits, (0, 1))  # the spare column takes ids beyond the vocabulary
        seen = _within(history, logits)
        x = padded.gather(-1, seen)
        changed = _finite(torch.where(x < 0, x * penalty, x / penalty), x)
        return padded.scatter(-1, seen, changed)[..., :-1]


@dataclass(frozen=True, slots=True)
class PresencePenalty(Processor):
    """Lowers every token of `history` by the same amount, however often it came.

    x_i - penalty * [count_i > 0], in nats, counted over the whole `history`, prompt included.
    -2 to 2; 0 is off. OpenAI API reference, presence_penalty, which counts new tokens only, as vLLM does:
    pass those as `history` to get theirs.
    """

    penalty: float
    name, neutral = "presence_penalty", 0
    low, high, limit = -2, 2, "-2 ≤ {name} ≤ 2"

    def _change(self, logits: Tensor, history: Tensor | None) -> Tensor:
        seen = (_counts(history, logits) > 0).to(logits.dtype)
        return _finite(logits - self.penalty * seen, logits)


@dataclass(frozen=True, slots=True)
class FrequencyPenalty(Processor):
    """Lowers every token of `history` in proportion to how often it came.

    x_i - penalty * count_i, in nats, counted over the whole `history`, prompt included.
    -2 to 2; 0 is off. OpenAI API reference, frequency_penalty, which counts new tokens only, as vLLM does:
    pass those as `history` to get theirs.
    """

    penalty: float
    name, neutral = "frequency_penalty", 0
    low, high, limit = -2, 2, "-2 ≤ {name} ≤ 2"

    def _change(self, logits: Tensor, history: Tensor | None) -> Tensor:
        counts = _counts(history, logits).to(logits.dtype)
        return _finite(logits - self.penalty * counts, logits)


@dataclass(frozen=True, slots=True)
class NoRepeatNGram(Filter):
    """Removes each token that would complete an n-gram of `size` tokens already in `history`.

    If that is every token, the most likely one stays. A whole number; 0 is off.
    Paulus, Xiong and Socher 2017, arXiv:1705.04304, section 2.5 (there for trigrams).
    """

    size: int
    name, neutral = "no_repeat_ngram_size", 0
    high, limit, whole = math.inf, "0, 1, 2, …", True

    def _kept(self, logits: Tensor, history: Tensor | None) -> Tensor:
        alive = ~logits.isneginf()
        if history is None or history.shape[-1] < self.size:
            return alive
        windows = history.unfold(-1, self.size, 1)  # (..., S - size + 1, size)
        prefix = history[..., history.shape[-1] - self.size + 1 :]
        repeats = (windows[..., :-1] == prefix.unsqueeze(-2)).all(-1)
        completed = windows[..., -1].masked_fill(~repeats, logits.shape[-1])
        kept = alive & (_counts(completed, logits) == 0)
        return kept | (_most_likely(logits) & ~kept.any(-1, keepdim=True))

    def _removal_notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        alone = (~after.isneginf()).sum(-1) == 1
        return ("kept_most_likely",) if bool((alone & (after.amax(-1) == before.amax(-1))).any()) else ()


@dataclass(frozen=True, slots=True)
class Temperature(Processor):
    """Flattens the law above 1, sharpens it below 1; 0 is exactly greedy, lowest id on ties.

    x / T; where T or x / T overflows, (x - max x) / T held at the lowest finite number: the same softmax.
    0 or more; 1 is off. Ackley, Hinton and Sejnowski 1985, A learning algorithm for Boltzmann machines.
    """

    temperature: float
    name, neutral = "temperature", 1
    high, limit = sys.float_info.max, "0 ≤ {name} < ∞"

    def _change(self, logits: Tensor, history: Tensor | None) -> Tensor:
        if self.temperature == 0:
            return logits.masked_fill(~_most_likely(logits), -math.inf)
        scaled = logits / self.temperature
        if torch.equal(scaled.isneginf(), logits.isneginf()) and bool(scaled.amax() < math.inf):
            return scaled
        exact = logits.double()
        gaps = (exact - exact.amax(-1, keepdim=True)) / max(self.temperature, 1e-300)
        return _finite(gaps, logits)

    def notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        return _if_tied(before, after) if self.temperature == 0 else ()


@dataclass(frozen=True, slots=True)
class TopK(Filter):
    """Keeps the `k` most likely tokens: exactly k where there are as many, lowest id first on ties.

    A whole number; 0 is off. Fan, Lewis and Dauphin 2018, arXiv:1805.04833, section 5.4.
    """

    k: int
    name, neutral = "top_k", 0
    high, limit, whole = math.inf, "0, 1, 2, …", True

    def _kept(self, logits: Tensor, history: Tensor | None) -> Tensor:
        k = min(self.k, logits.shape[-1])
        border = logits.topk(k, dim=-1).values[..., -1:]
        return _highest(logits, k, border)

    def _removal_notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        return _if_tied(before, after)


@dataclass(frozen=True, slots=True)
class TopP(Filter):
    """Keeps the nucleus: the fewest most likely tokens that hold probability `p`.

    min n such that p_(1) + ... + p_(n) >= p, lowest id first on ties. 0 to 1; 1 is off.
    Holtzman et al. 2020, arXiv:1904.09751, section 3.1.
    """

    p: float
    name, neutral = "top_p", 1

    def _kept(self, logits: Tensor, history: Tensor | None) -> Tensor:
        count, border = _fewest(logits, logits.softmax(-1, dtype=torch.float64), self.p)
        return _highest(logits, count, border)

    def _removal_notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        return _if_tied(before, after)


@dataclass(frozen=True, slots=True)
class MinP(Filter):
    """Keeps the tokens at least `p` times as likely as the most likely one.

    p_i >= p * max p; in log form, ln p_i >= max ln p + ln p. 0 to 1; 0 is off.
    Nguyen et al. 2024, Min-p Sampling, arXiv:2407.01082.
    """

    p: float
    name, neutral = "min_p", 0

    def _kept(self, logits: Tensor, history: Tensor | None) -> Tensor:
        probs = _probs(logits)
        return probs >= self.p * probs.amax(-1, keepdim=True)


@dataclass(frozen=True, slots=True)
class TypicalP(Filter):
    """Keeps the tokens whose surprise is nearest to the entropy, until they hold probability `p`.

    By |-ln p_i - H|, H = -sum p ln p in nats; all that tie at the border stay. The most likely
    token may go. 0 to 1; 1 is off. Meister et al. 2023, arXiv:2202.00666.
    """

    p: float
    name, neutral = "typical_p", 1

    def _kept(self, logits: Tensor, history: Tensor | None) -> Tensor:
        log_probs = _log_probs(logits)
        nearness = -(-log_probs - _entropy(log_probs)).abs()
        _, border = _fewest(nearness, log_probs.double().exp(), self.p)
        return nearness >= border

    def _removal_notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        return ("most_likely_removed",) if bool((after.amax(-1) < before.amax(-1)).any()) else ()


@dataclass(frozen=True, slots=True)
class EpsilonCutoff(Filter):
    """Removes the tokens less likely than `epsilon`, but never the most likely.

    Keeps p_i >= epsilon. From 0 to below 1; 0 is off.
    Hewitt, Manning and Liang 2022, arXiv:2210.15191 (epsilon-sampling).
    """

    epsilon: float
    name, neutral = "epsilon_cutoff", 0
    high, limit = math.nextafter(1, 0), "0 ≤ {name} < 1"

    def _cutoff(self, logits: Tensor) -> Tensor | float:
        return self.epsilon

    def _kept(self, logits: Tensor, history: Tensor | None) -> Tensor:
        likely = _probs(logits) >= self._cutoff(logits)
        return likely | (logits == logits.amax(-1, keepdim=True))

    def _removal_notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        below = _probs(before).amax(-1, keepdim=True) < self._cutoff(before)
        return ("kept_most_likely",) if bool(below.any()) else ()


@dataclass(frozen=True, slots=True)
class EtaCutoff(EpsilonCutoff):
    """Epsilon cutoff whose limit gives way where the law is flat.

    Keeps p_i >= eta = min(epsilon, sqrt(epsilon) * exp(-H)), H in nats, and the most likely.
    From 0 to below 1; 0 is off. Hewitt, Manning and Liang 2022, arXiv:2210.15191 (eta-sampling).
    """

    name = "eta_cutoff"

    def _cutoff(self, logits: Tensor) -> Tensor | float:
        flatness = (-_entropy(_log_probs(logits))).exp()
        return (math.sqrt(self.epsilon) * flatness).clamp(max=self.epsilon)


REGISTRY: dict[str, type[Processor]] = {
    "repetition_penalty": RepetitionPenalty,
    "presence_penalty": PresencePenalty,
    "frequency_penalty": FrequencyPenalty,
    "no_repeat_ngram_size": NoRepeatNGram,
    "temperature": Temperature,
    "top_k": TopK,
    "top_p": TopP,
    "min_p": MinP,
    "typical_p": TypicalP,
    "epsilon_cutoff": EpsilonCutoff,
    "eta_cutoff": EtaCutoff,
}
"""Every processor by name: `REGISTRY["top_k"](50)`."""

DEFAULT_ORDER: tuple[str, ...] = tuple(REGISTRY)
"""The order of transformers' generate(): what looks at the history, then temperature, then the filters."""


def apply(
    processors: Iterable[Processor], logits: Tensor, history: Tensor | None = None
) -> Iterator[tuple[Processor, Tensor, Tensor]]:
    """Apply the active ones in turn; yields (processor, logits before, logits after)."""
    for processor in processors:
        if processor.active:
            before, logits = logits, processor(logits, history)
            yield processor, before, logits


def nucleus_size(cumulative: Tensor, p: Tensor) -> Tensor:
    """How many tokens hold probability `p`: the first sum that reaches p - `TOLERANCE`, at least one.

    `cumulative` (..., n): float64 sums, most likely token first; `p` (..., q) -> counts (..., q).
    """
    return (torch.searchsorted(cumulative, p - TOLERANCE) + 1).clamp(max=cumulative.shape[-1])


def _fewest(scores: Tensor, probs: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """The fewest tokens, highest score first, that hold `p`: how many, and the last one's score; (..., 1) each."""
    wanted = probs.new_full((*probs.shape[:-1], 1), p)
    for head in HEADS:
        best, ids = scores.topk(min(head, scores.shape[-1]), dim=-1)
        cumulative = probs.gather(-1, ids).cumsum(-1)
        if bool((cumulative[..., -1:] >= wanted - TOLERANCE).all()):
            break
    count = nucleus_size(cumulative, wanted)
    return count, best.gather(-1, count - 1)


def _highest(logits: Tensor, count: Tensor | int, border: Tensor) -> Tensor:
    """Mask of the `count` highest, given the last one's value; of those equal to it, the lowest ids."""
    kept = logits >= border
    if bool((kept.sum(-1, keepdim=True) <= count).all()):
        return kept
    above = logits > border
    level = logits == border
    return above | (level & (level.cumsum(-1) <= count - above.sum(-1, keepdim=True)))


def _most_likely(logits: Tensor) -> Tensor:
    """Mask of one token: the highest, of equals the lowest id."""
    mask = torch.zeros_like(logits, dtype=torch.bool)
    return mask.scatter_(-1, logits.argmax(-1, keepdim=True), True)


def _finite(changed: Tensor, logits: Tensor) -> Tensor:
    """`changed` in the type of `logits`, finite just where `logits` is."""
    limits = torch.finfo(logits.dtype)
    return changed.clamp(limits.min, limits.max).to(logits.dtype).masked_fill(logits.isneginf(), -math.inf)


def _within(ids: Tensor | None, logits: Tensor) -> Tensor:
    """`ids` as (..., S) for the rows of `logits`, each id beyond the vocabulary made V."""
    ids = torch.empty(0, dtype=torch.long) if ids is None else ids
    return ids.to(logits.device).clamp(max=logits.shape[-1]).expand(*logits.shape[:-1], -1)


def _counts(ids: Tensor | None, logits: Tensor) -> Tensor:
    """How often each token of the vocabulary is in `ids` (..., S); (..., V)."""
    ids = _within(ids, logits)
    counts = torch.zeros(*logits.shape[:-1], logits.shape[-1] + 1, dtype=torch.long, device=logits.device)
    return counts.scatter_add_(-1, ids, torch.ones_like(ids))[..., :-1]


def _probs(logits: Tensor) -> Tensor:
    return logits.softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def _log_probs(logits: Tensor) -> Tensor:
    return logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def _entropy(log_probs: Tensor) -> Tensor:
    """In nats, (..., 1); a token of probability 0 adds nothing."""
    return -(log_probs * log_probs.exp()).nansum(-1, keepdim=True)


def _if_tied(before: Tensor, after: Tensor) -> tuple[str, ...]:
    removed = after.isneginf()
    lowest_kept = before.masked_fill(removed, math.inf).amin(-1)
    highest_removed = before.masked_fill(~removed, -math.inf).amax(-1)
    return ("tie_broken",) if bool((lowest_kept == highest_removed).any()) else ()

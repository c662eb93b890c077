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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.processor_base import Filter, Processor, tie_notes
from decoding.ranking import (
    clamp_finite,
    count_ids,
    entropy_of,
    fewest,
    highest,
    log_probs_of,
    most_likely,
    probs_of,
    within,
)


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
        seen = within(history, logits)
        x = padded.gather(-1, seen)
        changed = clamp_finite(torch.where(x < 0, x * penalty, x / penalty), x)
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
        seen = (count_ids(history, logits) > 0).to(logits.dtype)
        return clamp_finite(logits - self.penalty * seen, logits)


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
        counts = count_ids(history, logits).to(logits.dtype)
        return clamp_finite(logits - self.penalty * counts, logits)


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
        kept = alive & (count_ids(completed, logits) == 0)
        return kept | (most_likely(logits) & ~kept.any(-1, keepdim=True))

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
            best, ids = logits.max(-1, keepdim=True)
            return torch.full_like(logits, -math.inf).scatter_(-1, ids, best)
        scaled = logits / self.temperature
        if torch.equal(scaled.isneginf(), logits.isneginf()) and bool(scaled.amax() < math.inf):
            return scaled
        exact = logits.double()
        gaps = (exact - exact.amax(-1, keepdim=True)) / max(self.temperature, 1e-300)
        return clamp_finite(gaps, logits)

    def notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        return tie_notes(before, after) if self.temperature == 0 else ()


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
        return highest(logits, k, border)

    def _removal_notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        return tie_notes(before, after)


@dataclass(frozen=True, slots=True)
class TopP(Filter):
    """Keeps the nucleus: the fewest most likely tokens that hold probability `p`.

    min n such that p_(1) + ... + p_(n) >= p, lowest id first on ties. 0 to 1; 1 is off.
    Holtzman et al. 2020, arXiv:1904.09751, section 3.1.
    """

    p: float
    name, neutral = "top_p", 1

    def _kept(self, logits: Tensor, history: Tensor | None) -> Tensor:
        count, border = fewest(logits, logits.softmax(-1, dtype=torch.float64), self.p)
        return highest(logits, count, border)

    def _removal_notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        return tie_notes(before, after)


@dataclass(frozen=True, slots=True)
class MinP(Filter):
    """Keeps the tokens at least `p` times as likely as the most likely one.

    p_i >= p * max p; in log form, ln p_i >= max ln p + ln p. 0 to 1; 0 is off.
    Nguyen et al. 2024, Min-p Sampling, arXiv:2407.01082.
    """

    p: float
    name, neutral = "min_p", 0

    def _kept(self, logits: Tensor, history: Tensor | None) -> Tensor:
        probs = probs_of(logits)
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
        log_probs = log_probs_of(logits)
        nearness = -(-log_probs - entropy_of(log_probs)).abs()
        _, border = fewest(nearness, log_probs.double().exp(), self.p)
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
        likely = probs_of(logits) >= self._cutoff(logits)
        return likely | (logits == logits.amax(-1, keepdim=True))

    def _removal_notes(self, before: Tensor, after: Tensor) -> tuple[str, ...]:
        below = probs_of(before).amax(-1, keepdim=True) < self._cutoff(before)
        return ("kept_most_likely",) if bool(below.any()) else ()


@dataclass(frozen=True, slots=True)
class EtaCutoff(EpsilonCutoff):
    """Epsilon cutoff whose limit gives way where the law is flat.

    Keeps p_i >= eta = min(epsilon, sqrt(epsilon) * exp(-H)), H in nats, and the most likely.
    From 0 to below 1; 0 is off. Hewitt, Manning and Liang 2022, arXiv:2210.15191 (eta-sampling).
    """

    name = "eta_cutoff"

    def _cutoff(self, logits: Tensor) -> Tensor | float:
        flatness = (-entropy_of(log_probs_of(logits))).exp()
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

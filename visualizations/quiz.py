"""Predict, then see: questions about what is on the page. The core computes each answer when it is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from decoding.trace import Distribution, SampleStep
from decoding.values import Word
from visualizations.figures.style import number, percent, quoted
from visualizations.text import Text


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, the choices, which of them is right, and why, with its numbers."""

    ask: str
    choices: tuple[str, ...]
    answer: int
    because: str


Card = Callable[[Text], Question]


def among(values: Sequence[float], right: float) -> int:
    """Which of the offered values is nearest to the computed one (by ratio where all are positive)."""
    if right > 0 and all(value > 0 for value in values):
        return min(range(len(values)), key=lambda i: abs(math.log(values[i] / right)))
    return min(range(len(values)), key=lambda i: abs(values[i] - right))


# --- Next token --------------------------------------------------------------------------------------


def clear_gap(law: Distribution) -> bool:
    """Whether the two highest logits are far enough apart, and near enough, to ask about."""
    return len(law.top) > 1 and all(c.logit is not None for c in law.top[:2]) and 0.5 <= _gap(law) <= 6


def _gap(law: Distribution) -> float:
    return (law.top[0].logit or 0.0) - (law.top[1].logit or 0.0)


def times_as_likely(law: Distribution) -> Card:
    """How a gap between two logits becomes a ratio of probabilities; needs a `clear_gap`."""
    first, second = law.top[:2]

    def card(text: Text) -> Question:
        gap = _gap(law)
        right = math.exp(gap)
        values = (gap, right, right**2)
        names = {"first": quoted(first.token.text), "second": quoted(second.token.text), "gap": f"{gap:.2f}"}
        because = text("quiz.times_because", ratio=f"{first.prob / second.prob:.1f}", **names)
        return Question(text("quiz.times", **names), tuple(f"{v:.1f} ×" for v in values), among(values, right), because)

    return card


def shifted(text: Text) -> Question:
    """Adding a constant to every logit changes nothing."""
    import torch

    from decoding.observe import law

    before, after = (law(torch.tensor(logits)).probs().tolist() for logits in ([3.0, 2.0, 1.0], [8.0, 7.0, 6.0]))
    answer = 0 if abs(after[0] - before[0]) < 1e-6 else 1 if after[0] > before[0] else 2
    choices = (text("quiz.same"), text("quiz.higher"), text("quiz.lower"))
    asked = text("quiz.shift", probs=", ".join(map(percent, before)))
    return Question(asked, choices, answer, text("quiz.shift_because", prob=percent(after[0])))


def merges_of(word: Word) -> Card:
    """How many merges made a word."""

    def card(text: Text) -> Question:
        right = len(word.merges)
        values = (1, right, len(word.start) + 2) if right != 1 else (1, 3, 5)
        asked = text("quiz.merges", word=quoted(word.text), bytes=len(word.start))
        because = text("quiz.merges_because", bytes=len(word.start), merges=right)
        return Question(asked, tuple(map(str, values)), values.index(right), because)

    return card


# --- Sampling ----------------------------------------------------------------------------------------


TOP_P = 0.5
"""What the cards on sampling lower top-p to, and the uniform they draw with."""


def can_lower(step: SampleStep) -> bool:
    """Whether the step ends with a top-p above `TOP_P` whose answer is among the tokens listed."""
    last = step.stages[-1]
    listed = sum(c.prob for c in step.stages[-2].result.top) if len(step.stages) > 1 else 0.0
    return last.name == "top_p" and last.params["p"] > TOP_P < listed and last.kept_count > 3


def lower_top_p(step: SampleStep, where: str) -> Card:
    """How many tokens a smaller top-p would keep at a step that `can_lower`."""

    def card(text: Text) -> Question:
        import torch

        from decoding.ranking import nucleus_size

        before = step.stages[-2].result.top
        probs = torch.tensor([c.prob for c in before], dtype=torch.float64)
        right = int(nucleus_size(probs.cumsum(0), torch.tensor([TOP_P], dtype=torch.float64)))
        now = step.stages[-1].kept_count
        values = sorted({max(1, right // 2), right, right + 3, now})
        names = {"token": quoted(before[0].token.text), "prob": percent(before[0].prob)}
        because = text("quiz.kept_because", kept=number(right), p=TOP_P, **names)
        asked = text("quiz.kept", where=text(where), step=step.position + 1, p=TOP_P, now=number(now))
        return Question(asked, tuple(map(number, values)), values.index(right), because)

    return card


def order_matters(text: Text) -> Question:
    """Temperature before or after top-p."""
    import torch

    from decoding.processors import Temperature, TopP

    logits = torch.tensor([3.0, 2.0, 1.0])
    first = int((TopP(0.8)(Temperature(0.5)(logits)) > -torch.inf).sum())
    last = int((Temperature(0.5)(TopP(0.8)(logits)) > -torch.inf).sum())
    choices = (text("quiz.order_first"), text("quiz.order_last"), text("quiz.order_same"))
    answer = 2 if first == last else 0 if first < last else 1
    return Question(text("quiz.order"), choices, answer, text("quiz.order_because", first=first, last=last))


def other_uniform(step: SampleStep, where: str, uniform: float = TOP_P) -> Card:
    """Where another uniform would have landed; the tokens listed must hold more than it, as where `can_lower`."""
    kept = [c for c in step.stages[-1].result.top if c.kept]

    def card(text: Text) -> Question:
        from decoding.samplers import direct

        index, draw = direct([c.prob for c in kept], uniform)
        offered = sorted({0, 1, index, min(len(kept) - 1, index + 2)})
        choices = tuple(quoted(kept[i].token.text) for i in offered)
        asked = text("quiz.uniform", where=text(where), step=step.position + 1, u=uniform)
        names = {"token": quoted(kept[index].token.text), "low": f"{draw.low:.2f}", "high": f"{draw.high:.2f}"}
        return Question(asked, choices, offered.index(index), text("quiz.uniform_because", u=uniform, **names))

    return card


# --- Temperature & top-p -----------------------------------------------------------------------------


def hotter(entropies: Callable[[float], float]) -> Card:
    """What happens to the entropy when T goes from 1 to 2."""

    def card(text: Text) -> Question:
        one, two = entropies(1.0), entropies(2.0)
        choices = (text("quiz.grows"), text("quiz.stays"), text("quiz.shrinks"))
        answer = 1 if abs(one - two) < 0.01 else 0 if two > one else 2
        return Question(
            text("quiz.hotter"), choices, answer, text("quiz.hotter_because", one=f"{one:.2f}", two=f"{two:.2f}")
        )

    return card


def kept_when(kept: Callable[[float, float], int], temperature: float, top_p: float) -> Card:
    """How many tokens top-p keeps at some temperature."""

    def card(text: Text) -> Question:
        right, all_ = kept(temperature, top_p), kept(1.0, 1.0)
        values = sorted({max(1, right // 20), right, min(all_, right * 20), all_})
        names = {"t": f"{temperature:g}", "p": f"{top_p:g}"}
        because = text("quiz.when_zero" if temperature == 0 else "quiz.when_because", kept=number(right), **names)
        return Question(text("quiz.when", **names), tuple(map(number, values)), values.index(right), because)

    return card


# --- Samplers ----------------------------------------------------------------------------------------

METHODS = ("direct", "binary", "alias", "gumbel")


@lru_cache
def _counted(items: int, draws: int) -> dict[str, int]:
    """Operations of each sampler for so many draws from so many items, counted while they run."""
    from decoding.experiments import cost

    probs = cost.weights("zipf", items)
    counted = {
        name: cost.point(name, probs, draws, effort=100_000, least=cost.LEAST_COUNTED).operations or 0
        for name in METHODS
    }
    return dict(sorted(counted.items(), key=lambda pair: pair[1]))


def _cheapest(text: Text, items: int, draws: int) -> Question:
    counted = _counted(items, draws)
    best = next(iter(counted))
    listed = text("quiz.comma").join(f"{text('sampler.' + name)} {number(count)}" for name, count in counted.items())
    asked = text("quiz.cheapest", items=number(items), draws=number(draws))
    names = tuple(text(f"sampler.{name}") for name in METHODS)
    return Question(asked, names, METHODS.index(best), text("quiz.cheapest_because", counts=listed))


def cheapest_one(text: Text) -> Question:
    """Which sampler does the least work for one draw."""
    return _cheapest(text, 10_000, 1)


def cheapest_many(text: Text) -> Question:
    """Which sampler does the least work for many draws."""
    return _cheapest(text, 10_000, 100_000)


def frozen_noise(text: Text) -> Question:
    """How many different tokens frozen noise gives."""
    from decoding.experiments.gumbel import frozen
    from decoding.experiments.laws import preset

    found = frozen(preset("uniform", 6), 1_000, 0)
    fresh, kept = (sum(count > 0 for count in tally.counts) for tally in (found.fresh, found.frozen))
    values = (1, 3, 6)
    because = text("quiz.frozen_because", fresh=fresh, frozen=kept)
    return Question(text("quiz.frozen"), tuple(map(str, values)), values.index(kept), because)

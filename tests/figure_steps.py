"""Made-up steps for the figures' tests: no model, no torch; small laws with known numbers and a large one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from decoding.trace import (
    AliasColumn,
    AliasDraw,
    ArgmaxDraw,
    BinarySearchDraw,
    Candidate,
    DirectDraw,
    Distribution,
    Draw,
    ForcedDraw,
    GumbelDraw,
    PerturbedScore,
    Probe,
    SampleStep,
    Stage,
    Token,
)
from decoding.values import Effects, Histogram

WORDS = """they it you everyone we people there the when that in your how seeing having being I knowing all getting
watching reading everything nothing outside always perhaps umbrellas"""
TEXTS = [" " + word for word in WORDS.split()]
TEXTS += ["雨天", " 我很好", "😊", " internationalization", "\n", "\t\t", "   "]
NASTY = [
    "a<b<c",
    '"><img src=x onerror=alert(1)>',
    "**x**",
    "$x$",
    "{{7*7}}",
    "%{x}",
    "&lt;b&gt;",
    "<b>bold</b>",
    "<br>",
    "&#123;",
]

Rule = tuple[str, Mapping[str, Any]]


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def entropy(probs: np.ndarray) -> float:
    some = probs[probs > 0]
    return float(-(some * np.log2(some)).sum())


def apply(name: str, value: Any, logits: np.ndarray) -> np.ndarray:
    """The few rules the figures' tests need."""
    order = np.argsort(-logits, kind="stable")
    result = logits.copy()
    if name == "temperature":
        return logits / value
    if name == "top_k":
        result[order[value:]] = -np.inf
    elif name == "top_p":
        sums = np.cumsum(softmax(logits)[order])
        result[order[int(np.searchsorted(sums, value)) + 1 :]] = -np.inf
    elif name == "min_p":
        probs = softmax(logits)
        result[probs < value * probs.max()] = -np.inf
    elif name == "typical_p":
        result[order[0]] = -np.inf
    return result


class Law:
    """Logits over a vocabulary with a text for each token."""

    def __init__(self, logits: np.ndarray, texts: Sequence[str]) -> None:
        self.logits = logits
        self.texts = texts

    def token(self, id: int) -> Token:
        return Token(id, self.texts[id] if id < len(self.texts) else f" word{id}")

    def distribution(self, logits: np.ndarray, ids: Sequence[int]) -> Distribution:
        probs = softmax(logits)
        order = sorted(ids, key=lambda i: -logits[i])
        top = tuple(
            Candidate(self.token(i), float(logits[i]), float(probs[i]), True)
            if np.isfinite(logits[i])
            else Candidate(self.token(i), None, 0.0, False)
            for i in order
        )
        count = int(np.isfinite(logits).sum()) - sum(c.kept for c in top)
        mass = max(0.0, 1 - math.fsum(c.prob for c in top)) if count else 0.0
        return Distribution(top, mass, count, entropy(probs))

    def step(
        self,
        rules: Sequence[tuple[str, Any]] = (),
        make_draw: Callable[[Law, np.ndarray], tuple[int, Draw]] | None = None,
        top: int = 20,
        notes: tuple[str, ...] = (),
    ) -> SampleStep:
        laws = [self.logits]
        for name, value in rules:
            laws.append(apply(name, value, laws[-1]))
        chosen, draw = (make_draw or direct(0.41))(self, laws[-1])
        ids: dict[int, None] = {}
        for law in (laws[0], laws[-1]):
            finite = int(np.isfinite(law).sum())
            ids.update(dict.fromkeys(np.argsort(-law, kind="stable")[: min(top, finite)].tolist()))
        ids[chosen] = None
        stages = [Stage("model", {}, self.distribution(laws[0], list(ids)), len(laws[0]), 1.0)]
        for (name, value), was, now in zip(rules, laws, laws[1:], strict=False):
            kept = np.isfinite(now)
            mass = 1.0 if kept.sum() == np.isfinite(was).sum() else float(softmax(was)[kept].sum())
            stages.append(Stage(name, {name: value}, self.distribution(now, list(ids)), int(kept.sum()), mass, notes))
        probs = softmax(laws[-1])
        return SampleStep(
            3, tuple(stages), draw, self.token(chosen), float(probs[chosen]), float(softmax(self.logits)[chosen])
        )


def _ordered(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(-logits, kind="stable")
    order = order[np.isfinite(logits[order])]
    return order, np.cumsum(softmax(logits)[order])


def direct(uniform: float) -> Callable[[Law, np.ndarray], tuple[int, Draw]]:
    def make(law: Law, logits: np.ndarray) -> tuple[int, Draw]:
        order, sums = _ordered(logits)
        i = min(int(np.searchsorted(sums, uniform, side="right")), len(order) - 1)
        return int(order[i]), DirectDraw(uniform, i + 1, float(sums[i - 1]) if i else 0.0, float(sums[i]))

    return make


def binary(uniform: float) -> Callable[[Law, np.ndarray], tuple[int, Draw]]:
    def make(law: Law, logits: np.ndarray) -> tuple[int, Draw]:
        order, sums = _ordered(logits)
        low, high, probes = 0, len(order) - 1, []
        while low < high:
            middle = (low + high) // 2
            left = bool(uniform < sums[middle])
            probes.append(Probe(low, high, middle, float(sums[middle]), left))
            low, high = (low, middle) if left else (middle + 1, high)
        edges = float(sums[low - 1]) if low else 0.0, float(sums[low])
        return int(order[low]), BinarySearchDraw(uniform, tuple(probes), low, *edges)

    return make


def alias(uniform: float, coin: float, most: int = 32) -> Callable[[Law, np.ndarray], tuple[int, Draw]]:
    def make(law: Law, logits: np.ndarray) -> tuple[int, Draw]:
        order, _ = _ordered(logits)
        scaled = softmax(logits)[order] * len(order)
        thresholds, aliases = scaled.copy(), list(range(len(order)))
        small, large = [i for i, s in enumerate(scaled) if s < 1], [i for i, s in enumerate(scaled) if s >= 1]
        built = 0
        while small and large:
            a, b = small.pop(), large.pop()
            aliases[a], built = b, built + 1
            thresholds[b] -= 1 - thresholds[a]
            (small if thresholds[b] < 1 else large).append(b)
        for rest in small + large:
            thresholds[rest] = 1.0
        column = int(uniform * len(order))
        took = coin >= thresholds[column]
        shown = list(range(min(most, len(order))))
        if column not in shown:
            shown[-1] = column
        columns = tuple(
            AliasColumn(
                i,
                law.token(int(order[i])),
                float(min(1, thresholds[i])),
                None if aliases[i] == i else law.token(int(order[aliases[i]])),
            )
            for i in shown
        )
        chosen = int(order[aliases[column] if took else column])
        return chosen, AliasDraw(uniform, coin, column, bool(took), len(order), built, columns)

    return make


def gumbel(seed: int = 0, most: int = 12) -> Callable[[Law, np.ndarray], tuple[int, Draw]]:
    def make(law: Law, logits: np.ndarray) -> tuple[int, Draw]:
        order, _ = _ordered(logits)
        uniforms = np.random.default_rng(seed).random(len(order))
        noise = -np.log(-np.log(uniforms))
        scores = logits[order] + noise
        best = np.argsort(-scores)[:most]
        made = tuple(
            PerturbedScore(
                law.token(int(order[i])), float(logits[order[i]]), float(uniforms[i]), float(noise[i]), float(scores[i])
            )
            for i in best
        )
        return made[0].token.id, GumbelDraw(made, len(order))

    return make


def argmax(law: Law, logits: np.ndarray) -> tuple[int, Draw]:
    order, _ = _ordered(logits)
    first, second = (int(i) for i in order[:2])
    return first, ArgmaxDraw(float(logits[first]), law.token(second), float(logits[first] - logits[second]), 1)


def forced(id: int) -> Callable[[Law, np.ndarray], tuple[int, Draw]]:
    return lambda law, logits: (id, ForcedDraw())


def lecture() -> Law:
    """`I` in the lecture's table: like .4, love .4, am .1, hate .01, want .01, the rest on one token."""
    return Law(np.log(np.array([0.4, 0.4, 0.1, 0.01, 0.01, 0.08])), [" like", " love", " am", " hate", " want", "…"])


def rainy(size: int = 49_152, sharp: float = 1.0) -> Law:
    """A law as a small model has it: a clear favourite, a slope, a long tail."""
    rng = np.random.default_rng(5)
    logits = rng.normal(0.0, 1.6, size)
    head = np.array(
        [13.4, 11.6, 10.5, 9.9, 9.4, 9.3, 8.5, 8.3, 8.0, 7.9, 7.7, 7.5, 7.4, 7.3, 7.2, 7.1, 7.0, 6.9, 6.85, 6.8]
    )
    logits[: len(head)] = head * sharp
    logits[len(head) : len(TEXTS)] = np.linspace(6.7, 5.5, len(TEXTS) - len(head)) * sharp
    return Law(logits + 4, TEXTS)


def nasty() -> Law:
    return Law(np.linspace(3, 0, len(NASTY)), NASTY)


def effects(law: Law, count: int = 8) -> Effects:
    temperatures = [round(0.05 * i, 2) for i in range(61)]
    top_ps = [round(0.05 * i, 2) for i in range(1, 21)]
    order = np.argsort(-law.logits, kind="stable")
    probs, entropies, kept = [], [], []
    for t in temperatures:
        p = softmax(law.logits[order] / max(t, 1e-4))
        probs.append(p[:count].tolist())
        entropies.append(entropy(p))
        sums = np.cumsum(p)
        kept.append([min(len(p), int(np.searchsorted(sums, q - 1e-9)) + 1) for q in top_ps])
    return Effects(
        tuple(law.token(int(i)) for i in order[:count]),
        tuple(temperatures),
        tuple(tuple(row[i] for row in probs) for i in range(count)),
        tuple(entropies),
        tuple(top_ps),
        tuple(tuple(row[k] for row in kept) for k in range(len(top_ps))),
    )


def histogram(law: Law, draws: int = 1000, top: int = 12) -> Histogram:
    order = np.argsort(-law.logits, kind="stable")
    probs = softmax(law.logits)[order]
    counts = np.random.default_rng(1).multinomial(draws, probs)
    exact = law.distribution(law.logits, order[:top].tolist())
    distance = float(np.abs(counts / draws - probs).sum() / 2)
    return Histogram(exact, draws, tuple(int(c) for c in counts[:top]), int(counts[top:].sum()), distance, 0.03)

"""Hand-made depths of a beam search for the tests of the figures: the lecture's tree, and trees of any size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from decoding.trace import BeamNode, BeamStep, Cut, Hypothesis, Token

LECTURE: dict[tuple[str, ...], dict[str, float]] = {
    (): {"I": 0.4, "We": 0.3, "He": 0.1, "She": 0.1, "They": 0.01, "…": 0.09},
    ("I",): {"like": 0.4, "love": 0.4, "am": 0.1, "hate": 0.01, "want": 0.01, "…": 0.08},
    ("We",): {"like": 0.4, "do": 0.3, "are": 0.2, "can": 0.01, "say": 0.01, "…": 0.08},
    ("I", "like"): {"singing": 0.6, "song": 0.2, "shouting": 0.01, "going": 0.01, "dancing": 0.01, "…": 0.17},
    ("I", "love"): {"singing": 0.5, "dancing": 0.3, "you": 0.11, "going": 0.01, "it": 0.01, "…": 0.07},
}
WORDS = (
    *(" the", " a", " quick", ",", ".", " people", " internationalization", " of", " said", "'s", " and", " never"),
    *("<b>x</b>", "$x$", "😊", "雨天", "\n", "\n\n", " ", "   ", "{{7*7}}", "", "⟨F0 9F⟩", "🇨🇭", "é", "**bold**"),
)
AWKWARD = ("<b>x</b>", "$x$", "😊", "雨天我很好", "antidisestablishment", "\n", "   ", "{{7*7}}", "<img src=x>", "🇨🇭")
END = Token(999, "<end>")

Law = Callable[[tuple[int, ...]], Sequence[tuple[Token, float]]]
"""The next tokens with their probabilities, after the token ids so far."""
Judge = Callable[[Sequence[BeamNode]], Mapping[int, Cut]]
"""Which of a depth's candidates a rule cuts, before the width does."""


@dataclass(frozen=True, slots=True)
class _Open:
    node: int | None
    ids: tuple[int, ...]
    logprob: float


def search(law: Law, width: int, depth: int, judge: Judge | None = None) -> tuple[BeamStep, ...]:
    """A plain beam search; END finishes a text."""
    open_beams, steps, finished, next_id = [_Open(None, (), 0.0)], [], [], 0
    for d in range(1, depth + 1):
        found, ids = [], {}
        for beam in open_beams:
            for token, prob in law(beam.ids):
                total = beam.logprob + math.log(prob)
                found.append(BeamNode(next_id, beam.node, token, prob, total, total, "kept"))
                ids[next_id] = (*beam.ids, token.id)
                next_id += 1
        found.sort(key=lambda n: (-n.score, n.id))
        judged = _judged(found, width, judge(found) if judge else {}, d == depth)
        finished += [Hypothesis(n.id, n.logprob / d) for n in judged if n.fate == "finished"]
        open_beams = [_Open(n.id, ids[n.id], n.logprob) for n in judged if n.fate == "kept"]
        held = tuple(sorted(finished, key=lambda h: -h.score))
        best = max((b.logprob / d for b in open_beams), default=None)
        ending = "length" if d == depth else None if open_beams else "no_beams"
        steps.append(BeamStep(d, tuple(judged), len(judged), held, best, ending))
        if ending:
            break
    return tuple(steps)


def _judged(found: Sequence[BeamNode], width: int, cuts: Mapping[int, Cut], last: bool) -> list[BeamNode]:
    """The `width` best of those left that do not end a text go on; an end counts among the `width` best only."""
    alive = [n for n in found if n.id not in cuts]
    going = [n for n in alive if last or n.token.id != END.id][:width]
    ended = [n for n in alive[:width] if last or n.token.id == END.id]
    border = (going or ended)[-1].score
    fates = {n.id: "finished" if last else "kept" for n in going} | {n.id: "finished" for n in ended}
    judged = []
    for node in found:
        rule = cuts.get(node.id) or (None if node.id in fates else Cut("width", node.score, border))
        judged.append(replace(node, fate="pruned" if rule else fates[node.id], rule=rule))
    return judged


def lecture(width: int = 2, depth: int = 3, judge: Judge | None = None) -> tuple[BeamStep, ...]:
    """The tree of the lecture."""
    words = sorted({word for row in LECTURE.values() for word in row})

    def law(ids: tuple[int, ...]) -> list[tuple[Token, float]]:
        row = LECTURE.get(tuple(words[i] for i in ids), {"…": 1.0})
        return [(Token(words.index(word), word), prob) for word, prob in row.items()]

    return search(law, width, depth, judge)


def random(
    width: int = 4,
    depth: int = 8,
    top: int = 9,
    seed: int = 1,
    words: Sequence[str] = WORDS,
    end: float = 0.0,
    judge: Judge | None = None,
) -> tuple[BeamStep, ...]:
    """A tree whose probabilities are drawn: `top` children of each beam, long and awkward words, ends at will."""
    rng = np.random.default_rng(seed)

    def law(ids: tuple[int, ...]) -> list[tuple[Token, float]]:
        weights = np.sort(rng.dirichlet(np.full(top, 0.35)))[::-1] * 0.95 + 1e-6
        picked = rng.permutation(len(words) * 4)[:top]
        tokens = [Token(int(i), words[i % len(words)]) for i in picked]
        if end and rng.random() < end:
            tokens[0] = END
        return [(t, float(p)) for t, p in zip(tokens, weights, strict=True)]

    return search(law, width, depth, judge)


def relative(r: float) -> Judge:
    """Cut what is at most r times as probable as the best."""

    def judge(nodes: Sequence[BeamNode]) -> dict[int, Cut]:
        best = max(n.logprob for n in nodes)
        ratios = {n.id: math.exp(n.logprob - best) for n in nodes}
        return {i: Cut("relative_threshold", ratio, r) for i, ratio in ratios.items() if ratio <= r and ratio < 1}

    return judge


def absolute(a: float) -> Judge:
    """Cut what is `a` nats or more below the best."""

    def judge(nodes: Sequence[BeamNode]) -> dict[int, Cut]:
        line = max(n.logprob for n in nodes) - a
        return {n.id: Cut("absolute_threshold", n.logprob, line) for n in nodes if n.logprob <= line}

    return judge


def local(r: float) -> Judge:
    """Cut by the token's own probability."""

    def judge(nodes: Sequence[BeamNode]) -> dict[int, Cut]:
        best = max(n.prob for n in nodes)
        first = max(nodes, key=lambda n: n.score).id
        cut = {n.id: n.prob / best for n in nodes if n.prob <= r * best and n.id != first}
        return {i: Cut("relative_local_threshold", ratio, r) for i, ratio in cut.items()}

    return judge


def per_parent(most: int) -> Judge:
    """Cut all but the `most` best of each parent."""

    def judge(nodes: Sequence[BeamNode]) -> dict[int, Cut]:
        ranks: dict[int | None, int] = {}
        cuts = {}
        for node in nodes:
            ranks[node.parent] = ranks.get(node.parent, 0) + 1
            if ranks[node.parent] > most:
                cuts[node.id] = Cut("max_per_parent", float(ranks[node.parent]), float(most))
        return cuts

    return judge


def path(steps: Sequence[BeamStep], node: int) -> tuple[int, ...]:
    """The ids from the root to this node."""
    parents = {n.id: n.parent for step in steps for n in step.nodes}
    found = [node]
    while (parent := parents[found[-1]]) is not None:
        found.append(parent)
    return tuple(reversed(found))


def best(steps: Sequence[BeamStep]) -> tuple[int, ...]:
    """The path of the best finished text."""
    return path(steps, steps[-1].finished[0].node)

"""Hand-made rounds of speculative decoding for the tests of the figures: every rule, every ending, any length."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from decoding.trace import Addition, Candidate, Distribution, DraftNode, SpeculativeStep, Token, Verdict

Rule = Literal["lossless", "exact", "top_k", "typical"]
Law = Mapping[str, float]

WORDS = (" the", " a", " that", " you", " can", " fun", " budget", " more", ".", ",", " and", " it", "\n", "-", "😊")
AWKWARD = ("<b>x</b>", "$x$", "😊", "雨天我很好", "antidisestablishment", "\n", "   ", "{{7*7}}", "<img src=x>", "é")
IDS = {word: id for id, word in enumerate(dict.fromkeys((*WORDS, *AWKWARD, "<end>")))}


def token(word: str) -> Token:
    """The word as a token; another word gets an id of its own."""
    return Token(IDS.setdefault(word, len(IDS)), word)


def law(probs: Law, listed: Sequence[str] = (), top: int = 50) -> Distribution:
    """A law over words; `listed` are always in it, and beyond `top` it is a tail."""
    names = sorted(dict.fromkeys([*probs, *listed]), key=lambda word: (-probs.get(word, 0.0), token(word).id))
    shown = [name for i, name in enumerate(names) if i < top or name in listed]
    entries = tuple(
        Candidate(token(name), math.log(p) if (p := probs.get(name, 0.0)) > 0 else None, p, p > 0) for name in shown
    )
    left = [probs[name] for name in names if name not in shown]
    entropy = -sum(p * math.log2(p) for p in probs.values() if p > 0)
    return Distribution(entries, sum(left), sum(p > 0 for p in left), entropy)


def residual(p: Law, q: Law) -> dict[str, float]:
    """norm(max(0, p - q))"""
    left = {word: max(0.0, p.get(word, 0.0) - q.get(word, 0.0)) for word in p}
    total = sum(left.values())
    return {word: value / total for word, value in left.items()} if total else dict(p)


@dataclass(frozen=True, slots=True)
class Place:
    """One drafted token: what was drafted there, the two laws, the uniform, what the target draws itself."""

    word: str
    p: Law
    q: Law
    u: float = 0.5
    drawn: str = ""


def judge(at: Place, node: int, rule: Rule, limit: float = 2) -> Verdict:
    """The verdict of a rule; `limit`: K or the threshold."""
    p, q = at.p.get(at.word, 0.0), at.q[at.word]
    likelier = [w for w, prob in at.p.items() if (-prob, token(w).id) < (-p, token(at.word).id)]
    rank = len(likelier) + 1
    ratio = min(1.0, p / q)
    accepted = {
        "lossless": at.u < ratio,
        "exact": at.drawn == at.word,
        "top_k": p > 0 and rank <= limit,
        "typical": p > limit,
    }
    words = list(dict.fromkeys([*at.p, *at.q]))
    return Verdict(
        node=node,
        rule=rule,
        target_prob=p,
        draft_prob=q,
        rank=rank,
        threshold={"lossless": ratio, "exact": None}.get(rule, float(limit)),
        uniform=at.u if rule == "lossless" else None,
        accepted=accepted[rule],
        target=law(at.p, words),
        draft=law(at.q, words),
        drawn=token(at.drawn) if rule == "exact" and at.drawn else None,
    )


def step(
    places: Sequence[Place],
    own: Law,
    added: str | None,
    rule: Rule = "lossless",
    limit: float = 2,
    position: int = 0,
    u: float = 0.5,
    ends: Literal["eos", "length"] | None = None,
) -> SpeculativeStep:
    """One round: verdicts until the first rejection; `added` is drawn from the residual, or from `own`.

    `ends`: the text ends with the drafts accepted, and nothing is added.
    """
    nodes, verdicts = [], []
    for i, at in enumerate(places):
        nodes.append(DraftNode(i, i - 1 if i else None, token(at.word), at.q[at.word], i + 1))
        over = (verdicts and not verdicts[-1].accepted) or (ends and verdicts and places[i - 1].word == "<end>")
        if not over:
            verdicts.append(judge(at, i, rule, limit))
    rejected = bool(verdicts) and not verdicts[-1].accepted
    accepted = [nodes[v.node].token for v in verdicts if v.accepted]
    if ends:
        return SpeculativeStep(position, tuple(nodes), tuple(verdicts), None, tuple(accepted), ends, len(nodes))
    last = places[len(verdicts) - 1] if rejected else None
    source = (residual(last.p, last.q) if rule == "lossless" else last.p) if last else own
    assert added is not None
    more = Addition(token(added), source[added], u, law(source))
    ending = "recovered" if rejected else "bonus"
    emitted = (*accepted, more.token)
    return SpeculativeStep(position, tuple(nodes), tuple(verdicts), more, emitted, ending, len(nodes))


FUN = Place(" fun", {" fun": 0.09, " budget": 0.61, " the": 0.3}, {" fun": 0.31, " budget": 0.2, " the": 0.49}, 0.64)
"""The sketch's rejected token: min(1, p/q) = 0.29 < u = 0.64."""
SURE = Place(" that", {" that": 0.8, " a": 0.2}, {" that": 0.5, " a": 0.5}, 0.99)
LUCKY = Place(" more", {" more": 0.4, " a": 0.6}, {" more": 0.5, " a": 0.5}, 0.3)
LATER = Place(" it", {" it": 0.5, " you": 0.5}, {" it": 0.4, " you": 0.6})
IMPOSSIBLE = Place(" and", {" it": 1.0}, {" and": 0.7, " it": 0.3}, 0.0)
SAME = Place(" you", {" you": 0.55, " can": 0.45}, {" you": 0.7, " can": 0.3}, 0.2, " you")
OTHER = Place(" can", {" you": 0.55, " can": 0.3, " it": 0.15}, {" you": 0.2, " can": 0.8}, 0.2, " you")
END = Place("<end>", {"<end>": 0.9, " a": 0.1}, {"<end>": 0.8, " a": 0.2}, 0.1)

ALL = step([SURE, LUCKY, SURE, LUCKY], {" be": 0.41, " a": 0.59}, " be", u=0.33)
RECOVERED = step([LUCKY, FUN, LATER, LATER], {}, " budget", position=5, u=0.52)
ENDED = step([SURE, END, LATER], {}, None, ends="eos", position=7)
NO_ROOM = step([SURE], {}, None, ends="length", position=9)
NOTHING = step([], {" a": 0.6, " the": 0.4}, " a", position=9)
CERTAIN_NO = step([IMPOSSIBLE, LATER], {}, " it", position=3)
EXACT_NO = step([SAME, OTHER, LATER], {}, " you", rule="exact", u=0.2)
EXACT_ALL = step([SAME], {" can": 0.5, " a": 0.5}, " can", rule="exact")
TOP_K_NO = step([SURE, FUN, LATER], {}, " budget", rule="top_k", limit=2)
TOP_K_FAR = step([FUN], {}, " budget", rule="top_k", limit=1)
TOP_K_MANY = step([FUN, SURE], {" a": 1.0}, " a", rule="top_k", limit=40)
TOP_K_ZERO = step([IMPOSSIBLE], {}, " it", rule="top_k", limit=5)
TYPICAL_NO = step([LUCKY, FUN, LATER], {}, " budget", rule="typical", limit=0.1)
TYPICAL_ALL = step([LUCKY], {" a": 0.7, " it": 0.3}, " a", rule="typical", limit=0.1)

SKETCH = (ALL, RECOVERED, step([LUCKY, SURE, LUCKY, FUN], {}, " budget", position=7))
"""Three rounds as in the sketch of the page: 5, 2 and 4 tokens."""
ROUNDS: dict[str, tuple[SpeculativeStep, ...]] = {
    "sketch": SKETCH,
    "ended": (ALL, ENDED),
    "no room": (NO_ROOM,),
    "no draft": (NOTHING, ALL),
    "impossible": (CERTAIN_NO,),
    "exact": (EXACT_ALL, EXACT_NO),
    "top-k": (TOP_K_NO, TOP_K_FAR, TOP_K_MANY, TOP_K_ZERO),
    "typical": (TYPICAL_ALL, TYPICAL_NO),
}


def random(
    rounds: int = 60, gamma: int = 4, seed: int = 1, words: Sequence[str] = WORDS
) -> tuple[SpeculativeStep, ...]:
    """Rounds whose laws are drawn; the lossless rule, played fairly."""
    rng = np.random.default_rng(seed)
    steps: list[SpeculativeStep] = []
    position = 0
    for _ in range(rounds):
        places = [_place(rng, words) for _ in range(gamma)]
        own = _law(rng, words)
        bad = next((at for at in places if at.u >= min(1.0, at.p[at.word] / at.q[at.word])), None)
        source = residual(bad.p, bad.q) if bad else own
        added = str(rng.choice(list(source), p=np.array(list(source.values())) / sum(source.values())))
        steps.append(step(places, own, added, position=position, u=float(rng.random())))
        position += len(steps[-1].emitted)
    return tuple(steps)


def _law(rng: np.random.Generator, words: Sequence[str]) -> dict[str, float]:
    return dict(
        zip(words, map(float, rng.dirichlet(np.full(len(words), 0.5)) * 0.999 + 0.001 / len(words)), strict=True)
    )


def _place(rng: np.random.Generator, words: Sequence[str]) -> Place:
    p = _law(rng, words)
    other = _law(rng, words)
    q = {word: 0.75 * p[word] + 0.25 * other[word] for word in words}
    word = str(rng.choice(list(q), p=np.array(list(q.values())) / sum(q.values())))
    return Place(word, p, q, float(rng.random()))

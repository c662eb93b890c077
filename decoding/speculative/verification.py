"""Which drafted tokens the target accepts, and what it adds: each verifier is a small class with its formula.

p is the target's law of the next token, q the law that the draft drew from; both are the processed ones, after
temperature and all filters. Temperature 0 is no case of its own: its law is one-hot.

Leviathan, Kalman and Matias 2023, arXiv:2211.17192; Chen et al. 2023, arXiv:2302.01318; for several drafts of one
position, tried in turn: Miao et al. 2023 (SpecInfer), arXiv:2305.09781, multi-step speculative sampling.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from decoding import observe
from decoding.observe import Law
from decoding.speculative.tree import ROOT, TokenTree

TARGET, COIN = 0, 1
"""Of the uniforms of a position: the one of the target's own draw, and the first of those that accept or reject."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A drafted token to judge: `p` and `q` of it, and its `rank` in the target's law, from 1.

    `own`: the uniform of the target's own draw at this position; `coin`: the one to accept or reject with.
    """

    token: int
    target: Law
    draft: Law
    p: float
    q: float
    rank: int
    own: float
    coin: float


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether a token is accepted, and by what: a threshold, a uniform, the token that the target drew."""

    accepted: bool
    threshold: float | None = None
    uniform: float | None = None
    drawn: int | None = None


class Verifier(ABC):
    """One rule. `lossless`: whether what is emitted follows the target's law exactly."""

    __slots__ = ()
    name: ClassVar[Literal["lossless", "exact", "top_k", "typical"]]
    lossless: ClassVar[bool]

    @abstractmethod
    def judge(self, case: Case) -> Ruling:
        """Whether the target takes this token as its own."""

    def rejected(self, target: Law, draft: Law) -> Law:
        """The target's law once it has rejected a token drawn from `draft`."""
        return target


@dataclass(frozen=True, slots=True)
class Lossless(Verifier):
    """Accept with probability min(1, p/q); after a rejection the law is norm(max(0, p - q)).

    What comes out follows p. Leviathan et al. 2023, arXiv:2211.17192, section 2.3 and appendix A.1.
    """

    name, lossless = "lossless", True

    def judge(self, case: Case) -> Ruling:
        """u < min(1, p/q)."""
        threshold = min(1.0, case.p / case.q)
        return Ruling(case.coin < threshold, threshold, case.coin)

    def rejected(self, target: Law, draft: Law) -> Law:
        """The residual norm(max(0, p - q))."""
        return residual(target, draft)


@dataclass(frozen=True, slots=True)
class ExactMatch(Verifier):
    """The target draws its own token; accept where that is the draft.

    What comes out is what the target draws alone with the same uniforms, token for token.
    """

    name, lossless = "exact", True

    def judge(self, case: Case) -> Ruling:
        """x = what the target drew."""
        drawn, _ = observe.draw_direct(case.target, case.own)
        return Ruling(drawn == case.token, drawn=drawn)


@dataclass(frozen=True, slots=True)
class TopK(Verifier):
    """Accept one of the `k` likeliest tokens of the target, of equals the lowest ids first; never one of p = 0.

    Lossy: what the target finds second best stays as often as the draft says it.
    """

    k: int
    name, lossless = "top_k", False

    def judge(self, case: Case) -> Ruling:
        """p > 0 and rank <= k."""
        return Ruling(case.p > 0 and case.rank <= self.k, float(self.k))


@dataclass(frozen=True, slots=True)
class Typical(Verifier):
    """Accept where p > min(epsilon, delta * exp(-H)), H the entropy of p in nats.

    Lossy. Cai et al. 2024 (Medusa), arXiv:2401.10774, section 2.3.1.
    """

    epsilon: float
    delta: float
    name, lossless = "typical", False

    def judge(self, case: Case) -> Ruling:
        """p > min(epsilon, delta * exp(-H))."""
        nats = case.target.entropy * math.log(2)
        threshold = min(self.epsilon, self.delta * math.exp(-nats))
        return Ruling(case.p > threshold, threshold)


def residual(target: Law, draft: Law) -> Law:
    """norm(max(0, p - q)); p itself where rounding leaves nothing of it."""
    drafted = draft.probs() if target.kept is None else draft.probs(target.kept)
    left = (target.share(target.logits) - drafted).clamp(min=0)
    return observe.law(left.log(), before=target) if bool(left.any()) else target


def rank(of: Law, token: int) -> int:
    """Place of a token in a law, 1 the likeliest, of equals the lowest id first; removed ones come last."""
    place = int(of.places(torch.tensor([token])))
    if place >= of.kept_count:
        assert of.kept is not None
        return of.kept_count + token - int((of.kept < token).sum()) + 1
    logit = of.logits[place]
    return int((of.logits > logit).sum()) + int((of.logits[:place] == logit).sum()) + 1


def prob(of: Law, token: int) -> float:
    """Of one token."""
    return min(1.0, float(of.probs(torch.tensor([token]))))


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """The ruling on the drafted token `node`."""

    node: int
    case: Case
    ruling: Ruling


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """The token that the target drew itself from `law` with `uniform`."""

    token: int
    law: Law
    uniform: float


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of a tree: rulings in order, the nodes accepted from the text on, and how the round ended."""

    judgements: tuple[Judgement, ...]
    accepted: tuple[int, ...]
    added: Added | None
    ending: Literal["recovered", "bonus", "eos", "length"]


def verify(
    tree: TokenTree,
    drafts: Sequence[Law],
    verifier: Verifier,
    target: Callable[[int], Law],
    uniforms: Callable[[int, int], Sequence[float]],
    end_ids: Set[int] = frozenset(),
    room: int | None = None,
) -> Outcome:
    """Walk down the tree as far as the verifier accepts, and let the target add a token where that ends.

    `drafts`: the law that each node was drawn from, given the siblings before it. `target(node)`: the target's law
    after a node (`ROOT`: the text); asked only where the walk comes. `uniforms(depth, count)`: the first so many of
    the position `depth` tokens after the text. The walk ends without an addition at an accepted token of `end_ids`
    and after `room` tokens.
    """
    tokens = tree.tokens.tolist()
    judgements: list[Judgement] = []
    accepted: list[int] = []
    node = ROOT
    while True:
        law, children = target(node), tree.children(node)
        own, *coins = uniforms(len(accepted), COIN + len(children))
        for child, coin in zip(children, coins, strict=True):
            judgements.append(_judged(child, tokens[child], verifier, law, drafts[child], own, coin))
            if judgements[-1].ruling.accepted:
                break
            law = verifier.rejected(law, drafts[child])
        else:
            added = Added(observe.draw_direct(law, own)[0], law, own)
            return Outcome(tuple(judgements), tuple(accepted), added, "recovered" if children else "bonus")
        node = child
        accepted.append(node)
        if tokens[node] in end_ids or len(accepted) == room:
            ending: Literal["eos", "length"] = "eos" if tokens[node] in end_ids else "length"
            return Outcome(tuple(judgements), tuple(accepted), None, ending)


def _judged(node: int, token: int, verifier: Verifier, target: Law, draft: Law, own: float, coin: float) -> Judgement:
    p, q = prob(target, token), prob(draft, token)
    assert q > 0, "a token is drafted from its law"
    case = Case(token, target, draft, p, q, rank(target, token), own, coin)
    return Judgement(node, case, verifier.judge(case))

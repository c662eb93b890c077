"""Which extensions a beam search drops before it ranks them: each class is a checked setting and the rule it sets.

`RelativeThreshold(r=0.3).judge(candidates)`. Below, score(c) is a candidate's log-probability in nats, summed
from the root, so that exp(score) is the probability of its text. A value within `TOLERANCE` of a threshold is at
it, and at it is cut. Whatever the rule, the best candidate survives: the highest score, of equals the one with the
lowest parent row, then the lowest token id.

Freitag and Al-Onaizan 2017, Beam Search Strategies for Neural Machine Translation, arXiv:1702.01806, section 3.
"""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.beam.candidates import Candidates
from decoding.processor_base import Setting
from decoding.trace import Cut

TOLERANCE = 1e-9
"""Nats: ln .4 + ln .2 must be at half of ln .4 + ln .4, however the sums round."""

MAX_RANK = 2**53
"""The largest rank that a float64 counts exactly."""


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What a rule says of n candidates: `values` and `thresholds` (n,) float64 in its own unit, `cut` (n,) bool.

    A candidate is cut where its value did not pass its threshold; the best one never is.
    """

    values: Tensor
    thresholds: Tensor
    cut: Tensor


class PruningRule(Setting):
    """One rule on the candidates of a depth."""

    __slots__ = ()

    def judge(self, candidates: Candidates) -> Judgement:
        """The rule's value, threshold and verdict for each of the n candidates, whose log-probabilities are finite."""
        if not len(candidates.tokens):
            empty = candidates.logprobs
            return Judgement(empty, empty, torch.zeros_like(empty, dtype=torch.bool))
        judged = self._judge(candidates)
        if not self.active:
            return Judgement(judged.values, judged.thresholds, torch.zeros_like(judged.cut))
        cut = judged.cut.clone()
        cut[_best(candidates)] = False
        return Judgement(judged.values, judged.thresholds, cut)

    @abstractmethod
    def _judge(self, candidates: Candidates) -> Judgement:
        """As `judge`, of at least one candidate, and the best one may be cut."""


@dataclass(frozen=True, slots=True)
class RelativeThreshold(PruningRule):
    """Cuts the candidates at most `r` times as likely as the best.

    p(c) <= r max p, in log form score(c) <= max score + ln r. Value: p(c) / max p; threshold: r.
    0 to 1; 0 is off. Freitag and Al-Onaizan 2017, section 3.
    """

    r: float
    name = "relative_threshold"

    def _judge(self, candidates: Candidates) -> Judgement:
        return _ratios(candidates.logprobs, self.r)


@dataclass(frozen=True, slots=True)
class AbsoluteThreshold(PruningRule):
    """Cuts the candidates that are `a` nats or more below the best.

    score(c) <= max score - a: the relative rule with r = exp(-a). Value: score(c); threshold: max score - a.
    0 or more; 0 leaves the best alone, infinity is off. Freitag and Al-Onaizan 2017, section 3.
    """

    a: float
    name, neutral = "absolute_threshold", math.inf
    high, limit = sys.float_info.max, "{name} ≥ 0"

    def __post_init__(self) -> None:
        """Check the value. Raises UserError (`not_a_number`, `out_of_range`)."""
        if self.a != self.neutral:
            Setting.__post_init__(self)

    def _judge(self, candidates: Candidates) -> Judgement:
        threshold = candidates.logprobs.max() - self.a
        cut = candidates.logprobs <= threshold + TOLERANCE
        return Judgement(candidates.logprobs, threshold.expand_as(cut), cut)


@dataclass(frozen=True, slots=True)
class RelativeLocalThreshold(PruningRule):
    """Cuts the candidates whose last token is at most `r` times as likely as the best last token at this depth.

    ln p_w(c) <= max ln p_w + ln r, p_w the last token's own probability after its parent, and the maximum over all
    parents. Value: p_w(c) / max p_w; threshold: r. 0 to 1; 0 is off. Freitag and Al-Onaizan 2017, section 3.
    """

    r: float
    name = "relative_local_threshold"

    def _judge(self, candidates: Candidates) -> Judgement:
        return _ratios(candidates.local, self.r)


@dataclass(frozen=True, slots=True)
class MaxPerParent(PruningRule):
    """Keeps at most `m` extensions of each beam: the highest scores, lowest token id first on ties.

    Value: the rank among those with the same parent, from 1; threshold: m, the last rank that passes.
    A whole number; 0 is off. Freitag and Al-Onaizan 2017, section 3, maximum candidates per node.
    """

    m: int
    name = "max_per_parent"
    high, limit, whole = math.inf, "0, 1, 2, …", True

    def _judge(self, candidates: Candidates) -> Judgement:
        ranks = _ranks(candidates)
        most = float(min(self.m, MAX_RANK))
        return Judgement(ranks, torch.full_like(ranks, most), ranks > most)


REGISTRY: dict[str, type[PruningRule]] = {
    "relative_threshold": RelativeThreshold,
    "absolute_threshold": AbsoluteThreshold,
    "relative_local_threshold": RelativeLocalThreshold,
    "max_per_parent": MaxPerParent,
}
"""Every rule by name: `REGISTRY["max_per_parent"](2)`."""

DEFAULT_ORDER: tuple[str, ...] = tuple(REGISTRY)
"""The order of the paper."""


def prune(candidates: Candidates, rules: Sequence[PruningRule]) -> list[Cut | None]:
    """Each candidate's cut, None where it survives all rules; the first rule that cuts it is the one named.

    The rules are applied in turn: each takes its maxima and its ranks over those that survived the ones before.
    """
    cuts: list[Cut | None] = [None] * len(candidates.tokens)
    alive = torch.arange(len(cuts), device=candidates.tokens.device)
    for rule in rules:
        judged = rule.judge(_only(candidates, alive))
        gone = judged.cut
        columns = (alive[gone].tolist(), judged.values[gone].tolist(), judged.thresholds[gone].tolist())
        for place, value, threshold in zip(*columns, strict=True):
            cuts[place] = Cut(rule.name, value, threshold)
        alive = alive[~gone]
    return cuts


def literal_relative(candidates: Candidates, r: float) -> Judgement:
    """WRONG, to be shown beside `RelativeThreshold`: score(c) <= r max score, on log-probabilities as they stand.

    The rule is right for probabilities. A log-probability is negative, so that r max score is above max score for
    every r below 1: all candidates are cut, the best one with them. Value: score(c); threshold: r max score; nats.
    """
    threshold = r * candidates.logprobs.max()
    return Judgement(candidates.logprobs, threshold.expand_as(candidates.logprobs), candidates.logprobs <= threshold)


def _ratios(logprobs: Tensor, r: float) -> Judgement:
    """Of log-probabilities (n,): the ratio of each to the largest, against r, compared in log form."""
    gaps = logprobs - logprobs.max()
    log_r = math.log(r) if r > 0 else -math.inf
    return Judgement(gaps.exp(), torch.full_like(gaps, r), gaps <= log_r + TOLERANCE)


def _ranks(candidates: Candidates) -> Tensor:
    """Rank (n,) from 1 among the candidates of the same parent, best first, lowest token id first on ties."""
    order = candidates.tokens.argsort(stable=True)
    order = order[candidates.logprobs[order].argsort(descending=True, stable=True)]
    order = order[candidates.parents[order].argsort(stable=True)]
    _, counts = candidates.parents[order].unique_consecutive(return_counts=True)
    starts = (counts.cumsum(0) - counts).repeat_interleave(counts)
    ranks = torch.empty_like(candidates.logprobs)
    ranks[order] = (torch.arange(len(order), device=order.device) - starts + 1).to(ranks.dtype)
    return ranks


def _best(candidates: Candidates) -> int:
    """Place of the highest score; of equals the lowest parent row, then the lowest token id."""
    places = (candidates.logprobs == candidates.logprobs.max()).nonzero().flatten().tolist()
    return min(places, key=lambda place: (int(candidates.parents[place]), int(candidates.tokens[place])))


def _only(candidates: Candidates, places: Tensor) -> Candidates:
    """The candidates at these places."""
    columns = (candidates.parents, candidates.tokens, candidates.logprobs, candidates.local)
    return Candidates(*(column[places] for column in columns))

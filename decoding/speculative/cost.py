"""What speculation should gain, from how often drafts are accepted and what drafting and checking cost.

gamma: tokens drafted a round. alpha: the chance that a draft is accepted once all before it were; one number, or one
for each position. c: a draft's forward by the target's. Leviathan, Kalman and Matias 2023, arXiv:2211.17192.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from decoding.speculative.values import Judged, Race
from decoding.trace import MAX_GAMMA, SpeculativeStep
from decoding.values import ForwardTimes

Acceptance = float | Sequence[float]
"""alpha, the same everywhere; or that of each position, the last of which goes on."""


def expected_tokens(alpha: Acceptance, gamma: int) -> float:
    """Tokens that a round writes on average: 1 + a1 + a1 a2 + ... + a1 ... a_gamma.

    Where all are alpha: (1 - alpha^(gamma + 1)) / (1 - alpha). Equation (1).
    """
    expected = reached = 1.0
    for chance in _chances(alpha, gamma):
        reached *= chance
        expected += reached
    return expected


def speedup(alpha: Acceptance, gamma: int, draft_cost: float) -> float:
    """(1 - alpha^(gamma + 1)) / ((1 - alpha) (gamma c + 1)): where checking gamma + 1 tokens costs as much as one.

    Theorem 3.8.
    """
    return expected_tokens(alpha, gamma) / (gamma * draft_cost + 1)


def round_milliseconds(
    gamma: int, target: ForwardTimes, draft: ForwardTimes | None, passes: float | None = None
) -> float:
    """d T_draft(1) + T_target(gamma + 1): the forwards of a round; drafting without a model costs nothing.

    d: `passes` of the draft, gamma where nothing is said: fewer where some drafts are looked up.
    """
    drafting = (gamma if passes is None else passes) * draft.of_tokens(1) if draft else 0.0
    return drafting + target.of_tokens(gamma + 1)


def timed_speedup(
    alpha: Acceptance, gamma: int, target: ForwardTimes, draft: ForwardTimes | None, passes: float | None = None
) -> float:
    """The same with times measured on one machine: expected tokens x T_target(1) / a round's forwards.

    Leaves out the reading of the prompt and all that is no forward.
    """
    return expected_tokens(alpha, gamma) * target.of_tokens(1) / round_milliseconds(gamma, target, draft, passes)


def best_gamma(gain: Callable[[int], float], most: int = MAX_GAMMA) -> int:
    """The gamma up to `most` with the largest gain, of equals the smallest; 0 is plain decoding, whose gain is 1."""
    return max(range(most + 1), key=lambda gamma: (gain(gamma) if gamma else 1.0, -gamma))


def by_place(steps: Sequence[SpeculativeStep]) -> tuple[Judged, ...]:
    """Drafts judged and accepted by their depth in the tree, from 1."""
    verdicts = [(step.nodes[verdict.node].depth, verdict.accepted) for step in steps for verdict in step.verdicts]
    deepest = max((depth for depth, _ in verdicts), default=0)
    found = [[accepted for depth, accepted in verdicts if depth == place] for place in range(1, deepest + 1)]
    return tuple(Judged(len(each), sum(each)) for each in found)


def round_cost(race: Race) -> float:
    """d c + v: d passes of the draft a round, gamma in a full one, and a check v, in plain passes of this race."""
    drafts = race.counts.draft_passes / race.counts.target_passes
    return drafts * (race.draft_cost or 0.0) + race.check_cost


def predicted(race: Race) -> float:
    """tau / (d c + v): the speed-up that the passes of a race allow once the prompt is read; all else costs nothing."""
    return race.counts.tau / round_cost(race)


def timed_round(race: Race, target: ForwardTimes) -> tuple[float, float]:
    """What the drafts of a round cost and what their check costs, in plain steps.

    d c and T(1 + n) / T(1): d passes of the draft in a round of this race, on average, and n tokens drafted, to the
    nearest whole; both are gamma where all rounds are full. c is that of the race, where a round's first pass comes
    after one of the target, and so takes longer than passes in a row.
    """
    rounds = race.counts.target_passes
    drafting = race.counts.draft_passes / rounds * (race.draft_cost or 0.0)
    return drafting, target.of_tokens(1 + round(race.counts.drafted / rounds)) / target.of_tokens(1)


def _chances(alpha: Acceptance, gamma: int) -> Iterator[float]:
    """Of positions 1 to gamma."""
    listed = alpha if isinstance(alpha, Sequence) else (alpha,)
    assert listed and all(0 <= chance <= 1 for chance in listed) and gamma >= 0
    yield from (listed[min(place, len(listed) - 1)] for place in range(gamma))

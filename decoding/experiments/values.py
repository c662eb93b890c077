"""The frozen values that the sampler laboratory is drawn from. Standard library only, as `decoding.trace`.

An *item* is a place in `Law.items`, from 0; every `index`, `chosen`, `needy`, `alias`, ... below is one.
Probabilities and uniforms are in [0, 1], logits and noise in nats, times in seconds. Every number is
finite: what has no value (the logit of an item of probability 0) is None. `decoding.codec` reads and
writes all of them. Those of the cost experiment are in `cost_values`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from decoding.trace import AliasDraw, BinarySearchDraw, DirectDraw, Token


@dataclass(frozen=True, slots=True)
class Law:
    """What is drawn from: `probs[i]` of `items[i]`, in the order given; they sum to 1.

    `source`: the name of a preset, `typed`, or `model`. Typed and preset items have id 0, 1, ...; a
    model's have those of its vocabulary. `others`: the last item stands for so many tokens that
    are not listed (it is drawn, and counted, as one item); 0 where every item is itself.
    """

    source: str
    items: tuple[Token, ...]
    probs: tuple[float, ...]
    others: int = 0


@dataclass(frozen=True, slots=True)
class ScanStep:
    """The scan looks at one item, which covers [low, high) of the running sum; `passed`: uniform < high, so it stops.

    An item of probability 0 has low = high and is never stopped at.
    """

    index: int
    low: float
    high: float
    passed: bool


@dataclass(frozen=True, slots=True)
class DirectPlay:
    """`direct`, one item at a time, from the first to the one drawn, which is passed."""

    steps: tuple[ScanStep, ...]
    draw: DirectDraw
    chosen: int
    kind: Literal["direct"] = "direct"


@dataclass(frozen=True, slots=True)
class BinaryPlay:
    """`binary_search`: the steps are `draw.probes` (interval low..high, the middle probed, which way it went).

    `sums[i]`: the running sum through item i, built once.
    """

    sums: tuple[float, ...]
    draw: BinarySearchDraw
    chosen: int
    kind: Literal["binary"] = "binary"


@dataclass(frozen=True, slots=True)
class AliasStep:
    """`column`: the uniform picks column `index`; `coin`: is it below the threshold there? `item`: `index` is drawn."""

    beat: Literal["column", "coin", "item"]
    index: int


@dataclass(frozen=True, slots=True)
class AliasPlay:
    """`alias`, in three beats. `draw.columns` are all columns; `others[j]` the alias of column j (j: a full column)."""

    steps: tuple[AliasStep, ...]
    draw: AliasDraw
    others: tuple[int, ...]
    chosen: int
    kind: Literal["alias"] = "alias"


@dataclass(frozen=True, slots=True)
class NoiseStep:
    """One item's noise = -ln(-ln uniform) and score = logit + noise; `leader` has the highest score so far.

    logit = ln p. An item of probability 0 has no logit and no score; before the first score there is no leader.
    """

    index: int
    logit: float | None
    uniform: float
    noise: float
    score: float | None
    leader: int | None


@dataclass(frozen=True, slots=True)
class GumbelPlay:
    """`gumbel_max`, one item at a time: as many steps as items; the last leader is drawn."""

    steps: tuple[NoiseStep, ...]
    chosen: int
    kind: Literal["gumbel"] = "gumbel"


Play = DirectPlay | BinaryPlay | AliasPlay | GumbelPlay
"""One draw from the law on the page, slowly."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Pearson's chi-square test of counts against exact probabilities.

    `statistic` = sum (count - expected)^2 / expected over the cells; `degrees` = cells - 1; `p_value`:
    how often a right sampler is at least so far off. Items expected fewer than 5 times share one cell,
    `pooled` of them (0: none). Where an item of probability 0 was drawn, `statistic` is None and `p_value` 0;
    with one cell there is nothing to test: statistic 0, degrees 0, p_value 1.
    """

    statistic: float | None
    degrees: int
    p_value: float
    pooled: int


@dataclass(frozen=True, slots=True)
class Tally:
    """`draws` independent draws by `sampler`: item i came `counts[i]` times, exactly expected `draws * law.probs[i]`.

    `total_variation`: half the sum of |counts / draws - probs|. `sampler`: a name of `samplers.SAMPLERS`,
    or `multinomial`.
    """

    sampler: str
    law: Law
    draws: int
    counts: tuple[int, ...]
    fit: Fit
    total_variation: float


@dataclass(frozen=True, slots=True)
class ConvergenceCurve:
    """Total variation of one sampler after the first `Convergence.draws[j]` of its draws."""

    sampler: str
    total_variation: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Convergence:
    """Total variation against the number of draws, and what is expected of a right sampler.

    `expected[j]` = constant / sqrt(draws[j]) with constant = sum sqrt(p (1 - p)) / sqrt(2 pi): the mean
    total variation where each count is nearly normal. It is not fitted; below a few draws an item it is too high.
    """

    law: Law
    draws: tuple[int, ...]
    curves: tuple[ConvergenceCurve, ...]
    constant: float
    expected: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AliasState:
    """A moment of Vose's construction: k columns, each of height 1.

    `mass[i]`: what item i has left, in columns (at first k p_i). `small` and `large`: items with
    less than 1, and with 1 or more, as stacks whose last is the top. `thresholds[j]`, `aliases[j]`: column j
    once it is closed (alias j: full), None while it is open.
    """

    small: tuple[int, ...]
    large: tuple[int, ...]
    mass: tuple[float, ...]
    thresholds: tuple[float | None, ...]
    aliases: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class AliasMove:
    """Column `needy` is closed: its own item up to `threshold`, and `taken` = 1 - threshold of item `donor` above.

    `left`: what the donor has after it; below 1 it moves to the small stack (`donor_shrank`).
    """

    needy: int
    donor: int
    threshold: float
    taken: float
    left: float
    donor_shrank: bool


@dataclass(frozen=True, slots=True)
class AliasBuild:
    """`states[i]` before and `states[i + 1]` after `moves[i]`; in the last state what was left is closed.

    So there are len(moves) + 2 states. `leftover`: the columns closed at the end, full (mass 1 up to rounding).
    """

    law: Law
    moves: tuple[AliasMove, ...]
    states: tuple[AliasState, ...]
    leftover: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Frozen:
    """The same law drawn with fresh noise for each draw, and with one noise made once and kept.

    `noise[i]`: that frozen noise; with it every one of the draws is `winner`.
    """

    fresh: Tally
    frozen: Tally
    noise: tuple[float, ...]
    winner: int


@dataclass(frozen=True, slots=True)
class Order:
    """Items drawn one after the other, none twice: its exact probability, and how often it came."""

    indices: tuple[int, ...]
    prob: float
    count: int


@dataclass(frozen=True, slots=True)
class TopKDraws:
    """Gumbel-top-k: the `size` highest scores, in order, are `size` draws without replacement.

    `orders`: every one that is possible, most likely first, with prob = p_a * p_b / (1 - p_a) * ... (Plackett-Luce).
    `included[i]`: how many of the `draws` samples hold item i; `inclusion[i]`: exactly how likely that is.
    """

    law: Law
    size: int
    draws: int
    orders: tuple[Order, ...]
    included: tuple[int, ...]
    inclusion: tuple[float, ...]
    fit: Fit


@dataclass(frozen=True, slots=True)
class Runner:
    """One item in one race: it arrives at `time` = -ln(uniform) / weight; `score` = ln weight + noise = -ln time.

    So the first to arrive is the highest score. A weight of 0 never arrives: no time, no score.
    """

    weight: float
    uniform: float
    noise: float
    time: float | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Bins:
    """A histogram beside its exact law: `counts[j]` fell in [edges[j], edges[j + 1]), where `exact[j]` is expected.

    `exact` are probabilities; what lies outside the edges is in no bin.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    exact: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Race:
    """Why Gumbel-max draws from the law: exponential clocks with rates `weights`, whose sum `total` need not be 1.

    Item i is first with probability weight / total, exactly (`wins.law`), counted in `wins`. The first
    arrival is exponential with rate `total` whoever wins: `first_times` counts it; the highest score is
    Gumbel noise shifted by ln total: `best_scores` counts it. `mean_times[i]`: mean first time of the races that i won
    (None: it won none); each is 1 / total up to chance. `example`: the first race, `winner` its winner.
    """

    weights: tuple[float, ...]
    total: float
    example: tuple[Runner, ...]
    winner: int
    wins: Tally
    first_times: Bins
    best_scores: Bins
    mean_times: tuple[float | None, ...]

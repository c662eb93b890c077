"""How a token is drawn: five ways, each beside its maths, each recording the work it really did.

`direct`, `binary_search` and `alias` draw an index i with probability p_i from probabilities laid in
the order given (the caller's: most likely first); `gumbel_max` draws from the same law by logits;
`argmax` takes the top. Randomness is an argument: uniforms in [0, 1), float64. An item of
probability 0 is never drawn, even where rounding leaves the sum below a uniform close to 1.

To draw n times from k items: direct O(n k), binary search O(k + n log k), alias O(k + n),
Gumbel-max O(n k) with k fresh uniforms for each draw. `assert` guards against our own mistakes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.trace import BinarySearchDraw, DirectDraw, Probe

SAMPLERS: tuple[str, ...] = ("direct", "binary", "alias", "gumbel", "argmax")
"""The names of the samplers; they are the `kind` of the draw each leaves in a step."""

Vector = Tensor | Sequence[float]
"""(k,) numbers. A tensor is copied to a list once per draw: pass a list to draw many times."""


@dataclass(frozen=True, slots=True)
class ArgmaxWork:
    """By how much the largest logit won: the next token and the gap to it (nats), None where there is none.

    `ties`: how many tokens share the largest logit, the winner included.
    """

    runner_up: int | None
    gap: float | None
    ties: int


def argmax(logits: Tensor) -> tuple[int, ArgmaxWork]:
    """Greedy choice: the index of the largest logit (V,), the lowest id on ties.

    softmax keeps the order of the logits, so it is not needed.
    """
    index, best = _highest(logits)
    assert math.isfinite(best), "argmax of NaN or of nothing but -inf"
    others = logits.index_fill(0, torch.tensor([index], device=logits.device), -math.inf)
    runner_up, second = _highest(others)
    if second == -math.inf:
        return index, ArgmaxWork(None, None, ties=1)
    return index, ArgmaxWork(runner_up, best - second, ties=int((logits == best).sum()))


def _highest(logits: Tensor) -> tuple[int, float]:
    """Where the largest is, and it: of equals the first. By numpy, ten times as quick as torch's max on a CPU."""
    place = int(logits.numpy(force=True).argmax())
    return place, float(logits[place])


def direct(probs: Vector, uniform: float) -> tuple[int, DirectDraw]:
    """Scan for the first item whose running sum exceeds `uniform`; stops there. O(k) a draw.

    min i such that p_0 + ... + p_i > u.
    """
    total, drawn, low = 0.0, -1, 0.0
    scanned = 0
    for index, prob in enumerate(_numbers(probs)):
        scanned += 1
        if prob > 0:
            drawn, low, total = index, total, total + prob
            if uniform < total:
                return drawn, DirectDraw(uniform, scanned, low, min(total, 1.0))
    assert drawn >= 0, "no item has a probability"
    return drawn, DirectDraw(uniform, scanned, low, 1.0)  # the sum fell short of 1 by rounding


def cumulate(probs: Vector) -> Tensor:
    """The running sums (k,), float64, of `probs` (k,); exactly 1 from the last item that can be drawn. O(k)."""
    exact = torch.as_tensor(probs, dtype=torch.float64)
    sums = exact.cumsum(0)
    assert abs(float(sums[-1]) - 1) < 1e-3, "probabilities must sum to 1"
    sums[int(exact.nonzero()[-1]) :] = 1.0
    return sums


def binary_search(cumulative: Vector, uniform: float) -> tuple[int, BinarySearchDraw]:
    """Bisect the running sums of `cumulate` for the first that exceeds `uniform`. O(log k) a draw.

    The same index as `direct`; at most ceil(log2 k) probes.
    """
    low, high = 0, len(cumulative) - 1  # the answer is in low..high
    probes = []
    while low < high:
        middle = (low + high) // 2
        total = float(cumulative[middle])
        went_left = uniform < total
        probes.append(Probe(low, high, middle, total, went_left))
        if went_left:
            high = middle
        else:
            low = middle + 1
    below = float(cumulative[low - 1]) if low else 0.0
    return low, BinarySearchDraw(uniform, tuple(probes), low, below, float(cumulative[low]))


@dataclass(frozen=True, slots=True)
class AliasTable:
    """k columns of equal width 1/k: column j is item j up to `thresholds[j]` in [0, 1], `aliases[j]` above.

    A full column (threshold 1) is its own alias. `transfers`: moves made while building.
    """

    thresholds: tuple[float, ...]
    aliases: tuple[int, ...]
    transfers: int


@dataclass(frozen=True, slots=True)
class AliasPick:
    """The column that the uniform picked, and whether the coin took its alias."""

    column: int
    took_alias: bool


def build_alias(probs: Vector) -> AliasTable:
    """Vose's two-stack construction, O(k): no sorting.

    Scale to k p_i, so that the mean is 1; fill each item below 1 from one above 1.
    Vose 1991, IEEE Transactions on Software Engineering 17(9), 972-975.
    """
    given = _numbers(probs)
    size, total = len(given), math.fsum(given)
    assert abs(total - 1) < 1e-3, "probabilities must sum to 1"
    mass = [prob * size / total for prob in given]
    thresholds, aliases = [1.0] * size, list(range(size))
    small = [index for index, value in enumerate(mass) if value < 1]
    large = [index for index, value in enumerate(mass) if value >= 1]
    transfers = 0
    while small and large:
        needy, donor = small.pop(), large[-1]
        thresholds[needy], aliases[needy] = mass[needy], donor
        mass[donor] -= 1 - mass[needy]
        transfers += 1
        if mass[donor] < 1:
            small.append(large.pop())
    # What is left in either stack is 1 up to rounding: a full column. Only an item of probability 0
    # must not become one.
    for index in small:
        if given[index] == 0:
            thresholds[index], aliases[index] = 0.0, given.index(max(given))
    return AliasTable(tuple(thresholds), tuple(aliases), transfers)


def alias(table: AliasTable, uniform: float, coin: float) -> tuple[int, AliasPick]:
    """`uniform` picks a column, `coin` the item or its alias. O(1) a draw.

    Walker 1977, ACM Transactions on Mathematical Software 3(3), 253-256.
    """
    size = len(table.thresholds)
    column = min(int(uniform * size), size - 1)
    took_alias = coin >= table.thresholds[column]
    return (table.aliases[column] if took_alias else column), AliasPick(column, took_alias)


@dataclass(frozen=True, slots=True, eq=False)
class GumbelWork:
    """The Gumbel noise of each item and its score, logit + noise; float64 (k,)."""

    noise: Tensor
    scores: Tensor


def gumbel_noise(uniforms: Tensor) -> Tensor:
    """Standard Gumbel noise -ln(-ln u), float64, of uniforms in [0, 1); any shape.

    A uniform of exactly 0 counts as 2^-54, the middle of the cell it stands for among multiples of
    2^-53, and 1 as the largest below 1, so that the noise is finite: from -3.63 to 36.74.
    """
    inside = uniforms.double().clamp(2.0**-54, 1 - 2.0**-53)
    return -(-inside.log()).log()


def gumbel_max(logits: Tensor, uniforms: Tensor) -> tuple[int, GumbelWork]:
    """The index of the largest logit + Gumbel noise, logits (k,): a draw from softmax(logits). O(k) a draw.

    Each draw needs k fresh `uniforms` (k,): the same noise gives the same token for the same logits.
    Gumbel 1954; Maddison, Tarlow and Minka 2014, arXiv:1411.0030.
    """
    noise = gumbel_noise(uniforms)
    scores = logits.double() + noise
    index = int(scores.argmax())
    assert math.isfinite(float(scores[index])), "logits are NaN or nothing but -inf"
    return index, GumbelWork(noise, scores)


def _numbers(values: Vector) -> Sequence[float]:
    return values.tolist() if isinstance(values, Tensor) else values

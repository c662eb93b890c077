"""Experiments with Gumbel noise: frozen noise, drawing without replacement, and why the trick works at all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations

import torch
from torch import Tensor

from decoding.experiments.batch import draw, fresh
from decoding.experiments.laws import of_weights
from decoding.experiments.tally import fit, tally
from decoding.experiments.values import Bins, Frozen, Law, Order, Race, Runner, TopKDraws
from decoding.samplers import gumbel_max, gumbel_noise

MOST_ORDERS = 3_000
"""Most orders that are enumerated for drawing without replacement."""
BINS = 24


def frozen(law: Law, draws: int, seed: int) -> Frozen:
    """`draws` draws with fresh noise for each, and as many with the noise of the first one kept for all.

    The lecture's sampler keeps its noise; the same logits then give the same item for ever.
    """
    probs = _probs(law)
    uniforms = next(fresh(torch.Generator().manual_seed(seed), 1, len(probs)))[0]
    winner, work = gumbel_max(probs.log(), uniforms)
    return Frozen(
        fresh=tally("gumbel", law, draw("gumbel", probs, draws, seed)),
        frozen=tally("gumbel", law, torch.full((draws,), winner)),
        noise=tuple(work.noise.tolist()),
        winner=winner,
    )


def _probs(law: Law) -> Tensor:
    return torch.tensor(law.probs, dtype=torch.float64)


# --- drawing without replacement -------------------------------------------------------------------


def top_k(law: Law, size: int, draws: int, seed: int) -> TopKDraws:
    """Draw `size` items at once, `draws` times: the highest scores in order, by Gumbel-top-k.

    `size` from 1 to `largest_size(law)`. Vieira 2014; Kool, van Hoof and Welling 2019, arXiv:1903.06059.
    """
    assert 1 <= size <= largest_size(law) and draws >= 1
    exact = orders(law.probs, size)
    logits = _probs(law).log()
    counts: Counter[tuple[int, ...]] = Counter()
    for uniforms in fresh(torch.Generator().manual_seed(seed), draws, len(logits)):
        best = (logits + gumbel_noise(uniforms)).topk(size, dim=-1).indices
        counts.update(_counted(best, len(logits)))
    assert set(counts) <= set(exact)
    listed = tuple(Order(items, prob, counts[items]) for items, prob in sorted(exact.items(), key=lambda o: -o[1]))
    return TopKDraws(
        law=law,
        size=size,
        draws=draws,
        orders=listed,
        included=tuple(sum(o.count for o in listed if i in o.indices) for i in range(len(law.probs))),
        inclusion=tuple(min(1.0, math.fsum(o.prob for o in listed if i in o.indices)) for i in range(len(law.probs))),
        fit=fit([o.count for o in listed], [o.prob for o in listed]),
    )


def orders(probs: Sequence[float], size: int) -> dict[tuple[int, ...], float]:
    """Every order of `size` items and its probability, prod p_a / (1 - those before a): Plackett-Luce.

    What is left is summed from the items that are left, since 1 - p loses digits where p is near 1.
    """
    possible = [index for index, prob in enumerate(probs) if prob > 0]
    exact = {}
    for items in permutations(possible, size):
        prob, left = 1.0, possible
        for item in items:
            prob *= probs[item] / math.fsum(probs[other] for other in left)
            left = [other for other in left if other != item]
        exact[items] = prob
    return exact


def largest_size(law: Law) -> int:
    """How many items can be drawn without replacement while at most `MOST_ORDERS` orders are possible."""
    possible = sum(prob > 0 for prob in law.probs)
    size = 1
    while size < possible and math.perm(possible, size + 1) <= MOST_ORDERS:
        size += 1
    return size


def _counted(rows: Tensor, items: int) -> dict[tuple[int, ...], int]:
    """How often each row of `rows` (n, size) is there; rows are told apart as numbers in base `items`."""
    places = items ** torch.arange(rows.shape[-1])
    found, counts = (rows * places).sum(-1).unique(return_counts=True)
    listed = (found[:, None] // places % items).tolist()
    return {tuple(row): count for row, count in zip(listed, counts.tolist(), strict=True)}


# --- the race --------------------------------------------------------------------------------------


def race(weights: Sequence[float], draws: int, seed: int) -> Race:
    """Clocks that ring after exponential times with rates `weights`, `draws` times; which rings first, and when.

    P(time_i is the least) = w_i / W with W = sum w, and the least time is exponential with rate W. With
    noise -ln(-ln u), ln w_i + noise_i = -ln(time_i): the first to arrive is the highest score.
    """
    law, total = of_weights(weights), math.fsum(weights)
    rates = torch.tensor(list(weights), dtype=torch.float64)
    times, winners, example = [], [], None
    for uniforms in fresh(torch.Generator().manual_seed(seed), draws, len(rates)):
        noise = gumbel_noise(uniforms)
        arrivals = (-noise).exp() / rates  # -ln u / w; a weight of 0 never arrives
        least = arrivals.min(-1)
        times.append(least.values)
        winners.append(least.indices)
        example = example or tuple(_runners(rates, uniforms[0], noise[0], arrivals[0]))
    assert example is not None
    time, winner = torch.cat(times), torch.cat(winners)
    sums = torch.zeros_like(rates).index_add_(0, winner, time)
    wins = tally("gumbel", law, winner)
    return Race(
        weights=tuple(map(float, weights)),
        total=total,
        example=example,
        winner=int(winner[0]),
        wins=wins,
        first_times=_first(time, total),
        best_scores=_best(-time.log(), total),
        mean_times=tuple(s / n if n else None for s, n in zip(sums.tolist(), wins.counts, strict=True)),
    )


def _runners(rates: Tensor, uniforms: Tensor, noise: Tensor, arrivals: Tensor) -> Iterator[Runner]:
    scores = rates.log() + noise
    columns: list[list[float]] = [column.tolist() for column in (rates, uniforms, noise, arrivals, scores)]
    for weight, uniform, shift, time, score in zip(*columns, strict=True):
        runs = weight > 0
        yield Runner(weight, uniform, shift, time if runs else None, score if runs else None)


def _first(time: Tensor, total: float) -> Bins:
    """The first arrival: P(time < t) = 1 - exp(-W t)."""
    edges = torch.linspace(0, 6, BINS + 1, dtype=torch.float64) / total
    return _bins(time, edges, -(-total * edges).expm1())


def _best(score: Tensor, total: float) -> Bins:
    """The highest score: P(score < s) = exp(-W exp(-s)), Gumbel noise shifted by ln W."""
    edges = torch.linspace(-2, 6, BINS + 1, dtype=torch.float64) + math.log(total)
    return _bins(score, edges, (-total * (-edges).exp()).exp())


def _bins(values: Tensor, edges: Tensor, below: Tensor) -> Bins:
    """`below` (bins + 1,): the exact probability of a value below each edge."""
    place = torch.searchsorted(edges, values, right=True)  # 0: below all edges
    counts = torch.bincount(place, minlength=len(edges) + 1)[1:-1]
    return Bins(tuple(edges.tolist()), tuple(counts.tolist()), tuple(below.diff().tolist()))

"""Stochastic beam search: a beam that is a sample of texts without replacement, by Gumbel-top-k.

A text's log-probability phi plus Gumbel noise is its perturbed score G; the k highest of all texts are k draws
without replacement. The texts below a node have their maximum at that node's own G, so a search from the root that
perturbs only the children of the k best nodes finds the same k. Scores are in nats; randomness is an argument.

Kool, van Hoof and Welling 2019, Stochastic Beams and Where to Find Them, arXiv:1903.06059.
"""

from __future__ import annotations

import math

from torch import Tensor

from decoding.samplers import gumbel_noise


def gumbel_top_k(logprobs: Tensor, k: int, uniforms: Tensor) -> tuple[Tensor, Tensor]:
    """`k` items drawn without replacement: indices (k,) in the order drawn, and their scores (k,), highest first.

    The k highest logprob + Gumbel noise, `logprobs` (n,) in nats, normalised or not, with fresh `uniforms` (n,).
    P(i_1, ..., i_k) = prod_j p_ij / (1 - p_i1 - ... - p_ij-1). An item at -inf is never drawn: there are fewer than
    k where fewer can be. Vieira 2014; Kool et al. 2019, section 2.3.
    """
    scores = logprobs.double() + gumbel_noise(uniforms)
    order = scores.argsort(descending=True, stable=True)[:k]
    order = order[scores[order] > -math.inf]
    return order, scores[order]


def conditional_gumbels(logprobs: Tensor, parent_score: float, uniforms: Tensor) -> Tensor:
    """Perturbed scores (n,), float64, of a node's children, given that their maximum is `parent_score`.

    `logprobs` (n,): the children's phi, nats, summed from the root; a child at -inf stays there. With fresh
    `uniforms` (n,), G_i = phi_i + Gumbel noise, Z = max G and T = `parent_score` (finite):

        G'_i = -ln(exp(-T) - exp(-Z) + exp(-G_i))

    computed as v_i = T - G_i + ln(1 - exp(G_i - Z)), G'_i = T - max(0, v_i) - ln(1 + exp(-|v_i|)), which neither
    overflows nor cancels. Kool et al. 2019, section 4.1 and appendix B.3.
    """
    scores = logprobs.double() + gumbel_noise(uniforms)
    if bool(scores.max() == -math.inf):
        return scores
    below = parent_score - scores + (-(scores - scores.max()).expm1()).log()
    return parent_score - below.clamp(min=0) - (-below.abs()).exp().log1p()

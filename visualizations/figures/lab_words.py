"""Sentences that several pictures of the laboratory share: what a chi-square test says, in plain words."""

from __future__ import annotations

from decoding.experiments.values import Fit
from visualizations.figures.style import View, number


def in_runs(p_value: float, view: View) -> str:
    """`in 43 of 100 runs`: how often a fair sampler is at least so far off."""
    if p_value >= 0.995:
        return view.text("lab.runs.nearly_all")
    for runs in (100, 10_000):
        if p_value * runs >= 0.95:
            return view.text("lab.runs.some", count=round(p_value * runs), runs=number(runs))
    return view.text("lab.runs.fewer", runs=number(10_000))


def fit_sentences(fit: Fit, view: View, pooled: str = "lab.fit.pooled") -> list[str]:
    """The test in plain words, and what was counted as one; `pooled` is the key of the words for that."""
    if fit.statistic is None:
        return [view.text("lab.fit.impossible")]
    if not fit.degrees:
        return [view.text("lab.fit.nothing")]
    key = "lab.fit.doubt" if fit.p_value < 0.001 else "lab.fit.fair"
    sentences = [
        view.text(key, runs=in_runs(fit.p_value, view), statistic=f"{fit.statistic:,.1f}", degrees=fit.degrees)
    ]
    if fit.pooled > 1:
        sentences.append(view.text(pooled, pooled=number(fit.pooled)))
    return sentences

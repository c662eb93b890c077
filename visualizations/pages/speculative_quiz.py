"""Quiz cards about a run of speculative decoding: passes saved, what would have been accepted, a perfect draft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from decoding.speculative.counts import Counts, counts
from decoding.trace import SpeculativeStep, Token, Verdict
from visualizations.figures.spec_chips import chips
from visualizations.figures.spec_sheet import says
from visualizations.figures.style import number, quoted
from visualizations.lab import Lab
from visualizations.quiz import Card, Question
from visualizations.runs import Run
from visualizations.text import Text

TABLE = "toy:lecture"
APART = 0.005
"""Least distance of two choices, so that three decimals tell them apart."""


def cards(lab: Lab, run: Run, lesson: str) -> list[Card]:
    """Questions about this run, or about the recorded one where it has nothing to ask."""
    found: list[Card] = []
    for steps in (run.rounds(), lab.lesson(lesson).rounds()):
        made = counts(steps)
        if not found and made.emitted > made.target_passes > 0:
            found.append(passes(made))
    for steps in (run.rounds(), lab.lesson(lesson).rounds()):
        asked = next(rejections(steps), None) if len(found) < 2 else None
        if asked is not None:
            found.append(needed(*asked))
    return [*found, perfect]


def passes(made: Counts) -> Card:
    """How many passes the same text takes without drafts."""

    def card(text: Text) -> Question:
        right = made.emitted
        values = sorted({made.target_passes, right, made.emitted + made.target_passes, 2 * right})
        asked = text("quiz.spec_passes", tokens=number(right), rounds=number(made.target_passes))
        because = text("quiz.spec_passes_because", tokens=number(right), tau=f"{made.tau:.2f}")
        return Question(asked, tuple(map(number, values)), values.index(right), because)

    return card


def rejections(steps: Sequence[SpeculativeStep]) -> Iterator[tuple[int, Token, Verdict, float]]:
    """Round, token, verdict and uniform of drafts that the lossless rule rejected and that make a fair question."""
    for index, step in enumerate(steps):
        for chip in chips(step):
            verdict = chip.verdict
            if chip.fate != "rejected" or verdict is None or verdict.uniform is None or verdict.rule != "lossless":
                continue
            values = sorted(offered(verdict, verdict.uniform))
            if all(high - low >= APART for low, high in pairwise([0.0, *values])):
                yield index, chip.token, verdict, verdict.uniform


def offered(verdict: Verdict, u: float) -> tuple[float, float, float, float]:
    """The right p, u q, and three other numbers of the verdict."""
    return u * verdict.draft_prob, verdict.target_prob, verdict.draft_prob, u


def needed(index: int, token: Token, verdict: Verdict, u: float) -> Card:
    """From which p on a rejected token would have been accepted."""

    def card(text: Text) -> Question:
        right = u * verdict.draft_prob
        values = sorted(offered(verdict, u))
        q = f"{verdict.draft_prob:.3f}"
        because = text(
            "quiz.spec_needed_because", u=f"{u:.3f}", q=q, needed=f"{right:.3f}", p=says("p", verdict.target_prob)
        )
        asked = text("quiz.spec_needed", round=index + 1, token=quoted(token.text), q=f"q = {q}", u=f"{u:.3f}")
        return Question(asked, tuple(f"{value:.3f}" for value in values), values.index(right), because)

    return card


@lru_cache(1)
def _oracle() -> Counts:
    """The target drafts for itself, on the lecture's table."""
    from decoding import api

    model = api.load(TABLE)
    settings = api.speculative_settings(drafter="oracle", gamma=3, max_new_tokens=4)
    steps = [step for seed in range(5) for step in api.decode(model, "", settings, seed).steps]
    return counts([step for step in steps if isinstance(step, SpeculativeStep)])


def perfect(text: Text) -> Question:
    """How many drafts are accepted where draft and target are the same."""
    made = _oracle()
    share = made.acceptance or 0.0
    choices = ("50 %", "90 %", "100 %")
    answer = min(range(3), key=lambda i: abs((0.5, 0.9, 1.0)[i] - share))
    because = text("quiz.spec_identical_because", accepted=made.accepted, judged=made.judged)
    return Question(text("quiz.spec_identical"), choices, answer, because)

"""Beam search in sixteen lines of pseudo-code; those that the lecture's version lacks are marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from visualizations.figures.style import View

Phase = Literal["expand", "score", "prune", "select", "finish", "stop"]
"""What a search does at a depth, in this order."""


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line: its `number` from 1, its `text`, a `comment` in the reader's language, whether the lecture lacks it.

    Plain text, nothing escaped: a page writes it as text, never as HTML.
    """

    number: int
    text: str
    comment: str
    missing: bool


_LINES: tuple[tuple[str, str, bool], ...] = (
    ("beams, finished = [(prompt, 0.0)], []", "pseudo.start", False),
    ("for depth in 1 .. max_depth:", "", False),
    ("    queue = PriorityQueue()", "pseudo.queue", False),
    ("    for sequence, score in beams:", "", False),
    ("        for token, p in model(sequence):", "pseudo.expand", False),
    ("            queue.add(sequence + token, score + ln p)", "pseudo.score", False),
    ("    queue.drop(rules)", "pseudo.prune", False),
    ("    new = []", "", False),
    ("    for rank, (sequence, score) in queue.best_first():", "pseudo.select", False),
    ("        if sequence ends in END and rank <= width:", "pseudo.end", True),
    ("            finished.add(sequence, score / length ^ penalty)", "pseudo.finish", False),
    ("        elif it goes on and len(new) < width:", "", False),
    ("            new.add(sequence, score)", "pseudo.keep", False),
    ("    beams = new", "pseudo.assign", True),
    ("    if no beam can still beat finished: break", "pseudo.stop", False),
    ("return best(finished + beams)", "pseudo.answer", False),
)

_LIT: dict[Phase, tuple[int, ...]] = {
    "expand": (4, 5),
    "score": (6,),
    "prune": (7,),
    "select": (9, 12, 13, 14),
    "finish": (10, 11),
    "stop": (15, 16),
}


def code(view: View) -> tuple[CodeLine, ...]:
    """The lines in the reader's language."""
    rows = enumerate(_LINES, start=1)
    return tuple(CodeLine(n, text, view.text(key) if key else "", missing) for n, (text, key, missing) in rows)


def lit(phase: Phase) -> tuple[int, ...]:
    """The numbers of the lines that are at work in a phase."""
    return _LIT[phase]

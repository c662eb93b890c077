"""The tokens of a round in the order of the timeline: what became of each, and who wrote what stayed.

First the drafts that were looked at, then what the target added, then the drafts that nobody looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from decoding.speculative.counts import counts
from decoding.trace import Addition, DraftNode, SpeculativeStep, Token, Verdict
from visualizations.figures.style import View, number, percent, quoted, running_text, visible
from visualizations.figures.words import caption, spaced

Fate = Literal["accepted", "rejected", "redrawn", "bonus", "plain", "unread"]
"""Of a chip; `plain`: the target's own token in a round without a draft; `unread`: drafted, never looked at."""

MARKS: dict[Fate, str] = {
    "accepted": "✓",
    "rejected": "✗",
    "redrawn": "↺",
    "bonus": "+",
    "plain": "+",
    "unread": "–",
}
LOSSY = frozenset({"top_k", "typical"})
"""Rules after which the text no longer follows the target's law."""
HALF_SHOWN = "⟨"
"""How bytes that are no whole character begin when they are shown."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One token of a round's row: a draft (`node`, with its `verdict` where there is one) or what was `added`."""

    fate: Fate
    token: Token
    node: DraftNode | None = None
    verdict: Verdict | None = None
    added: Addition | None = None


def chips(step: SpeculativeStep) -> tuple[Chip, ...]:
    """The chips of one round."""
    nodes = {node.id: node for node in step.nodes}
    judged = [
        Chip("accepted" if v.accepted else "rejected", nodes[v.node].token, nodes[v.node], v) for v in step.verdicts
    ]
    looked_at = {verdict.node for verdict in step.verdicts}
    unread = [Chip("unread", node.token, node) for node in step.nodes if node.id not in looked_at]
    added = [Chip(added_fate(step), step.added.token, added=step.added)] if step.added else []
    return (*judged, *added, *unread)


def added_fate(step: SpeculativeStep) -> Fate:
    """What the token added by the target is."""
    if step.ending == "recovered":
        return "redrawn"
    return "bonus" if step.nodes else "plain"


def telling(step: SpeculativeStep) -> int:
    """The chip whose verdict is shown unless another is chosen: the rejected one, what was added, or the first."""
    fates = [chip.fate for chip in chips(step)]
    return next((i for fate in ("rejected", "bonus", "plain") for i, f in enumerate(fates) if f == fate), 0)


def rounds(steps: Sequence[SpeculativeStep], view: View, chosen: tuple[int, int]) -> dict[str, Any]:
    """The rows of the timeline as plain values; `chosen`: the round (from 0) and the chip whose verdict is shown."""
    rows = [_row(step, index, view) for index, step in enumerate(steps)]
    return {"rows": rows, "chosen": list(chosen), "label": view.text("spec.timeline")}


def _row(step: SpeculativeStep, index: int, view: View) -> dict[str, Any]:
    made = chips(step)
    return {
        "label": view.text("spec.round", round=index + 1),
        "chips": [_chip(chip, index, view) for chip in made],
        "note": _note(step, view),
    }


def _chip(chip: Chip, index: int, view: View) -> dict[str, str]:
    depth = chip.node.depth if chip.node else 0
    where = view.text("spec.chip_draft" if chip.node else "spec.chip_target", round=index + 1, draft=depth)
    word = view.text(f"spec.fate.{chip.fate}")
    return {
        "text": visible(chip.token.text) or "⟨⟩",
        "fate": chip.fate,
        "mark": MARKS[chip.fate],
        "word": word,
        "label": view.text("spec.chip", where=where, token=quoted(chip.token.text), fate=word),
    }


def _note(step: SpeculativeStep, view: View) -> str:
    """What the round came to, in a line."""
    if step.nodes:
        values = {"accepted": sum(v.accepted for v in step.verdicts), "drafted": len(step.nodes)}
        said = view.text("spec.note", tokens=len(step.emitted), **values)
    else:
        said = view.text("spec.note_plain", tokens=len(step.emitted))
    more = {"eos": "spec.note_eos", "length": "spec.note_length"}.get(step.ending)
    return said + (view.text(more) if more else "")


def rounds_caption(steps: Sequence[SpeculativeStep], view: View, rule: str) -> dict[str, str]:
    """How many tokens so many rounds wrote, and what a row is; a lossy rule is called so."""
    made = counts(steps)
    title = view.text("spec.title", tokens=number(made.emitted), rounds=number(made.target_passes))
    said = caption(title, [view.text("spec.title_text"), view.text("spec.lossy") if rule in LOSSY else ""], view)
    return {"title": said["title"], "text": said["text"]}


def rule_of(steps: Sequence[SpeculativeStep]) -> str:
    """The rule that judged; empty where nothing was judged."""
    return next((verdict.rule for step in steps for verdict in step.verdicts), "")


def written(steps: Sequence[SpeculativeStep], view: View, before: str = "", joiner: str = "") -> dict[str, Any]:
    """The new text in pieces by who wrote them, and the key; tokens that make one character together are one piece."""
    pieces: list[dict[str, str]] = []
    tallies: dict[Fate, int] = {}
    pending: list[Token] = []
    for token, fate in writers(steps):
        tallies[fate] = tallies.get(fate, 0) + 1
        pending.append(token)
        text = running_text(pending)
        if token.data is None or HALF_SHOWN not in text:
            pieces.append(_piece(text, fate, joiner if pieces or before else ""))
            pending = []
    if pending:
        pieces.append(_piece(running_text(pending), fate, ""))
    key = [
        {"by": fate, "mark": MARKS[fate], "words": view.text(f"spec.writer.{fate}", count=number(tallies[fate]))}
        for fate in ("accepted", "redrawn", "bonus", "plain")
        if fate in tallies
    ]
    return {"before": before, "pieces": pieces, "key": key}


def writers(steps: Sequence[SpeculativeStep]) -> list[tuple[Token, Fate]]:
    """Every new token with the fate of the chip that it comes from."""
    found: list[tuple[Token, Fate]] = []
    for step in steps:
        accepted = sum(verdict.accepted for verdict in step.verdicts)
        fates = ["accepted"] * accepted + [added_fate(step)] * (len(step.emitted) - accepted)
        found += zip(step.emitted, fates, strict=True)
    return found


def _piece(text: str, fate: Fate, joiner: str) -> dict[str, str]:
    whole = joiner + text.replace("\n", "↵\n")
    said = whole.lstrip(" ")
    return {"before": whole[: len(whole) - len(said)], "text": said, "by": fate, "mark": MARKS[fate]}


def written_caption(steps: Sequence[SpeculativeStep], view: View) -> dict[str, str]:
    """Which share of the text the draft wrote."""
    made = counts(steps)
    share = made.accepted / made.emitted if made.emitted else 0.0
    said = caption(view.text("spec.written", share=percent(share)), [view.text("spec.written_text")], view)
    return {"title": spaced(said["title"]), "text": said["text"]}

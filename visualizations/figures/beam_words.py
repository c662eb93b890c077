"""What the pictures of a beam search say of a candidate: its number, why it was cut, and all that is known of it."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from decoding.trace import BeamNode, Cut
from visualizations.figures.beam_layout import Family
from visualizations.figures.rules import token_lines
from visualizations.figures.style import (
    SMALL,
    View,
    apart,
    cells,
    decimal,
    literal,
    number,
    percent_label,
    running_text,
    short,
    text_px,
    visible,
)

Unit = Literal["prob", "nats", "score"]
"""What the number beside a token is: the probability of the whole text, its logarithm, or the score it is ranked by."""

LEAST_PROB = 0.005
"""Where every text that goes on is at least as probable as this, numbers are probabilities, else nats."""

RULES: dict[str, tuple[str, str, str]] = {
    "width": ("tree.rule.width", "tree.rule.width", "tree.rule.width_long"),
    "relative_threshold": ("tree.rule.relative", "tree.rule.relative", "tree.rule.relative_long"),
    "absolute_threshold": ("tree.rule.absolute", "tree.rule.absolute_tight", "tree.rule.absolute_long"),
    "relative_local_threshold": ("tree.rule.local", "tree.rule.local", "tree.rule.local_long"),
    "max_per_parent": ("tree.rule.parent", "tree.rule.parent", "tree.rule.parent_long"),
    "late_end": ("tree.rule.late", "tree.rule.late_tight", "tree.rule.late_long"),
    "worse_finish": ("tree.rule.worse", "tree.rule.worse_tight", "tree.rule.worse_long"),
    "not_drawn": ("tree.rule.draw", "tree.rule.draw_tight", "tree.rule.draw_long"),
    "notes_relative": ("tree.rule.notes", "tree.rule.notes", "tree.rule.notes_long"),
}
"""The rules' names: in a label, in a label without room, in a sentence; another rule goes by its own name."""
LABEL, TIGHT, LONG = 0, 1, 2

RATIOS = frozenset({"relative_threshold", "relative_local_threshold"})
COUNTS = frozenset({"max_per_parent"})
RANKED = frozenset({"width", "late_end"})
"""Rules by unit: a ratio of probabilities, a count, a score that is the log-probability unless it was perturbed."""

_EMS = {
    **dict.fromkeys(" .,:;'!|’", 0.33),
    **dict.fromkeys("ijl", 0.29),
    **dict.fromkeys("frt()-·“”", 0.43),
    **dict.fromkeys("−+<>=≤≥≈✕wM", 0.85),
    **dict.fromkeys("m…%", 1.0),
    **dict.fromkeys("ABCDEFGHKNOPQRSTUVWXYZ■▸▴", 0.78),
}


@lru_cache(maxsize=4096)
def label_px(text: str, size: int = SMALL) -> float:
    """Upper estimate of the width of words and numbers, px: as wide as the widest of the common sans fonts."""
    ems = sum(_EMS.get(c, 0.64) for c in text)
    return max(size * (ems + 0.4 * max(0, cells(text) - len(text))), text_px(text, size))


def unit_of(tree: Family) -> Unit:
    """One unit for the whole picture: the score where something was added to a log-probability."""
    if not all(map(plain_score, tree.nodes.values())):
        return "score"
    kept = [node.logprob for node in tree.nodes.values() if node.fate != "pruned"]
    return "prob" if min(kept, default=0.0) >= math.log(LEAST_PROB) - 1e-9 else "nats"


def plain_score(node: BeamNode) -> bool:
    """Whether it was ranked by its log-probability and nothing else."""
    return abs(node.score - node.logprob) < 1e-9


def amount(node: BeamNode, unit: Unit) -> str:
    """The number beside a token. Not escaped."""
    return share(chance(node)) if unit == "prob" else decimal(node.logprob if unit == "nats" else node.score)


def chance(node: BeamNode) -> float:
    """The probability of the whole text."""
    return math.exp(node.logprob)


def share(prob: float, digits: int = 3) -> str:
    """0.4, 0.096, 0.0016; to so many significant digits. Not escaped."""
    if 0 < prob < 0.0001:
        return "<0.0001"
    text = f"{prob:.{digits}g}"
    return f"{prob:.6f}" if "e" in text else text


def rule_name(rule: str, view: View, form: int = LABEL) -> str:
    """`width`, or `the beam width` in the form LONG, in the reader's language. Not escaped."""
    keys = RULES.get(rule)
    return view.text(keys[form]) if keys else short(rule.replace("_", " "), 24)


def written(cut: Cut, unit: Unit, digits: int | None = None) -> tuple[str, str, str]:
    """Value and threshold in the rule's unit, with the digits it takes to tell them apart, and how they stand.

    At most so many `digits`, where given; values that then look alike are ≈. Not escaped.
    """
    value, threshold, sign = cut.value, cut.threshold, _relation(cut)
    if cut.rule in COUNTS:
        return number(round(value)), number(round(threshold)), sign
    if cut.rule in RATIOS or (cut.rule in RANKED and unit == "prob"):
        if cut.rule in RANKED:
            value, threshold = math.exp(value), math.exp(threshold)
        for more in range(min(3, digits or 3), 1 + (digits or 6)):
            pair = share(value, more), share(threshold, more)
            if pair[0] != pair[1]:
                break
    else:
        needed = 2 if value == threshold else apart(value, threshold)
        more = needed if digits is None else min(digits, needed)
        pair = decimal(value, more), decimal(threshold, more)
    return *pair, "≈" if pair[0] == pair[1] and sign in "<>" else sign


def _relation(cut: Cut) -> str:
    """How value and threshold stand to each other; at a threshold of the paper is cut too."""
    if cut.rule in RATIOS or cut.rule == "absolute_threshold":
        return "≤"
    return "<" if cut.value < cut.threshold else ">" if cut.value > cut.threshold else "="


def reason(node: BeamNode, unit: Unit, view: View, room: float = math.inf) -> str:
    """`✕ width: 0.048 < 0.08`, with a shorter name and fewer digits where it has no room. Not escaped."""
    cut = node.rule
    if cut is None:
        return view.text("tree.cut_plain")

    def line(name: str, digits: int | None) -> str:
        value, threshold, sign = written(cut, unit, digits)
        return view.text("tree.cut", rule=name, value=value, relation=sign, threshold=threshold)

    lines = [line(name, digits) for name, digits in _forms(cut, view)]
    found = next((words for words in lines if label_px(words) <= room), "")
    return found or fit(line(fit(rule_name(cut.rule, view, TIGHT), room - label_px(line("", 2))), 2), room)


def reason_lines(node: BeamNode, unit: Unit, view: View, room: float) -> list[str]:
    """The same in one line or two (`✕ −5.12 <` and `width −4.80`). Not escaped."""
    cut = node.rule
    whole = reason(node, unit, view)
    if cut is None or label_px(whole) <= room:
        return [whole]
    for name, digits in _forms(cut, view):
        value, threshold, sign = written(cut, unit, digits)
        lines = [f"✕ {value} {sign}", f"{name} {threshold}"]
        if max(map(label_px, lines)) <= room:
            return lines
    value, threshold, sign = written(cut, unit, 2)
    name = fit(rule_name(cut.rule, view, TIGHT), room - label_px(f" {threshold}"))
    return [fit(f"✕ {value} {sign}", room), fit(f"{name} {threshold}", room)]


def _forms(cut: Cut, view: View) -> list[tuple[str, int | None]]:
    """Name and digits of a reason, as it grows shorter."""
    full, tight = rule_name(cut.rule, view), rule_name(cut.rule, view, TIGHT)
    return [(full, None), (tight, None), *((tight, digits) for digits in (4, 3, 2, 1))]


def cut_line(nodes: Sequence[BeamNode], unit: Unit, view: View, plain: bool = False) -> list[str]:
    """The threshold at which one rule cut these nodes, in words that grow shorter; `plain`: as an inequality.

    Not escaped.
    """
    cuts = [node.rule for node in nodes if node.rule is not None]
    rule = cuts[0].rule
    names = [rule_name(rule, view), rule_name(rule, view, TIGHT)]
    if max(c.threshold for c in cuts) - min(c.threshold for c in cuts) > 1e-9:
        return [f"✕ {name}" for name in names]
    _, threshold, sign = written(cuts[0], unit, 2)
    if rule == "width" and not plain:
        full = view.text("tree.line", rule=names[0], threshold=threshold)
        return [full, view.text("tree.line_short", threshold=threshold)]
    return [view.text("tree.line_rule", rule=name, relation=sign, threshold=threshold) for name in names]


def fit(text: str, room: float, size: int = SMALL) -> str:
    """The text, shortened until it fits."""
    limit = cells(text)
    while limit > 1 and label_px(text, size) > room:
        limit -= 1
        text = short(text, limit)
    return text


def first_fit(variants: Sequence[str], room: float) -> str:
    """The first of these words that has room; the last one shortened where none has."""
    return next((words for words in variants if label_px(words) <= room), fit(variants[-1], room))


def ending(tree: Family, node: BeamNode) -> str:
    """The length-normalised score of a finished text."""
    return decimal(tree.scores[node.id]) if node.id in tree.scores else "–"


def ends(tree: Family, node: BeamNode, view: View) -> list[str]:
    """A finished text's length-normalised score, in words that grow shorter. Not escaped."""
    score = ending(tree, node)
    return [view.text(key, score=score) for key in ("tree.end", "tree.end_short")] + [f"■ {score}"]


def counts(nodes: Sequence[BeamNode], view: View) -> list[str]:
    """`2 go on`, `1 ends`."""
    words = []
    for fate, one, many in (("kept", "tree.on_one", "tree.on"), ("finished", "tree.ends_one", "tree.ends")):
        if count := sum(node.fate == fate for node in nodes):
            words.append(view.text(one if count == 1 else many, count=number(count)))
    return words


def by_rule(nodes: Sequence[BeamNode]) -> list[list[BeamNode]]:
    """The nodes that each rule cut, those of the rule that cut most first."""
    found: dict[str, list[BeamNode]] = {}
    for node in nodes:
        if node.fate == "pruned" and node.rule is not None:
            found.setdefault(node.rule.rule, []).append(node)
    return sorted(found.values(), key=len, reverse=True)


def fate_words(tree: Family, node: BeamNode, view: View) -> str:
    """What became of a candidate, in a sentence that is safe for Plotly."""
    text = view.text
    if node.fate == "kept":
        return text("tree.hover.kept")
    if node.fate == "finished":
        return text("tree.hover.finished", score=ending(tree, node))
    cut = node.rule
    if cut is None:
        return text("tree.hover.cut_plain")
    value, threshold, sign = map(literal, written(cut, "nats"))
    nats = cut.rule == "absolute_threshold" or (cut.rule in RANKED and plain_score(node))
    key = "tree.hover.cut_nats" if nats else "tree.hover.cut"
    name = literal(rule_name(cut.rule, view, LONG))
    return text(key, rule=name, value=value, relation=sign, threshold=threshold)


def hover(tree: Family, node: BeamNode, view: View, judged: bool = True) -> str:
    """Everything known about a candidate: token, id, its probabilities, score, rank, and what became of it."""
    text = view.text
    depth = tree.depths[node.id]
    values = {
        "own": percent_label(node.prob),
        "logprob": decimal(node.logprob, 4),
        "prob": percent_label(chance(node)),
        "rank": number(tree.ranks[node.id]),
        "total": number(tree.steps[depth].considered),
        "depth": depth + 1,
    }
    lines = [*token_lines(node.token, view), text("tree.hover.node", **values)]
    if not plain_score(node):
        lines.append(text("tree.hover.score", score=decimal(node.score, 4)))
    if tree.grouped:
        lines.append(text("tree.hover.group", group=node.group + 1))
    lines.append(fate_words(tree, node, view) if judged else text("tree.hover.open"))
    return "<br>".join(lines)


def joined(nodes: Sequence[BeamNode], joiner: str = "") -> str:
    """The text that these tokens make; `joiner` stands between words of a table."""
    return running_text([node.token for node in nodes], joiner)


def in_quotes(text: str, limit: int = 48) -> str:
    """A text inside a sentence of the page (nothing is escaped), its beginning cut off if long."""
    text = visible(text.strip(" ")) or "⟨⟩"
    return f"“{tail(text, limit)}”"


def tail(text: str, limit: int) -> str:
    """The end of a text in at most `limit` columns; what is cut off is marked with …"""
    if cells(text) <= limit:
        return text
    while text and (cells(text) > limit - 1 or _joins(text[0])):
        text = text[1:]
    return f"…{text}" if limit > 0 else ""


def _joins(character: str) -> bool:
    """Whether it is drawn on the character before it."""
    return unicodedata.combining(character) != 0 or character in "\u200d\ufe0f"

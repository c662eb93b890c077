"""Why a chip is what it is: the two laws at its place, the rule's bar, and what was drawn instead."""

from __future__ import annotations

import re

from decoding.trace import Addition, SpeculativeStep, Token, Verdict
from visualizations.figures import spec_coin
from visualizations.figures.spec_chips import LOSSY, Chip, chips
from visualizations.figures.spec_coin import told
from visualizations.figures.spec_sheet import Pair, Role, Sheet, chance, says
from visualizations.figures.style import Figure, View, number, quoted
from visualizations.figures.words import Caption, caption

EQUATION = re.compile(r"(?<=[pqu)]) ([=<>]) (?=[\d<>])")
"""What must not break: the signs of `p = 0.31`, `q < 0.0001`, `min(1, p/q) = 0.29`."""
MOST_PAIRS = 4
"""Most tokens with a pair of bars of their own."""
ROLES: dict[str, Role] = {"redrawn": "redrawn", "bonus": "bonus", "plain": "kept"}


def verdict(step: SpeculativeStep, index: int, view: View) -> Figure | None:
    """The picture of chip `index` of a round; None for a draft that nobody looked at."""
    chip = chips(step)[index]
    sheet = Sheet(view)
    if chip.verdict is not None:
        instead = step.added if chip.fate == "rejected" else None
        _judged(sheet, chip.verdict, chip.token, instead)
        if instead is not None:
            sheet.gap(6)
            _added(sheet, step, "redrawn")
        return sheet.figure()
    if chip.added is not None:
        _added(sheet, step, ROLES[chip.fate])
        return sheet.figure()
    return None


def _judged(sheet: Sheet, judged: Verdict, token: Token, instead: Addition | None) -> None:
    """p and q of the tokens that mattered most there, then the rule's bar."""
    sheet.pairs(pairs(judged, token, None if instead is None else instead.token), token.id)
    sheet.gap(8)
    spec_coin.bar(sheet, judged, None if instead is None else instead.uniform)


def pairs(judged: Verdict, token: Token, instead: Token | None = None, most: int = MOST_PAIRS) -> list[Pair]:
    """The drafted token, what the target drew itself, then the likeliest in either law; the rest as one."""
    draft = {c.token.id: c.prob for c in judged.draft.top}
    target = {c.token.id: c.prob for c in judged.target.top}
    tokens = {c.token.id: c.token for c in (*judged.draft.top, *judged.target.top)}
    higher = {id: max(target.get(id, 0.0), draft.get(id, 0.0)) for id in tokens}
    first = [each.id for each in (token, judged.drawn, instead) if each is not None]
    order = dict.fromkeys([*first, *sorted(tokens, key=lambda id: (-higher[id], id))])
    able = [id for id in order if id in tokens and (id in first or higher[id] > 0)]
    shown = [Pair(tokens[id], target.get(id, 0.0), draft.get(id, 0.0)) for id in able[:most]]
    rest = Pair(None, 1 - sum(pair.target_prob for pair in shown), 1 - sum(pair.draft_prob for pair in shown))
    return [*shown, rest] if max(rest.target_prob, rest.draft_prob) > 5e-5 else shown


def _added(sheet: Sheet, step: SpeculativeStep, role: Role) -> None:
    """The law from which the target drew what it added, and the token drawn."""
    added = step.added
    assert added is not None
    rule = step.verdicts[-1].rule if step.verdicts else ""
    residual = role == "redrawn" and rule == "lossless"
    words = sheet.view.text("spec.from_residual" if residual else "spec.from_target")
    sheet.heading(words)
    sheet.law(added.law, added.token, role)


def verdict_caption(step: SpeculativeStep, index: int, view: View) -> Caption:
    """What happened to this token, with its numbers, before the rule."""
    chip = chips(step)[index]
    if chip.verdict is not None:
        key = "spec.why_accepted" if chip.verdict.accepted else "spec.why_rejected"
        parts = _judged_parts(step, chip, chip.verdict, view)
    elif chip.added is not None:
        key, parts = "spec.why_added", _added_parts(step, chip, view)
    else:
        key, parts = "spec.why_unread", _unread_parts(step, chip, view)
    return caption(
        view.text(key, token=quoted(chip.token.text)), [EQUATION.sub("\u00a0\\1\u00a0", p) for p in parts], view
    )


def _judged_parts(step: SpeculativeStep, chip: Chip, judged: Verdict, view: View) -> list[str]:
    parts = {
        "lossless": _lossless_parts,
        "exact": _exact_parts,
        "top_k": _rank_parts,
        "typical": _typical_parts,
    }[judged.rule](judged, view)
    if chip.fate == "rejected" and step.added is not None:
        token = quoted(step.added.token.text)
        key = {"lossless": "spec.then_residual", "exact": "spec.then_own"}.get(judged.rule, "spec.then_target")
        parts.append(view.text(key, token=token))
    if judged.rule in LOSSY:
        parts.append(view.text("spec.lossy"))
    return parts


def _lossless_parts(judged: Verdict, view: View) -> list[str]:
    p, q = says("p", judged.target_prob), says("q", judged.draft_prob)
    border = 1.0 if judged.threshold is None else judged.threshold
    if judged.target_prob <= 0:
        return [view.text("spec.lossless_zero", q=q)]
    if border >= 1:
        return [view.text("spec.lossless_always", p=p, q=q)]
    key = "spec.lossless_accepted" if judged.accepted else "spec.lossless_rejected"
    u = judged.uniform if judged.uniform is not None else 0.0
    return [view.text("spec.lossless_odds", p=p, q=q), view.text(key, odds=told(border, u), u=told(u, border))]


def _exact_parts(judged: Verdict, view: View) -> list[str]:
    p = says("p", judged.target_prob)
    drawn = quoted(judged.drawn.text) if judged.drawn else ""
    key = "spec.exact_accepted" if judged.accepted else "spec.exact_rejected"
    return [view.text(key, drawn=drawn, p=p), view.text("spec.exact_law")]


def _rank_parts(judged: Verdict, view: View) -> list[str]:
    values = {"rank": number(judged.rank), "most": number(round(judged.threshold or 0))}
    if judged.target_prob <= 0:
        return [view.text("spec.rank_zero", q=says("q", judged.draft_prob))]
    key = "spec.rank_accepted" if judged.accepted else "spec.rank_rejected"
    return [view.text(key, **values, p=says("p", judged.target_prob), q=says("q", judged.draft_prob))]


def _typical_parts(judged: Verdict, view: View) -> list[str]:
    border = judged.threshold or 0.0
    key = "spec.typical_accepted" if judged.accepted else "spec.typical_rejected"
    values = {"p": told(judged.target_prob, border), "threshold": told(border, judged.target_prob)}
    return [view.text(key, **values), view.text("spec.typical_why")]


def _added_parts(step: SpeculativeStep, chip: Chip, view: View) -> list[str]:
    added = chip.added
    assert added is not None
    values = {"prob": chance(added.prob), "u": chance(added.uniform)}
    if chip.fate == "plain":
        return [view.text("spec.plain", **values)]
    if chip.fate == "bonus":
        return [view.text("spec.bonus", count=len(step.nodes)), view.text("spec.bonus_draw", **values)]
    rejected = quoted(chips(step)[len(step.verdicts) - 1].token.text)
    rule = step.verdicts[-1].rule
    key = {"lossless": "spec.redrawn_residual", "exact": "spec.redrawn_own"}.get(rule, "spec.redrawn_target")
    parts = [view.text(key, rejected=rejected, **values)]
    if rule == "lossless":
        parts.append(view.text("spec.redrawn_why"))
    return [*parts, view.text("spec.lossy")] if rule in LOSSY else parts


def _unread_parts(step: SpeculativeStep, chip: Chip, view: View) -> list[str]:
    q = says("q", chip.node.draft_prob if chip.node else 0.0)
    if step.ending == "recovered":
        rejected = quoted(chips(step)[len(step.verdicts) - 1].token.text)
        parts = [view.text("spec.unread_rejected", rejected=rejected)]
    else:
        parts = [view.text("spec.unread_eos" if step.ending == "eos" else "spec.unread_length")]
    return [*parts, view.text("spec.unread_lost", q=q)]

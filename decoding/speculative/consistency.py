"""What must hold between the fields of a speculative run that is read from a file. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from decoding.trace import MAX_GAMMA, Addition, Distribution, DraftNode, Finish, Header, SpeculativeStep, Verdict

RULES = ("lossless", "exact", "top_k", "typical")
ROUNDING = 1e-6
"""How far a probability may be from the one listed, and a threshold from what it is made of."""


def run_faults(header: Header, steps: Sequence[SpeculativeStep], finish: Finish) -> Iterator[str]:
    """What does not fit together in a speculative run whose rounds do."""
    written = 0
    for step in steps:
        if step.position != written:
            yield "the position of a round is not the number of tokens before it"
        written += len(step.emitted)
        ends = step.emitted[-1].id in header.model.end_ids
        if ends and step is not steps[-1]:
            yield "the run goes on after an end token"
        if (step.ending == "eos" and not ends) or (step.ending == "length" and step is not steps[-1]):
            yield "a round ends for another reason than it tells"
        if any(verdict.rule != header.settings["verifier"] for verdict in step.verdicts):
            yield "a verdict is by another rule than the header's"
        if any(node.depth > header.settings["gamma"] for node in step.nodes):
            yield "a draft is longer than gamma"
    if written > header.settings["max_new_tokens"]:
        yield "it wrote more tokens than it was asked for"
    if finish.token_ids != tuple(token.id for step in steps for token in step.emitted):
        yield "finish.token_ids are not the tokens of the rounds"
    if (finish.reason == "eos") != (bool(steps) and steps[-1].emitted[-1].id in header.model.end_ids):
        yield "finish.reason is eos without an end token, or another with one"
    if finish.returned:
        yield "finish.returned lists texts, but nothing was searched"


def settings_faults(settings: Mapping[str, Any]) -> Iterator[str]:
    """Which settings are not there, or not what whoever shows them relies on."""
    for name in ("gamma", "max_new_tokens", "top", "verify_top_k", "exit_layer", "ngram_max", "ngram_min"):
        number = settings.get(name)
        if type(number) is not int or number < 1 or (name == "gamma" and number > MAX_GAMMA):
            yield f"header.settings.{name} is not a whole number that a speculative run can have"
    for name in ("typical_epsilon", "typical_delta"):
        if type(settings.get(name)) not in (int, float):
            yield f"header.settings.{name} is not a number"
    if settings.get("verifier") not in RULES:
        yield "header.settings.verifier is not a rule of verification"
    if not isinstance(settings.get("drafter"), str):
        yield "header.settings.drafter is not a name"
    listed = settings.get("order")
    if not isinstance(listed, tuple) or not all(isinstance(each, str) and each in settings for each in listed):
        yield "header.settings.order does not list settings"


def step_faults(step: SpeculativeStep) -> Iterator[str]:
    """What does not fit together in one round."""
    tree = list(_tree_faults(step.nodes))
    yield from tree or _walk_faults(step)


def _tree_faults(nodes: Sequence[DraftNode]) -> Iterator[str]:
    for place, node in enumerate(nodes):
        if node.id != place:
            yield "the ids of its nodes do not count from 0"
        elif node.parent is not None and node.parent >= place:
            yield "the parent of a node does not stand before it"
        elif node.depth != (1 if node.parent is None else nodes[node.parent].depth + 1) or node.depth > MAX_GAMMA:
            yield "the depth of a node is not one more than its parent's, or a draft is too long"


def _walk_faults(step: SpeculativeStep) -> Iterator[str]:
    """Verdicts go from the text down the accepted nodes, siblings in order; the ending and the tokens follow."""
    children: dict[int | None, list[int]] = {}
    for node in step.nodes:
        children.setdefault(node.parent, []).append(node.id)
    at: int | None = None
    tried = 0
    for verdict in step.verdicts:
        if children.get(at, [])[tried : tried + 1] != [verdict.node]:
            yield "its verdicts do not walk down its nodes"
            return
        yield from _token_faults(step.nodes[verdict.node], verdict, step.added)
        at, tried = (verdict.node, 0) if verdict.accepted else (at, tried + 1)
    accepted = [step.nodes[verdict.node].token for verdict in step.verdicts if verdict.accepted]
    here = children.get(at, [])
    if step.added is None:
        if step.ending not in ("eos", "length") or tried or not accepted:
            yield "it added no token, and does not end with an accepted one"
    elif step.ending != ("recovered" if here else "bonus") or tried < len(here):
        yield "its ending is not what its verdicts say"
    if list(step.emitted) != accepted + ([step.added.token] if step.added else []):
        yield "its tokens are not those accepted and the one added"


def _token_faults(node: DraftNode, verdict: Verdict, added: Addition | None) -> Iterator[str]:
    """Where a verdict is not about the token of its node."""
    if not (_gives(verdict.target, node.token.id, verdict.target_prob) and node.draft_prob == verdict.draft_prob):
        yield "a verdict's probabilities are not those of the token drafted"
    if not _gives(verdict.draft, node.token.id, verdict.draft_prob):
        yield "a verdict's draft_prob is not that of the token drafted"
    if verdict.drawn is not None:
        if verdict.accepted != (verdict.drawn.id == node.token.id):
            yield "a token is accepted though the target drew another, or rejected though it drew the same"
        if not verdict.accepted and (added is None or added.token != verdict.drawn):
            yield "the token added is not the one that the target drew"


def verdict_faults(verdict: Verdict) -> Iterator[str]:
    """What does not fit together in one verdict: exactly what its rule needs is there, and says what was decided."""
    if verdict.rank < 1 or verdict.draft_prob <= 0:
        yield "its rank is below 1, or its token was drafted with probability 0"
        return
    if {c.token.id for c in verdict.target.top} != {c.token.id for c in verdict.draft.top}:
        yield "its two laws do not list the same tokens"
    if (verdict.uniform is not None) != (verdict.rule == "lossless") or (verdict.drawn is not None) != (
        verdict.rule == "exact"
    ):
        yield "it has a uniform or a drawn token that its rule does not use, or lacks one"
    elif (verdict.threshold is None) != (verdict.rule == "exact"):
        yield "it has a threshold that its rule does not use, or lacks one"
    elif verdict.threshold is not None and not _follows(verdict, verdict.threshold):
        yield "its threshold does not say what was decided"


def _follows(verdict: Verdict, threshold: float) -> bool:
    """Whether the decision is that of the rule."""
    p, q = verdict.target_prob, verdict.draft_prob
    if verdict.rule == "top_k":
        return threshold >= 1 and verdict.accepted == (p > 0 and verdict.rank <= threshold)
    if verdict.rule == "typical":
        return threshold >= 0 and verdict.accepted == (p > threshold)
    right = abs(threshold - min(1.0, p / q)) <= ROUNDING
    return right and verdict.uniform is not None and verdict.accepted == (verdict.uniform < threshold)


def addition_faults(added: Addition) -> Iterator[str]:
    """Where the token added is not one of its law."""
    if added.prob <= 0 or not _gives(added.law, added.token.id, added.prob):
        yield "its token is not listed in its law with its probability"


def _gives(law: Distribution, id: int, prob: float) -> bool:
    """Whether a law lists this token with this probability."""
    return any(c.token.id == id and abs(c.prob - prob) <= ROUNDING for c in law.top)

"""Ways through a recorded search, read off its steps: no torch, so that a recorded search is shown without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from decoding.trace import BeamNode, BeamStep, Hypothesis


@dataclass(frozen=True, slots=True)
class Lost:
    """Where a search left the way to a text: at `depth`, and `node` is the text's token there.

    `node.rule` says why it was cut. `node` is None where that token was not recorded, or the search had ended.
    """

    depth: int
    node: BeamNode | None


def where_lost(steps: Sequence[BeamStep], token_ids: Sequence[int]) -> Lost | None:
    """Where a search with these steps lost a text, given as its tokens from the root; None where it kept it whole."""
    parent: int | None = None
    for depth, token in enumerate(token_ids, start=1):
        step = next((step for step in steps if step.depth == depth), None)
        nodes = step.nodes if step else ()
        node = next((node for node in nodes if node.parent == parent and node.token.id == token), None)
        if node is None or node.fate == "pruned":
            return Lost(depth, node)
        parent = node.id
    return None


def normalised(logprob: float, length: int, length_penalty: float) -> float:
    """logprob / length^length_penalty, length in tokens from the root; above 0 the penalty favours longer texts."""
    return float(logprob / length**length_penalty)


def as_text(node: BeamNode, depth: int, search: str, length_penalty: float) -> Hypothesis:
    """An open beam as if its text ended at this depth; a stochastic search ranks by the perturbed score."""
    return Hypothesis(
        node.id, node.score if search == "stochastic" else normalised(node.logprob, depth, length_penalty)
    )


def texts(steps: Sequence[BeamStep], search: str, length_penalty: float) -> list[Hypothesis]:
    """The texts a search has after these steps, best first: those finished and, where it goes on, those open too."""
    last = steps[-1]
    found = list(last.finished)
    if last.ending is None:
        found += [as_text(node, last.depth, search, length_penalty) for node in last.nodes if node.fate == "kept"]
    return sorted(found, key=lambda text: -text.score)


def path(last: int, nodes: Mapping[int, BeamNode]) -> tuple[BeamNode, ...]:
    """The nodes from the root's child to the one with this id."""
    found = []
    node: BeamNode | None = nodes[last]
    while node is not None:
        found.append(node)
        node = None if node.parent is None else nodes[node.parent]
    return tuple(reversed(found))

"""What a search returns, read off its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.beam.select import normalised
from decoding.settings import BeamSettings
from decoding.trace import BeamNode, BeamStep, Hypothesis, SampleStep, Step


@dataclass(frozen=True, slots=True)
class Result:
    """One text: its new tokens, and of those searched the log-probability (nats) and the score that ranks it."""

    token_ids: tuple[int, ...]
    logprob: float
    score: float


def results(steps: Sequence[Step], settings: BeamSettings) -> tuple[Result, ...]:
    """The `num_return_sequences` best texts, best first; fewer where the search found fewer.

    Of a search that was stopped, the beams still open count too, by their present score. Two groups may return
    the same text twice.
    """
    sampled = tuple(step.token.id for step in steps if isinstance(step, SampleStep))
    searched = [step for step in steps if isinstance(step, BeamStep)]
    if not searched:
        return ()
    nodes = {node.id: node for step in searched for node in step.nodes}
    last = searched[-1]
    texts = list(last.finished)
    if last.ending is None:
        texts += [_as_text(node, last.depth, settings) for node in last.nodes if node.fate == "kept"]
    best = sorted(texts, key=lambda text: -text.score)[: settings.num_return_sequences]
    return tuple(Result((*sampled, *path(text.node, nodes)), nodes[text.node].logprob, text.score) for text in best)


def path(last: int, nodes: dict[int, BeamNode]) -> tuple[int, ...]:
    """The token ids from the root to this node."""
    ids = []
    node: BeamNode | None = nodes[last]
    while node is not None:
        ids.append(node.token.id)
        node = None if node.parent is None else nodes[node.parent]
    return tuple(reversed(ids))


def _as_text(node: BeamNode, depth: int, settings: BeamSettings) -> Hypothesis:
    """An open beam as if it ended here."""
    if settings.search == "stochastic":
        return Hypothesis(node.id, node.score)
    return Hypothesis(node.id, normalised(node.logprob, depth, settings.length_penalty))

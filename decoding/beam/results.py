"""What a search returns, read off its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.beam.paths import path, texts
from decoding.settings import BeamSettings
from decoding.trace import BeamStep, SampleStep, Step


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
    best = texts(searched, settings.search, settings.length_penalty)[: settings.num_return_sequences]
    ways = [path(text.node, nodes) for text in best]
    return tuple(
        Result((*sampled, *(node.token.id for node in way)), way[-1].logprob, text.score)
        for way, text in zip(ways, best, strict=True)
    )

"""What must hold between the fields of a trace value that is read from a file. Standard library only.

Whoever shows a trace relies on it: a step has stages, a token drawn is listed, a beam's parent was kept.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from decoding.speculative import consistency as speculative
from decoding.trace import (
    MAX_BEAMS,
    Addition,
    AliasColumn,
    AliasDraw,
    BeamNode,
    BeamStep,
    BinarySearchDraw,
    Cut,
    DirectDraw,
    Distribution,
    Finish,
    GumbelDraw,
    Returned,
    SampleStep,
    SpeculativeStep,
    Stage,
    Trace,
    Verdict,
)

CUTS = frozenset(
    {
        *("width", "late_end", "worse_finish", "not_drawn"),
        *("relative_threshold", "absolute_threshold", "relative_local_threshold", "max_per_parent"),
    }
)
"""What cuts a candidate of a beam search."""
ROUNDING = 1e-6
"""How far probabilities that sum to 1 may be from it, and a log-probability above 0."""


def _trace_faults(value: Trace) -> Iterator[str]:
    """What does not fit together in a run whose parts do."""
    sampled = [step for step in value.steps if isinstance(step, SampleStep)]
    searched = [step for step in value.steps if isinstance(step, BeamStep)]
    rounds = [step for step in value.steps if isinstance(step, SpeculativeStep)]
    if value.steps not in ((*sampled, *searched), tuple(rounds)):
        yield "a sampled step follows a searched one, or rounds are mixed with other steps"
    drawn = tuple(step.token.id for step in sampled)
    if [step.position for step in sampled] != list(range(len(drawn))):
        yield "the positions of the steps do not count from 0"
    ids = [*drawn, *(token.id for token in value.header.prompt.tokens)]
    ids += [node.token.id for step in searched for node in step.nodes]
    ids += [node.token.id for step in rounds for node in step.nodes]
    ids += [token.id for step in rounds for token in step.emitted]
    if max(ids, default=-1) >= value.header.model.vocab_size:
        yield "a token id is beyond the vocabulary"
    if value.header.method == "beam":
        yield from _search_settings_faults(value.header.settings)
    if value.header.method == "speculate":
        faults = list(speculative.settings_faults(value.header.settings))
        if sampled or searched:
            yield "it has other steps than rounds of speculative decoding"
        yield from faults or speculative.run_faults(value.header, rounds, value.finish)
    elif rounds:
        yield "it has rounds of speculative decoding, but header.method is not speculate"
    elif searched:
        if value.header.method != "beam":
            yield "it has depths of a beam search, but header.method is not beam"
        yield from _tree_faults(searched)
        yield from _results_faults(drawn, searched, value.finish)
    elif drawn != value.finish.token_ids:
        yield "finish.token_ids are not the tokens of the steps"
    elif value.finish.returned:
        yield "finish.returned lists texts, but nothing was searched"


def _search_settings_faults(settings: Mapping[str, Any]) -> Iterator[str]:
    """Which settings of a beam search are not there, or not what whoever shows it relies on."""
    whole = {
        "num_beams": (1, MAX_BEAMS),
        "max_new_tokens": (1, None),
        "sample_first": (0, None),
        "num_beam_groups": (1, MAX_BEAMS),
    }
    for name, (low, high) in whole.items():
        number = settings.get(name)
        if type(number) is not int or number < low or (high is not None and number > high):
            yield f"header.settings.{name} is not a whole number that a search can have"
    if type(settings.get("length_penalty")) not in (int, float):
        yield "header.settings.length_penalty is not a number"
    if settings.get("early_stopping") not in (True, False, "never"):
        yield "header.settings.early_stopping is not True, False or never"
    if settings.get("search") not in ("beam", "sample", "stochastic"):
        yield "header.settings.search is not a kind of beam search"
    for name in ("order", "rule_order"):
        listed = settings.get(name)
        if not isinstance(listed, tuple) or not all(isinstance(each, str) and each in settings for each in listed):
            yield f"header.settings.{name} does not list settings"


def _cut_faults(cut: Cut) -> Iterator[str]:
    if cut.rule not in CUTS:
        yield "it names a rule that is unknown"


def _tree_faults(steps: Sequence[BeamStep]) -> Iterator[str]:
    """What does not fit together in the steps of a search."""
    if [step.depth for step in steps] != list(range(1, len(steps) + 1)):
        yield "the depths of the steps do not count from 1"
    ids = [node.id for step in steps for node in step.nodes]
    if any(later <= earlier for earlier, later in itertools.pairwise(ids)):
        yield "the ids of the nodes do not ascend"
    open_beams: set[int | None] = {None}
    finished: set[int] = set()
    for step in steps:
        if any(node.parent not in open_beams for node in step.nodes):
            yield "the parent of a node is not a beam kept at the depth before"
        open_beams = {node.id for node in step.nodes if node.fate == "kept"}
        finished |= {node.id for node in step.nodes if node.fate == "finished"}
        if any(text.node not in finished for text in step.finished):
            yield "a finished text names a node that did not finish"
        if step.ending is not None and step is not steps[-1]:
            yield "the search goes on after its ending"


def _results_faults(drawn: tuple[int, ...], steps: Sequence[BeamStep], finish: Finish) -> Iterator[str]:
    """Where what a search returns is not what its nodes say."""
    last = steps[-1]
    if (last.ending is None) != (finish.reason == "cancelled"):
        yield "a search without an ending was cancelled, and no other"
    if not finish.returned or finish.returned[0].token_ids != finish.token_ids:
        yield "finish.token_ids are not those of the best text returned"
    nodes = {node.id: node for step in steps for node in step.nodes}
    places: dict[int, float | None] = {text.node: text.score for text in last.finished}
    if last.ending is None:  # beams still open count as texts; how they were rated is not recorded
        places |= {node.id: None for node in last.nodes if node.fate == "kept"}
    if len(finish.returned) > len(places) or len(places) > 2 * MAX_BEAMS:
        yield "more texts are returned than the search held"
    for text in finish.returned[: 2 * MAX_BEAMS]:
        same = [id for id, score in places.items() if score in (None, text.score) and nodes[id].logprob == text.logprob]
        if not any(_spells(nodes, id, text.token_ids, drawn) for id in same):
            yield "a text returned is not one that the search held"


def _spells(nodes: dict[int, BeamNode], last: int, token_ids: tuple[int, ...], drawn: tuple[int, ...]) -> bool:
    """Whether the tokens are those drawn and then those from the root to this node."""
    id: int | None = last
    at = len(token_ids)
    while id is not None and at > 0 and nodes[id].token.id == token_ids[at - 1]:
        id, at = nodes[id].parent, at - 1
    return id is None and token_ids[:at] == drawn


def _beam_step_faults(step: BeamStep) -> Iterator[str]:
    scores = [node.score for node in step.nodes]
    if not scores or scores != sorted(scores, reverse=True):
        yield "it has no nodes, or they are not best first"
    if step.depth < 1 or step.considered < len(step.nodes):
        yield "its depth is below 1, or it lists more nodes than were considered"
    kept = sum(node.fate == "kept" for node in step.nodes)
    if kept > MAX_BEAMS or len(step.finished) > MAX_BEAMS:
        yield "it has more beams than a search may have"
    if len({text.node for text in step.finished}) < len(step.finished):
        yield "it lists a finished text twice"
    rated = [text.score for text in step.finished]
    if rated != sorted(rated, reverse=True):
        yield "its finished texts are not best first"
    if (step.attainable is None) != (kept == 0) or (step.ending is None and kept == 0):
        yield "its beams are open and nothing is attainable, or none is open and it goes on"


def _node_faults(node: BeamNode) -> Iterator[str]:
    if (node.fate == "pruned") != (node.rule is not None):
        yield "it is pruned without a rule, or has one and is not"
    if node.logprob > ROUNDING:
        yield "its logprob is above 0"


def _returned_faults(text: Returned) -> Iterator[str]:
    if not text.token_ids or text.logprob > ROUNDING:
        yield "it has no tokens, or its logprob is above 0"


def _finish_faults(finish: Finish) -> Iterator[str]:
    scores = [text.score for text in finish.returned]
    if scores != sorted(scores, reverse=True):
        yield "the texts returned are not best first"


def _step_faults(step: SampleStep) -> Iterator[str]:
    listed = [{c.token.id for c in stage.result.top} for stage in step.stages]
    if not listed:
        yield "it has no stages"
    elif any(ids != listed[0] for ids in listed):
        yield "its stages do not list the same tokens"
    elif step.token.id not in listed[0]:
        yield "its token is not among those listed"


def _law_faults(law: Distribution) -> Iterator[str]:
    if len({c.token.id for c in law.top}) < len(law.top):
        yield "it lists a token twice"
    if any(c.kept != (c.logit is not None) or (c.prob > 0 and not c.kept) for c in law.top):
        yield "a removed token has a logit or a probability, or a kept one has no logit"
    if abs(math.fsum([law.tail_mass, *(c.prob for c in law.top)]) - 1) > ROUNDING:
        yield "its probabilities do not sum to 1"


def _stage_faults(stage: Stage) -> Iterator[str]:
    law = stage.result
    if stage.kept_count != law.tail_count + sum(c.kept for c in law.top) or stage.kept_count == 0:
        yield "kept_count is not how many tokens are kept"


def _column_faults(column: AliasColumn) -> Iterator[str]:
    if not 0 <= column.threshold <= 1 + ROUNDING:
        yield "its threshold is not between 0 and 1"


def _alias_faults(draw: AliasDraw) -> Iterator[str]:
    if draw.column >= draw.column_count or draw.column not in [column.index for column in draw.columns]:
        yield "the column drawn is not among those listed"


def _interval_faults(draw: DirectDraw | BinarySearchDraw) -> Iterator[str]:
    if not 0 <= draw.low <= draw.high <= 1 + ROUNDING:
        yield "low and high are not an interval in 0 to 1"


def _gumbel_faults(draw: GumbelDraw) -> Iterator[str]:
    if not 0 < len(draw.scores) <= draw.count:
        yield "it lists no scores, or more than there are"


CHECKS: dict[type, Callable[[Any], Iterator[str]]] = {
    Trace: _trace_faults,
    SampleStep: _step_faults,
    Distribution: _law_faults,
    Stage: _stage_faults,
    DirectDraw: _interval_faults,
    BinarySearchDraw: _interval_faults,
    AliasColumn: _column_faults,
    AliasDraw: _alias_faults,
    GumbelDraw: _gumbel_faults,
    BeamStep: _beam_step_faults,
    BeamNode: _node_faults,
    Cut: _cut_faults,
    SpeculativeStep: speculative.step_faults,
    Verdict: speculative.verdict_faults,
    Addition: speculative.addition_faults,
    Returned: _returned_faults,
    Finish: _finish_faults,
}
"""Class -> what does not fit together in a value of it, told in words."""

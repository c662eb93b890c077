"""A recorded beam search judged again: other rules, another width, another length penalty, and no model.

The law of a depth does not depend on what was kept there, so the recorded candidates of a beam serve every search
that keeps that beam. It goes on until a beam is kept that the record does not expand, or until a candidate that was
not recorded could be among those taken. As far as it goes it is what the search itself would have done, in the
numbers of the record: float32 logits of another number of beams round in their own way.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch

from decoding.beam import select
from decoding.beam.candidates import Candidates
from decoding.beam.options import Option
from decoding.beam.paths import normalised
from decoding.beam.pruning import PruningRule, prune
from decoding.beam.select import Choice
from decoding.settings import BeamSettings
from decoding.trace import BeamNode, BeamStep, Hypothesis

SMALLEST = 1e-300
"""Below it a stored probability has lost digits, and its logarithm is taken from the sums instead."""

SLACK = 1e-5
"""By how much the probabilities of a float32 law may miss 1."""


@dataclass(frozen=True, slots=True)
class Rejudged:
    """The depths judged again, node ids as recorded. `until`: None where they reach the end of that search, else the
    last depth that is exact; what follows needs the model.
    """

    steps: tuple[BeamStep, ...]
    until: int | None


@dataclass(frozen=True, slots=True)
class _Beams:
    """Beams that are open (None: the root), and the texts finished, best first."""

    open: tuple[BeamNode | None, ...] = (None,)
    finished: tuple[Hypothesis, ...] = ()


@dataclass(frozen=True, slots=True)
class _Judge:
    """What stays the same through one judgement."""

    settings: BeamSettings
    end_ids: Collection[int]
    vocab_size: int

    @property
    def longest(self) -> int:
        """The last depth there can be."""
        return self.settings.max_new_tokens - self.settings.sample_first

    def ends(self, option: Option) -> bool:
        """Whether its token ends a text."""
        return option.token in self.end_ids


def rejudge(steps: Sequence[BeamStep], settings: BeamSettings, end_ids: Collection[int], vocab_size: int) -> Rejudged:
    """The search that `settings` ask for, from the record of one that searched the same law from the same prompt.

    `steps`: of a search of kind `beam` in one group. `settings`: as recorded, but for `num_beams`, `rules`,
    `length_penalty`, `early_stopping` and `max_new_tokens`. `considered` counts the candidates recorded where the
    record does not tell how many there were.
    """
    assert settings.search == "beam" and settings.num_beam_groups == 1, "only such a search can be judged again"
    judge, beams = _Judge(settings, end_ids, vocab_size), _Beams()
    judged: list[BeamStep] = []
    for step in steps:
        options, nodes = _options(step, beams.open, settings.rules)
        if {option.parent for option in options} != set(range(len(beams.open))):
            break
        if not _decided(step, options, beams.open, judge):
            break
        choice = _choose(options, beams.finished, step.depth, judge)
        fated = tuple(replace(node, fate=fate, rule=cut) for node, (fate, cut) in zip(nodes, choice.fates, strict=True))
        beams = _after(fated, choice, beams.finished)
        judged.append(_step(step, fated, beams, judge))
        if judged[-1].ending is not None:
            return Rejudged(tuple(judged), None)
    return Rejudged(tuple(judged), len(judged))


def _options(
    step: BeamStep, beams: Sequence[BeamNode | None], rules: Sequence[PruningRule]
) -> tuple[list[Option], list[BeamNode]]:
    """The recorded extensions of these beams, best first and judged by the rules, and their nodes."""
    rows = {beam and beam.id: row for row, beam in enumerate(beams)}
    nodes = [node for node in step.nodes if node.parent in rows]
    nodes.sort(key=lambda node: (-node.logprob, rows[node.parent], node.token.id))
    columns = [
        (rows[node.parent], node.token.id, _local(node, beams[rows[node.parent]]), node.logprob) for node in nodes
    ]
    parents, tokens, locals_, logprobs = zip(*columns, strict=True) if columns else ((),) * 4
    candidates = Candidates(
        torch.tensor(parents, dtype=torch.long),
        torch.tensor(tokens, dtype=torch.long),
        torch.tensor(logprobs, dtype=torch.float64),
        torch.tensor(locals_, dtype=torch.float64),
    )
    cuts = prune(candidates, rules)
    return [Option(*row, score=row[3], cut=cut) for row, cut in zip(columns, cuts, strict=True)], nodes


def _local(node: BeamNode, parent: BeamNode | None) -> float:
    """The token's own log-probability, in nats."""
    return math.log(node.prob) if node.prob > SMALLEST else node.logprob - (parent.logprob if parent else 0.0)


def _choose(options: Sequence[Option], held: Sequence[Hypothesis], depth: int, judge: _Judge) -> Choice:
    def rate(option: Option) -> float:
        return normalised(option.logprob, depth, judge.settings.length_penalty)

    scores = [text.score for text in held]
    return select.choose(options, scores, judge.settings.num_beams, judge.ends, rate, depth == judge.longest)


def _decided(step: BeamStep, options: Sequence[Option], beams: Sequence[BeamNode | None], judge: _Judge) -> bool:
    """Whether no candidate that was not recorded can have been taken: enough others are sure to come before it."""
    if len(step.nodes) == step.considered:
        return True
    leads = [_lead(options, row, beam.logprob if beam else 0.0) for row, beam in enumerate(beams)]
    lead = min((lead for lead in leads if lead is not None), default=None)
    if lead is None:
        return True
    last = step.depth == judge.longest
    free = [option for option in options[:lead] if option.cut is None and (last or not judge.ends(option))]
    return len(free) >= judge.settings.num_beams


def _lead(options: Sequence[Option], row: int, logprob: float) -> int | None:
    """How many options are sure to come before the extensions of this beam that were not recorded; None: these are cut.

    Recorded are its best, and rules cut from the end of its list: where the last one is cut, so is what follows.
    Else what follows ranks after the last one, and has no more probability than the recorded ones leave.
    """
    own = [place for place, option in enumerate(options) if option.parent == row]
    if options[own[-1]].cut is not None:
        return None
    rest = 1 - math.fsum(math.exp(options[place].local) for place in own)
    most = logprob + math.log(max(rest, 0.0) + SLACK)
    return max(own[-1] + 1, sum(option.score > most for option in options))


def _after(nodes: Sequence[BeamNode], choice: Choice, held: Sequence[Hypothesis]) -> _Beams:
    new = [Hypothesis(nodes[place].id, rating) for place, rating in choice.ratings.items()]
    going = tuple(node for node in nodes if node.fate == "kept")
    return _Beams(going, select.merged(held[: choice.held], new))


def _step(step: BeamStep, nodes: tuple[BeamNode, ...], beams: _Beams, judge: _Judge) -> BeamStep:
    asked, best = judge.settings, None
    if beams.open:
        highest = max(beam.logprob for beam in beams.open if beam)
        best = select.attainable(highest, step.depth, judge.longest, asked.length_penalty, asked.early_stopping)
    last = step.depth == judge.longest
    ending = select.ending(last, best, beams.finished, asked.num_beams, asked.early_stopping)
    return BeamStep(step.depth, nodes, _considered(step, nodes, judge), beams.finished, best, ending)


def _considered(step: BeamStep, nodes: Sequence[BeamNode], judge: _Judge) -> int:
    """How many extensions of probability above 0 the beams of these nodes had, as far as the record tells."""
    before, now = ({node.parent for node in listed} for listed in (step.nodes, nodes))
    if now == before:
        return step.considered
    if step.considered == judge.vocab_size * len(before):
        return judge.vocab_size * len(now)
    return len(nodes)

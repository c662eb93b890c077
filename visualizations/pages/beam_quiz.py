"""Quiz cards about a beam search: what is cut next, who survives a rule, and what greedy misses."""

from __future__ import annotations

import math

from decoding.trace import BeamNode, BeamStep
from visualizations.figures.beam_words import joined, share
from visualizations.figures.style import number, quoted
from visualizations.lab import Lab
from visualizations.quiz import Card, Question
from visualizations.runs import Run
from visualizations.text import Text

TRAP = "toy:greedy-trap"
RATIO = 0.5
"""The relative threshold asked about."""


def cards(lab: Lab, run: Run) -> list[Card]:
    """Questions about this run, or about the recorded one where it has nothing to ask."""
    for found in (run, lab.lesson("beam")):
        step = next((step for step in found.searched()[1:] if _has_choice(step)), None)
        if step is not None:
            return [who_is_cut(found, step), survivors(found, step), greedy_loses()]
    return [greedy_loses()]


def _has_choice(step: BeamStep) -> bool:
    """Whether at least one candidate went on and two were cut for the width, all plainly ranked by probability."""
    plain = all(abs(node.score - node.logprob) < 1e-9 for node in step.nodes)
    cut = [node for node in step.nodes if node.rule and node.rule.rule == "width"]
    return plain and len(cut) >= 2 and len(cut) < len(step.nodes)


def _name(run: Run, node: BeamNode) -> str:
    nodes = {each.id: each for step in run.searched() for each in step.nodes}
    way = [node]
    while way[0].parent is not None:
        way.insert(0, nodes[way[0].parent])
    return joined(way, run.header.model.joiner)


def who_is_cut(run: Run, step: BeamStep) -> Card:
    """Three candidates, of which one does not go on."""
    kept = [node for node in step.nodes if node.fate != "pruned"][:2]
    cut = next(node for node in step.nodes if node.rule and node.rule.rule == "width")

    def card(text: Text) -> Question:
        asked = sorted([*kept, cut], key=lambda node: node.token.id)
        choices = tuple(quoted(_name(run, node)) for node in asked)
        parents = {node.id: node for each in run.searched() for node in each.nodes}
        products = {
            node.id: (math.exp(parents[node.parent].logprob) if node.parent is not None else 1.0, node.prob)
            for node in asked
        }
        given = "; ".join(
            f"{choice}: {share(products[node.id][0])} × {share(products[node.id][1])}"
            for choice, node in zip(choices, asked, strict=True)
        )
        threshold = share(math.exp(cut.rule.threshold)) if cut.rule else ""
        because = text("quiz.cut_because", prob=share(math.exp(cut.logprob)), threshold=threshold)
        return Question(text("quiz.cut", depth=step.depth, given=given), choices, asked.index(cut), because)

    return card


def survivors(run: Run, step: BeamStep) -> Card:
    """How many of a depth's candidates a relative threshold leaves."""

    def card(text: Text) -> Question:
        import torch

        from decoding.beam.candidates import Candidates
        from decoding.beam.pruning import RelativeThreshold

        nodes = step.nodes
        logprobs = torch.tensor([node.logprob for node in nodes], dtype=torch.float64)
        ids = torch.tensor([node.token.id for node in nodes])
        judged = RelativeThreshold(RATIO).judge(Candidates(torch.zeros_like(ids), ids, logprobs, logprobs))
        left = int((~judged.cut).sum())
        options = sorted({left, len(nodes), 1} | ({left + 1} if left + 1 < len(nodes) else {max(2, left - 1)}))
        best = math.exp(nodes[0].logprob)
        because = text("quiz.survive_because", ratio=RATIO, best=share(best), least=share(RATIO * best), count=left)
        ask = text("quiz.survive", depth=step.depth, count=number(len(nodes)), ratio=RATIO, best=share(best))
        return Question(ask, tuple(map(str, options)), options.index(left), because)

    return card


def greedy_loses() -> Card:
    """Whether the best first word leads to the best sentence, on a table where it does not."""

    def card(text: Text) -> Question:
        from decoding.beam.compare import contests
        from decoding.models import toy
        from decoding.settings import BeamSettings

        model = toy.load(TRAP)
        settings = BeamSettings(num_beams=2, max_new_tokens=3)
        found = {each.name: each for each in contests(model, model.encode(""), settings, 0)}
        greedy, beam = found["greedy"], found["beam"]
        choices = (text("quiz.greedy_yes"), text("quiz.greedy_no"))
        values = {
            "greedy": greedy.text,
            "greedy_prob": share(math.exp(greedy.logprob)),
            "beam": beam.text,
            "beam_prob": share(math.exp(beam.logprob)),
        }
        answer = int(beam.logprob > greedy.logprob)
        return Question(
            text("quiz.greedy", first=greedy.text.split()[0], second=beam.text.split()[0]),
            choices,
            answer,
            text("quiz.greedy_because", **values),
        )

    return card

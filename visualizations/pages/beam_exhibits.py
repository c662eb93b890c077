"""Exhibits about beam search for the page *Corrections*, all on the lecture's own tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from decoding.trace import BeamStep, Cut
from visualizations.components.viewer import Control, Panel, ViewChoice, ViewSlider
from visualizations.figures import beam_queue, beam_tree
from visualizations.figures.beam_words import share
from visualizations.figures.style import decimal, visible
from visualizations.lab import Lab
from visualizations.pages import beam, view
from visualizations.pages.beam_view import Judged, best_path, listing, root_of
from visualizations.pages.view import Ask
from visualizations.text import Text

if TYPE_CHECKING:
    from decoding.beam.candidates import Candidates

PANELS = (
    Panel("pseudo", section="pseudo", link="beam"),
    Panel("relative", span=7, section="relative"),
    Panel("verdicts", span=5, link="beam"),
    Panel("absolute", section="absolute", link="beam"),
)
RATIO, NATS = 0.5, 0.5
DEPTH = 2
"""The depth judged by the absolute threshold."""


def controls(text: Text) -> tuple[Control, ...]:
    """What the exhibits let one move."""
    rules = (("right", text("corrections.rule_right")), ("notes", text("corrections.rule_notes")))
    return (
        ViewSlider("ratio", text("corrections.ratio"), 0.01, 1, 0.01, RATIO, panel="relative"),
        ViewChoice("reading", text("corrections.reading"), rules, "right", panel="relative"),
        ViewSlider("nats", text("corrections.nats"), 0, 3, 0.05, NATS, panel="absolute"),
    )


def panels(lab: Lab, ask: Ask, text: Text) -> dict[str, Any]:
    """The panels by name."""
    steps = lab.lesson(beam.LESSON).searched()
    ratio, nats = ask.slider("ratio", RATIO, 0.01, 1), ask.slider("nats", NATS, 0, 3)
    return {
        "pseudo": listing(text, ask.view("pseudo", text), ()),
        "relative": _relative(lab, ask, text, steps, ratio),
        "verdicts": _verdicts(text, steps[0], ratio),
        "absolute": _absolute(lab, ask, text, steps, nats),
    }


def sources() -> dict[str, list[Any]]:
    """What computed each panel."""
    from decoding.beam import pruning, rejudge, search

    return {
        "pseudo": [search.beam],
        "relative": [rejudge.rejudge, pruning.RelativeThreshold, pruning.literal_relative],
        "verdicts": [pruning.RelativeThreshold, pruning.literal_relative],
        "absolute": [pruning.AbsoluteThreshold],
    }


def _judged(lab: Lab, steps: Sequence[BeamStep], **rules: float) -> Judged:
    """The lecture's search judged again by these rules."""
    from decoding.beam.rejudge import rejudge
    from decoding.settings import beam_settings

    run = lab.lesson(beam.LESSON)
    settings = beam_settings(num_beams=beam.BEAMS, max_new_tokens=beam.TOKENS, top=beam.TOP, **rules)
    again = rejudge(steps, settings, run.header.model.end_ids, run.header.model.vocab_size)
    return Judged(again.steps, settings.plain(), again.until)


def _relative(lab: Lab, ask: Ask, text: Text, steps: Sequence[BeamStep], ratio: float) -> dict[str, Any]:
    """One tree under the rule read rightly, or as the notes' formula stands."""
    run, at = lab.lesson(beam.LESSON), ask.view("relative", text)
    wrong = ask.details.get("reading") == "notes"
    judged = _literal(steps, ratio) if wrong else _judged(lab, steps, relative_threshold=ratio)
    best = [] if wrong else [node.id for node in best_path(judged, len(judged.steps))]
    figure = beam_tree.tree(judged.steps, at, root=root_of(run), best=best, show="all", places=steps)
    key = "corrections.relative_wrong" if wrong else "corrections.relative_right"
    title = text("corrections.rule_notes" if wrong else "corrections.rule_right")
    return view.panel({"title": title, "text": text(key, ratio=f"{ratio:g}")}, figure)


def _literal(steps: Sequence[BeamStep], ratio: float) -> Judged:
    """The first depth as the formula on log-probabilities leaves it: with nothing to go on."""
    from decoding.beam.pruning import literal_relative

    judged = literal_relative(_candidates(steps[0]), ratio)
    rows = zip(steps[0].nodes, judged.cut.tolist(), judged.values.tolist(), judged.thresholds.tolist(), strict=True)
    nodes = tuple(
        replace(node, fate="pruned", rule=Cut("notes_relative", value, threshold)) if cut else node
        for node, cut, value, threshold in rows
    )
    return Judged((replace(steps[0], nodes=nodes, attainable=None, ending="no_beams"),), {})


def _candidates(step: BeamStep) -> Candidates:
    """A depth's recorded candidates, of the first depth, as the rules take them."""
    import torch

    from decoding.beam.candidates import Candidates

    logprobs = torch.tensor([node.logprob for node in step.nodes], dtype=torch.float64)
    ids = torch.tensor([node.token.id for node in step.nodes])
    return Candidates(torch.zeros_like(ids), ids, logprobs, logprobs)


def _verdicts(text: Text, step: BeamStep, ratio: float) -> dict[str, Any]:
    """Both readings side by side, number by number."""
    from decoding.beam.pruning import RelativeThreshold, literal_relative

    candidates = _candidates(step)
    right, wrong = RelativeThreshold(ratio).judge(candidates), literal_relative(candidates, ratio)
    head = [text(f"corrections.verdict_{name}") for name in ("word", "ratio", "logprob")]
    mark = {True: text("corrections.cut"), False: text("corrections.stays")}
    columns = (right.values.tolist(), right.cut.tolist(), wrong.cut.tolist())
    rows = [
        [
            visible(node.token.text),
            f"{share(value)} {mark[right_cut]}",
            f"{decimal(node.logprob)} {mark[wrong_cut]}",
        ]
        for node, value, right_cut, wrong_cut in zip(step.nodes, *columns, strict=True)
    ]
    threshold = decimal(float(wrong.thresholds[0]))
    said = text("corrections.verdicts_text", ratio=f"{ratio:g}", threshold=threshold)
    return {"title": text("corrections.verdicts"), "text": said, "table": {"head": head, "rows": rows}}


def _absolute(lab: Lab, ask: Ask, text: Text, steps: Sequence[BeamStep], nats: float) -> dict[str, Any]:
    """One depth under an absolute threshold, on the scale that it is meant on."""
    from math import exp

    run, at = lab.lesson(beam.LESSON), ask.view("absolute", text)
    judged = _judged(lab, steps, absolute_threshold=nats)
    depth = min(DEPTH, len(judged.steps))
    figure = beam_queue.queue(judged.steps, at, depth=depth, joiner=run.header.model.joiner, unit="nats")
    best = judged.steps[depth - 1].nodes[0].logprob
    said = text(
        "corrections.absolute_now",
        nats=f"{nats:g}",
        best=decimal(best),
        least=decimal(best - nats),
        ratio=share(exp(-nats)),
    )
    return view.panel({"title": text("corrections.absolute_title", depth=depth), "text": said}, figure)

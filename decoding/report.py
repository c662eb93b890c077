"""A trace as lines of text for a terminal. Standard library only; whatever a file holds comes out harmless."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from decoding.speculative.counts import counts
from decoding.trace import BeamNode, BeamStep, ModelInfo, SampleStep, SpeculativeStep, Token, Trace

NOTES: dict[str, str] = {
    "tie_broken": "tokens at the border had equal logits; the lowest ids were kept",
    "no_filtering": "removed nothing: every token met its limit",
    "kept_most_likely": "asked for less than one token; the most likely one was kept",
    "most_likely_removed": "removed the most likely token",
}
"""Code of a stage's note -> what a person should know."""
SHOWN = 8
"""Most beams listed per depth."""
TEXT_END = 60
"""Characters listed of a beam's text, its last ones."""
SPACES = str.maketrans({" ": "␣", "\n": "↵", "\t": "⇥"})


def lines(trace: Trace) -> Iterator[str]:
    """The run as a table: a line per token drawn, per depth of a search and beam that went on, or per round."""
    header = trace.header
    yield printable(f"{header.method} on {header.model.name} ({how(header.model)}), seed {header.seed}")
    yield f"prompt: {header.prompt.text!r}"
    sampled = [step for step in trace.steps if isinstance(step, SampleStep)]
    searched = [step for step in trace.steps if isinstance(step, BeamStep)]
    speculated = [step for step in trace.steps if isinstance(step, SpeculativeStep)]
    if sampled or not (searched or speculated):
        yield f"{'step':>4}  {'token':<18} {'p':>8} {'model p':>8} {'kept':>7} {'bits':>6}  drawn"
    for step in sampled:
        yield from _sample_lines(step)
    yield from _search_lines(searched, header.model.joiner)
    if speculated:
        drafter = header.draft.name if header.draft else header.settings["drafter"]
        yield printable(f"drafts by {drafter}, judged by the rule {header.settings['verifier']}")
        yield from _round_lines(speculated)
    for number, text in enumerate(trace.finish.returned, start=1):
        yield f"returned {number}: {text.text!r}, logprob {text.logprob:.4f}, score {text.score:.4f}"
    yield f"text: {trace.finish.text!r} (ended by {trace.finish.reason})"


def how(model: ModelInfo) -> str:
    """Precision, device and engine, as `float32, cpu, onnx`; a table has no engine."""
    return ", ".join([model.dtype, model.device] + ([] if model.is_table else [model.engine]))


def printable(text: str) -> str:
    """A terminal obeys control characters, and a saved trace may come from anyone."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def probability(prob: float) -> str:
    """Eight characters wide; what would round to 0 is told as less than the smallest."""
    return f"{'<0.0001' if 0 < prob < 0.00005 else format(prob, '.4f'):>8}"


def _sample_lines(step: SampleStep) -> Iterator[str]:
    last = step.stages[-1]
    figures = f"{probability(step.prob)} {probability(step.model_prob)} {last.kept_count:7,} {last.result.entropy:6.2f}"
    yield f"{step.position + 1:4}  {step.token.text!r:<18} {figures}  {step.draw.kind}"
    for stage in step.stages:
        for note in stage.notes:
            yield printable(f"      {stage.name}: {NOTES.get(note, note)}")


def _search_lines(steps: list[BeamStep], between: str) -> Iterator[str]:
    """Each depth's counts, and its beams with the end of their text; `between` joins tokens."""
    texts: dict[int | None, bytes] = {None: b""}
    for step in steps:
        fates = Counter(node.fate for node in step.nodes)
        cut = step.considered - fates["kept"] - fates["finished"]
        rules = Counter(node.rule.rule for node in step.nodes if node.rule is not None)
        named = ", ".join(f"{rule} {count}" for rule, count in rules.items())
        counts = f"{step.considered:,} considered, {fates['kept']} kept, {fates['finished']} finished, {cut:,} cut"
        yield printable(f"depth {step.depth}: {counts}" + (f" (of those listed: {named})" if named else ""))
        taken = [node for node in step.nodes if node.fate != "pruned"]
        texts = {node.id: _text(node, texts[node.parent], between) for node in taken}
        for node in itertools.islice(taken, SHOWN):
            text = texts[node.id].decode(errors="replace")[-TEXT_END:]
            figures = f"p {probability(node.prob)}  logprob {node.logprob:9.4f}  score {node.score:9.4f}"
            yield f"  {node.fate:<8}  {figures}  {text!r}"
        if len(taken) > SHOWN:
            yield f"  and {len(taken) - SHOWN} more"


def _text(node: BeamNode, before: bytes, between: str) -> bytes:
    """The end of the text up to this node."""
    return (before + (between.encode() if before else b"") + node.token.bytes)[-8 * TEXT_END :]


def _round_lines(steps: list[SpeculativeStep]) -> Iterator[str]:
    """A line of chips a round, then the counts of the whole run.

    ✓ accepted, ✗ rejected, ↺ drawn by the model instead, + added by it, – drafted and never looked at.
    """
    yield f"{'round':>5}  ✓ accepted  ✗ rejected  ↺ drawn instead  + added  – not looked at"
    for number, step in enumerate(steps, start=1):
        nodes = {node.id: node for node in step.nodes}
        chips = [_chip("✓" if v.accepted else "✗", nodes.pop(v.node).token) for v in step.verdicts]
        if step.added is not None:
            chips.append(_chip("↺" if step.ending == "recovered" else "+", step.added.token))
        chips += [_chip("–", node.token) for node in nodes.values()]
        yield f"{number:5}  {' '.join(chips)}"
    found = counts(steps)
    yield f"tau {found.tau:.2f}: {found.emitted} tokens in {found.target_passes} passes of the model"
    if found.acceptance is not None:
        passes = f" in {found.draft_passes} passes of the draft model" if found.draft_passes else ""
        share = f"{found.accepted} of {found.judged} looked at accepted ({found.acceptance:.2f})"
        yield f"{found.drafted} drafted{passes}, {share}"


def _chip(mark: str, token: Token) -> str:
    return mark + printable(token.text.translate(SPACES))

"""A recorded search judged again against the search itself, run with the new settings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.beam.pruning import (
    AbsoluteThreshold,
    MaxPerParent,
    PruningRule,
    RelativeLocalThreshold,
    RelativeThreshold,
)
from decoding.beam.rejudge import Rejudged, rejudge
from decoding.beam.search import beam
from decoding.models import load
from decoding.models.table import parse
from decoding.models.toy import ToyModel
from decoding.sampling import Uniforms
from decoding.settings import BeamSettings
from decoding.trace import BeamNode, BeamStep, Cut

many = settings(max_examples=200, deadline=None, derandomize=True)
WORDS = ("a", "b", "c", "d", "e", "<end>")


def run(model: Any, asked: BeamSettings) -> tuple[BeamStep, ...]:
    steps = tuple(beam(model, model.encode(""), asked, Uniforms(0)))
    assert all(isinstance(step, BeamStep) for step in steps)
    return steps  # type: ignore[return-value]


def again(model: Any, steps: Sequence[BeamStep], asked: BeamSettings) -> Rejudged:
    return rejudge(steps, asked, model.end_ids, model.info.vocab_size)


def paths(steps: Sequence[BeamStep]) -> dict[tuple[int, ...], BeamNode]:
    """Every node by its tokens from the root, which say which one it is in any search."""
    found: dict[tuple[int, ...], BeamNode] = {}
    of_id: dict[int | None, tuple[int, ...]] = {None: ()}
    for step in steps:
        for node in step.nodes:
            of_id[node.id] = (*of_id[node.parent], node.token.id)
            found[of_id[node.id]] = node
    return found


def finished(steps: Sequence[BeamStep], step: BeamStep) -> list[tuple[tuple[int, ...], float]]:
    path_of = {node.id: path for path, node in paths(steps).items()}
    return [(path_of[text.node], text.score) for text in step.finished]


def near(cut: Cut | None, error: float = 1e-9) -> Any:
    """The same rule, its numbers to rounding: a stored probability gives back its logarithm to the last bit or so."""
    if cut is None:
        return None
    return Cut(cut.rule, pytest.approx(cut.value, abs=error), pytest.approx(cut.threshold, abs=error))


def check(recorded: Sequence[BeamStep], judged: Rejudged, fresh: Sequence[BeamStep], error: float = 0.0) -> None:
    """As far as the judgement goes, it is the fresh search; its own numbers may differ by `error`."""

    def same(value: Any) -> Any:
        return pytest.approx(value, abs=error) if error and value is not None else value

    exact = len(judged.steps)
    assert judged.until in (None, exact)
    ours, theirs = paths(judged.steps), paths(fresh[:exact])
    ids = {node.id: node for step in recorded for node in step.nodes}
    for path in ours.keys() & theirs.keys():
        one, other = ours[path], theirs[path]
        assert (one.fate, one.rule) == (other.fate, near(other.rule, max(error, 1e-9))), path
        assert (one.prob, one.logprob, one.score) == (same(other.prob), same(other.logprob), same(other.score))
        assert one.token == other.token
        assert replace(ids[one.id], fate=one.fate, rule=one.rule) == one, "a node keeps its id and its numbers"
    for some, others in ((ours, theirs), (theirs, ours)):
        assert {path for path, node in some.items() if node.fate != "pruned"} <= others.keys()
    for one_step, other_step, old in zip(judged.steps, fresh, recorded, strict=False):
        assert (one_step.depth, one_step.ending) == (other_step.depth, other_step.ending)
        assert one_step.attainable == same(other_step.attainable)
        held, theirs_held = finished(judged.steps, one_step), finished(fresh, other_step)
        assert [path for path, _ in held] == [path for path, _ in theirs_held]
        assert [score for _, score in held] == [same(score) for _, score in theirs_held]
        assert [node.score for node in one_step.nodes] == sorted((n.score for n in one_step.nodes), reverse=True)
        assert len(one_step.nodes) <= one_step.considered <= other_step.considered
        if old.considered == len(old.nodes):
            assert one_step.considered == other_step.considered
    if judged.until is None:
        assert exact == len(fresh) and judged.steps[-1].ending is not None
    else:
        assert exact < len(fresh) or fresh[-1].ending is None


def expanded(recorded: Sequence[BeamStep], judged: Rejudged) -> bool:
    """Whether the depth after the last judged has recorded children of all that were kept there."""
    if len(judged.steps) == len(recorded):
        return False
    parents = {node.parent for node in recorded[len(judged.steps)].nodes}
    open_ = {node.id for node in judged.steps[-1].nodes if node.fate == "kept"} if judged.steps else {None}
    return open_ <= parents


def rules() -> st.SearchStrategy[tuple[PruningRule, ...]]:
    quarters = st.sampled_from([0.1, 0.25, 0.5, 0.75, 1])
    any_rule = st.one_of(
        quarters.map(RelativeThreshold),
        quarters.map(RelativeLocalThreshold),
        st.sampled_from([0.0, 0.5, 1, 2]).map(AbsoluteThreshold),
        st.integers(1, 3).map(MaxPerParent),
    )
    return st.lists(any_rule, max_size=2, unique_by=lambda rule: rule.name).map(tuple)


@st.composite
def models(draw: st.DrawFn) -> ToyModel:
    """Five words and an end token, rows after up to two words, weights in small whole numbers: ties and zeros."""

    def row() -> dict[str, float]:
        weights = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 5, 9]), min_size=6, max_size=6).filter(any))
        return {word: weight / sum(weights) for word, weight in zip(WORDS, weights, strict=True)}

    contexts = ["", *WORDS[:5], *(f"{a} {b}" for a in WORDS[:3] for b in WORDS[:3])]
    rows = {context: row() for context in contexts if draw(st.integers(0, 3))}
    return ToyModel(parse({"end": "<end>", "rows": rows, "default": row()}, "random"))


def searches(tops: Sequence[int]) -> st.SearchStrategy[BeamSettings]:
    return st.builds(
        BeamSettings,
        num_beams=st.integers(1, 4),
        max_new_tokens=st.integers(1, 4),
        length_penalty=st.sampled_from([0.0, 1.0, 2.0, -1.0]),
        early_stopping=st.sampled_from([False, True, "never"]),
        top=st.sampled_from(tops),
        rules=rules(),
    )


@many
@given(models(), searches([10]), searches([10]))
def test_all_recorded(model: ToyModel, old: BeamSettings, new: BeamSettings) -> None:
    """With every candidate recorded it stops only where a beam was kept that the record does not expand."""
    recorded, fresh = run(model, old), run(model, new)
    judged = again(model, recorded, new)
    check(recorded, judged, fresh)
    assert judged.steps, "the candidates after the prompt do not depend on the settings"
    assert judged.until is None or not expanded(recorded, judged)


@many
@given(models(), searches([1, 2, 3]), searches([1, 2, 3]))
def test_a_part_recorded(model: ToyModel, old: BeamSettings, new: BeamSettings) -> None:
    """Where candidates were left out, it goes on only while none of them can have been taken."""
    recorded, fresh = run(model, old), run(model, new)
    check(recorded, again(model, recorded, new), fresh)


@many
@given(models(), searches([5, 6, 10]))
def test_by_its_own_settings_a_search_is_itself(model: ToyModel, asked: BeamSettings) -> None:
    """Where of each beam as many are recorded as there are beams and end tokens: 4 and 1 at most."""
    recorded = run(model, asked)
    judged = again(model, recorded, asked)
    assert judged.until is None and len(judged.steps) == len(recorded)
    for one, other in zip(judged.steps, recorded, strict=True):
        assert replace(one, nodes=other.nodes) == other
        assert [replace(node, rule=None) for node in one.nodes] == [replace(node, rule=None) for node in other.nodes]
        assert [node.rule for node in one.nodes] == [near(node.rule) for node in other.nodes]


def grid() -> Iterator[tuple[ToyModel, BeamSettings, BeamSettings]]:
    """Searches of width 4 that record three candidates a beam, and narrower ones with rules."""
    for seed in range(40):
        weights = [(seed * 7 + 3 * place * place) % 11 + 1 for place in range(6)]
        rows = {
            " ".join(context): dict(zip(WORDS, [w / sum(weights) for w in weights[at:] + weights[:at]], strict=True))
            for at, context in enumerate([(), ("a",), ("b",), ("c",), ("a", "b"), ("d",)])
        }
        model = ToyModel(parse({"end": "<end>", "rows": rows, "default": rows[""]}, "grid"))
        old = BeamSettings(num_beams=4, max_new_tokens=4, top=3)
        for width in (1, 2, 3, 4):
            yield model, old, replace(old, num_beams=width, rules=(RelativeThreshold(0.4), MaxPerParent(2)))


def test_often_it_goes_to_the_end_and_sometimes_it_cannot() -> None:
    ways = Counter(again(model, run(model, old), new).until is None for model, old, new in grid())
    assert ways[True] >= 100 and ways[False] >= 10, ways


# known trees


LECTURE = BeamSettings(num_beams=2, max_new_tokens=3, top=6)


@pytest.fixture(scope="module")
def lecture() -> Any:
    return load("toy:lecture")


def told(step: BeamStep) -> dict[str, tuple[str, str | None]]:
    return {node.token.text: (node.fate, node.rule and node.rule.rule) for node in step.nodes}


def test_the_lecture_with_a_relative_threshold(lecture: Any) -> None:
    judged = again(lecture, run(lecture, LECTURE), replace(LECTURE, rules=(RelativeThreshold(0.75),)))
    assert judged.until is None
    first, second, third = judged.steps
    assert told(first)["We"] == ("pruned", "relative_threshold"), ".3 / .4 is at the threshold"
    (we,) = (node.rule for node in first.nodes if node.token.text == "We")
    assert we == Cut("relative_threshold", pytest.approx(0.75), 0.75)
    assert {node.parent for node in second.nodes} == {node.id for node in first.nodes if node.token.text == "I"}
    assert [node.token.text for node in second.nodes if node.fate == "kept"] == ["like", "love"]
    assert (first.considered, second.considered, third.considered) == (6, 6, 12)
    assert [math.exp(text.score * 3) for text in third.finished] == pytest.approx([0.096, 0.08])


def test_the_lecture_narrower(lecture: Any) -> None:
    judged = again(lecture, run(lecture, LECTURE), replace(LECTURE, num_beams=1))
    assert judged.until is None
    words = [[node.token.text for node in step.nodes if node.fate != "pruned"] for step in judged.steps]
    assert words == [["I"], ["like"], ["singing"]]


def test_the_lecture_wider_needs_the_model(lecture: Any) -> None:
    """Three beams keep He or She after the prompt, which the record does not expand."""
    judged = again(lecture, run(lecture, LECTURE), replace(LECTURE, num_beams=3))
    assert judged.until == 1 and len(judged.steps) == 1
    assert sum(node.fate == "kept" for node in judged.steps[0].nodes) == 3
    deeper = again(lecture, run(lecture, LECTURE), replace(LECTURE, max_new_tokens=4))
    assert deeper.until == 3 and deeper.steps[-1].ending is None


def test_a_record_cut_short(lecture: Any) -> None:
    recorded = run(lecture, LECTURE)
    assert again(lecture, recorded[:2], LECTURE) == Rejudged(recorded[:2], 2)
    assert again(lecture, (), LECTURE) == Rejudged((), 0)


def test_too_few_recorded_to_tell(lecture: Any) -> None:
    """One candidate a beam, of a search of width 1: a second beam may be anything."""
    recorded = run(lecture, replace(LECTURE, num_beams=1, top=1))
    assert len(recorded[0].nodes) < recorded[0].considered
    assert again(lecture, recorded, replace(LECTURE, num_beams=4)) == Rejudged((), 0)


def test_what_a_rule_cut_unrecorded_may_come_back() -> None:
    """`a y`, .2, was cut by the old rule and is not in the record: without the rule it is the second beam."""
    rows = {"": {"a": 0.5, "b": 0.5}, "a": {"x": 0.6, "y": 0.4}, "b": {word: 0.125 for word in "pqrstuvw"}}
    model = ToyModel(parse({"end": "<end>", "rows": rows}, "back"))
    new = BeamSettings(num_beams=2, max_new_tokens=2, top=1)
    recorded = run(model, replace(new, rules=(RelativeLocalThreshold(0.7),)))
    assert [[node.token.text for node in step.nodes] for step in recorded] == [["a", "b"], ["x", "p"]]
    assert again(model, recorded, new).until == 1
    assert again(model, recorded, replace(new, num_beams=1)).until is None, "one beam is sure"


def test_a_beam_whose_recorded_extensions_hold_all_probability_has_no_more() -> None:
    rows = {"": {"a": 0.6, "b": 0.4}, "a": {"x": 1}, "b": {word: 0.125 for word in "pqrstuvw"}}
    model = ToyModel(parse({"end": "<end>", "rows": rows}, "all"))
    asked = BeamSettings(num_beams=2, max_new_tokens=2, top=3)
    recorded = run(model, asked)
    assert len(recorded[1].nodes) < recorded[1].considered
    assert again(model, recorded, asked) == Rejudged(recorded, None)


def test_how_many_were_considered_where_all_rows_are_full() -> None:
    flat = {word: 1 / 6 for word in WORDS}
    model = ToyModel(parse({"end": "<end>", "rows": {}, "default": {**flat, "a": 1 / 3, "b": 0.0}}, "flat"))
    assert model.info.vocab_size == 7
    recorded = run(model, BeamSettings(num_beams=3, max_new_tokens=3, top=2))
    full = [replace(step, considered=7 * len({node.parent for node in step.nodes})) for step in recorded]
    judged = again(model, full, BeamSettings(num_beams=1, max_new_tokens=3, top=2))
    assert judged.until is None and [step.considered for step in judged.steps] == [7, 7, 7]


def test_other_searches_are_not_judged(lecture: Any) -> None:
    for asked in (replace(LECTURE, search="stochastic"), replace(LECTURE, num_beam_groups=2, diversity_penalty=1.0)):
        with pytest.raises(AssertionError):
            again(lecture, (), asked)


def test_a_neural_model(tiny_llama: Any) -> None:
    """A whole vocabulary, in float32: a batch of fewer beams rounds in its own way, and the choices are the same."""
    old = BeamSettings(num_beams=6, max_new_tokens=5, top=12)
    prompt = tiny_llama.encode("The sky")
    recorded = tuple(beam(tiny_llama, prompt, old, Uniforms(0)))
    reached = 0
    for width in (1, 2, 3, 6):
        for chosen in ((), (RelativeThreshold(0.3),), (MaxPerParent(1),), (AbsoluteThreshold(1.0), MaxPerParent(2))):
            new = replace(old, num_beams=width, rules=chosen, length_penalty=0.5)
            judged = again(tiny_llama, recorded, new)
            check(recorded, judged, tuple(beam(tiny_llama, prompt, new, Uniforms(0))), error=1e-4)
            reached += judged.until is None
            rows = [1] + [sum(node.fate == "kept" for node in step.nodes) for step in judged.steps]
            size = tiny_llama.info.vocab_size
            assert [s.considered for s in judged.steps] == [n * size for n in rows[: len(judged.steps)]]
    assert reached >= 4

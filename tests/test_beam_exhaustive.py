"""Every text of a small model against an enumeration of its table, and where a search lost one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.beam.exhaustive import BATCH, exhaustive
from decoding.beam.paths import Lost, where_lost
from decoding.beam.search import beam
from decoding.errors import UserError
from decoding.models.protocol import Output
from decoding.models.table import Table, parse
from decoding.models.toy import ToyModel
from decoding.sampling import Uniforms
from decoding.settings import BeamSettings
from decoding.trace import BeamNode, BeamStep, Cut, Fate, Token

many = settings(max_examples=60, deadline=None, derandomize=True)
LETTERS = "abc"


def enumerated(table: Table, most: int, words: tuple[str, ...] = ()) -> dict[tuple[str, ...], float]:
    """Every text of the table and its probability, by recursion."""
    if words and (words[-1] == table.end or len(words) == most):
        return {words: 1.0}
    found: dict[tuple[str, ...], float] = {}
    for word, prob in table.after(words).items():
        if prob > 0:
            found |= {text: prob * rest for text, rest in enumerated(table, most, (*words, word)).items()}
    return found


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Three words and an end token, a row for most contexts of up to two words; some probabilities are 0."""
    words = [*LETTERS, "<end>"]

    def row() -> dict[str, float]:
        weights = draw(st.lists(st.integers(0, 4), min_size=4, max_size=4).filter(any))
        return {word: weight / sum(weights) for word, weight in zip(words, weights, strict=True)}

    contexts = ["", *LETTERS, *(f"{a} {b}" for a in LETTERS for b in LETTERS)]
    rows = {context: row() for context in contexts if draw(st.integers(0, 3))}
    return parse({"end": "<end>", "rows": rows, "default": row()}, "random")


@many
@given(tables(), st.integers(1, 4), st.sampled_from([0.0, 0.6, 1.0, 2.0, -1.0]))
def test_all_texts_best_first(table: Table, most: int, penalty: float) -> None:
    model = ToyModel(table)
    found = exhaustive(model, model.encode(""), most, penalty)
    exact = enumerated(table, most)
    texts = [tuple(model.token(id).text for id in one.token_ids) for one in found]
    assert len(set(texts)) == len(texts) and set(texts) == set(exact)
    for one, words in zip(found, texts, strict=True):
        assert one.logprob == pytest.approx(math.log(exact[words]), abs=1e-9)
        assert one.score == pytest.approx(one.logprob / len(words) ** penalty, abs=1e-9)
        assert one.text == " ".join(word for word in words if word != "<end>")
    keys = [(-one.score, one.token_ids) for one in found]
    assert keys == sorted(keys)
    assert math.fsum(math.exp(one.logprob) for one in found) == pytest.approx(1, abs=1e-9), "whatever the length"


def test_more_texts_than_one_batch_and_a_prompt() -> None:
    model = ToyModel(parse({"end": "<end>", "rows": {}, "default": {word: 0.1 for word in "abcdefghij"}}, "ten"))
    found = exhaustive(model, model.encode("a b"), 3)
    assert len(found) == 1000 > BATCH
    assert len({one.token_ids for one in found}) == 1000 and all(len(one.token_ids) == 3 for one in found)


@pytest.mark.parametrize(("limit", "refused"), [(1000, False), (999, True), (500, True), (1, True)])
def test_too_many_texts(limit: int, refused: bool) -> None:
    model = ToyModel(parse({"end": "<end>", "rows": {}, "default": {word: 0.1 for word in "abcdefghij"}}, "ten"))
    if not refused:
        assert len(exhaustive(model, model.encode(""), 3, limit=limit)) == 1000
        return
    with pytest.raises(UserError, match=f"at most {limit:,} are listed: ask for fewer new tokens") as caught:
        exhaustive(model, model.encode(""), 3, limit=limit)
    assert caught.value.code == "too_many_texts" and limit < caught.value.values["count"] <= 1000


class Counting(ToyModel):
    """Counts the contexts it reads."""

    read = 0

    def forward(self, tokens: Any, *rest: Any, **options: Any) -> Output:
        self.read += len(tokens)
        return super().forward(tokens, *rest, **options)


def test_a_tree_that_never_ends_is_refused_at_once() -> None:
    model = Counting(parse({"end": "<end>", "rows": {}, "default": {"a": 0.5, "b": 0.5}}, "two"))
    with pytest.raises(UserError) as caught:
        exhaustive(model, model.encode(""), 1_000_000)
    assert caught.value.code == "too_many_texts" and model.read < 200_000


class Broken(ToyModel):
    """Gives NaN at the third token, in one of its rows."""

    def forward(self, tokens: Any, *rest: Any, **options: Any) -> Output:
        logits = super().forward(tokens, *rest, **options).logits
        if tokens.shape[1] == 3:
            logits[-1, -1, 0] = math.nan
        return Output(logits)


def test_broken_logits_are_told() -> None:
    model = Broken(parse({"end": "<end>", "rows": {}, "default": {"a": 0.5, "b": 0.5}}, "two"))
    assert len(exhaustive(model, model.encode(""), 2)) == 4
    with pytest.raises(UserError, match="At step 3 the model gave NaN"):
        exhaustive(model, model.encode(""), 3)


def test_a_neural_model_too(tiny_llama: Any) -> None:
    """One new token of every kind: the law itself, though its logits are float32."""
    prompt = tiny_llama.encode("The sky")
    found = exhaustive(tiny_llama, prompt, 1)
    logits = tiny_llama.forward(torch.tensor([prompt]), tiny_llama.new_cache()).logits[0, -1]
    assert len(found) == len(logits)
    law = {one.token_ids[0]: one.logprob for one in found}
    exact = logits.double().log_softmax(-1)
    assert [law[id] for id in range(len(logits))] == pytest.approx(exact.tolist(), abs=1e-5)


# where a search lost a text


def node(id: int, parent: int | None, token: int, fate: Fate = "kept", rule: Cut | None = None) -> BeamNode:
    return BeamNode(id, parent, Token(token, str(token)), 0.5, -1.0, -1.0, fate, rule)


WIDTH = Cut("width", -2.0, -1.0)
STEPS = (
    BeamStep(1, (node(0, None, 7), node(1, None, 8), node(2, None, 9, "pruned", WIDTH)), 3, (), -1.0),
    BeamStep(2, (node(3, 1, 7), node(4, 0, 7, "pruned", WIDTH), node(5, 1, 5, "finished")), 3, (), -1.0),
    BeamStep(3, (node(6, 3, 7, "pruned", WIDTH), node(7, 3, 5, "finished")), 2, (), None, "no_beams"),
)


@pytest.mark.parametrize(
    ("ids", "depth", "at"),
    [
        ([9, 7, 5], 1, 2),
        ([7, 7, 5], 2, 4),
        ([8, 7, 7, 5], 3, 6),
        ([6, 7], 1, None),  # not recorded
        ([7, 5], 2, None),  # a token recorded there only under another parent
        ([8, 5, 5], 3, None),  # after a finished beam nothing goes on
        ([8], None, None),
        ([8, 5], None, None),
        ([8, 7], None, None),
        ([8, 7, 5], None, None),
    ],
)
def test_where_a_text_was_lost(ids: Sequence[int], depth: int | None, at: int | None) -> None:
    lost = where_lost(STEPS, ids)
    if depth is None:
        assert lost is None
    else:
        every = {node.id: node for step in STEPS for node in step.nodes}
        assert lost == Lost(depth, None if at is None else every[at])


@many
@given(tables(), st.integers(1, 4), st.integers(1, 3), st.sampled_from([0.0, 1.0]), st.sampled_from([1, 4]))
def test_a_search_misses_the_best_text_just_where_it_lost_it(
    table: Table, most: int, width: int, penalty: float, top: int
) -> None:
    model = ToyModel(table)
    asked = BeamSettings(num_beams=width, max_new_tokens=most, length_penalty=penalty, top=top)
    steps: list[Any] = list(beam(model, model.encode(""), asked, Uniforms(0)))
    found = exhaustive(model, model.encode(""), most, penalty)
    for one in found[:3]:
        lost = where_lost(steps, one.token_ids)
        if one == found[0] and lost is None:
            assert steps[-1].finished[0].score == pytest.approx(one.score, abs=1e-9)
        if lost is None:
            continue
        if lost.node is not None:
            assert lost.node.token.id == one.token_ids[lost.depth - 1] and lost.node.rule is not None
        else:
            assert lost.depth > len(steps) or len(steps[lost.depth - 1].nodes) < steps[lost.depth - 1].considered
        assert steps[-1].finished[0].score <= found[0].score + 1e-9


def test_a_search_that_had_ended() -> None:
    assert where_lost(STEPS[:1], [8, 7]) == Lost(2, None)
    assert where_lost((), [8]) == Lost(1, None)

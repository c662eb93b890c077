"""Probability tables as models: the lecture's known answers, and every mistake a table can hold."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from decoding.beam.exhaustive import exhaustive
from decoding.beam.paths import where_lost
from decoding.beam.search import beam
from decoding.errors import UserError
from decoding.models import load
from decoding.models.table import parse
from decoding.models.toy import TABLES, ToyModel, names
from decoding.sampling import Uniforms, sample
from decoding.settings import BeamSettings, greedy_settings
from decoding.trace import BeamStep

GOOD: dict[str, Any] = {"end": "<end>", "rows": {"": {"a": 0.5, "b": 0.5}, "a": {"b": 0.25, "<end>": 0.75}}}


@pytest.fixture(scope="module")
def lecture() -> Any:
    return load("toy:lecture")


def following(model: Any, text: str) -> dict[str, float]:
    """Words with a probability above 0 after a prompt."""
    logits = model.forward(torch.tensor([model.encode(text)]), model.new_cache(), logits_to_keep=1).logits[0, -1]
    assert logits.dtype == torch.float64
    return {model.token(id).text: prob for id, prob in enumerate(logits.softmax(-1).tolist()) if prob > 0}


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("", {"I": 0.4, "We": 0.3, "He": 0.1, "She": 0.1, "They": 0.01, "…": 0.09}),
        ("I", {"like": 0.4, "love": 0.4, "am": 0.1, "hate": 0.01, "want": 0.01, "…": 0.08}),
        ("We", {"like": 0.4, "do": 0.3, "are": 0.2, "can": 0.01, "say": 0.01, "…": 0.08}),
        ("I like", {"singing": 0.6, "song": 0.2, "shouting": 0.01, "going": 0.01, "dancing": 0.01, "…": 0.17}),
        ("I love", {"singing": 0.5, "dancing": 0.3, "you": 0.11, "going": 0.01, "it": 0.01, "…": 0.07}),
        ("He", {"…": 1.0}),
        ("We do", {"…": 1.0}),
        ("… …", {"…": 1.0}),
        ("I like singing", {"<end>": 1.0}),
        ("… … …", {"<end>": 1.0}),
        ("I like singing … …", {"<end>": 1.0}),
    ],
)
def test_lecture_table(lecture: Any, text: str, row: dict[str, float]) -> None:
    found = following(lecture, text)
    assert found.keys() == row.keys()
    assert all(abs(found[word] - prob) < 1e-12 for word, prob in row.items())


def test_beam_of_two_on_the_lecture_table(lecture: Any) -> None:
    """The lecture's example: I .4 and We .3, then I like .16 and I love .16, then .096 and .08."""
    beams = [((), 1.0)]
    for kept in ([0.4, 0.3], [0.16, 0.16], [0.096, 0.08]):
        grown = [
            ((*words, word), prob * p)
            for words, prob in beams
            for word, p in following(lecture, " ".join(words)).items()
        ]
        beams = sorted(grown, key=lambda beam: -beam[1])[:2]
        assert [prob for _, prob in beams] == pytest.approx(kept, abs=1e-12)
    assert [" ".join(words) for words, _ in beams] == ["I like singing", "I love singing"]


def test_after_the_end_only_the_end(lecture: Any) -> None:
    (end,) = lecture.end_ids
    ids = torch.tensor([[*lecture.encode("I"), end]])
    assert lecture.forward(ids, lecture.new_cache()).logits[0, -1].argmax() == end


def test_prompts_and_text(lecture: Any) -> None:
    ids = lecture.encode("  I   like\n")
    assert [lecture.token(id).text for id in ids] == ["<start>", "I", "like"]
    assert lecture.decode(ids[1:]) == "I like"
    assert lecture.encode("") == lecture.encode(" \n") == ids[:1]
    assert [(word.text, word.count, word.merges) for word in lecture.tokenization("I like").words] == [
        *(("<start>", 1, ()), ("I", 1, ()), ("like", 1, ())),
    ]
    assert lecture.info.name == "toy:lecture" and lecture.info.vocab_size == len({"<start>", "<end>"}) + 22


@pytest.mark.parametrize("text", ["I adore", "<end>", "<start>", "ich"])
def test_unknown_words_are_refused_with_the_known_ones(lecture: Any, text: str) -> None:
    with pytest.raises(UserError, match=r"not in the table toy:lecture; its words are I, We, He"):
        lecture.encode(text)


def test_no_chat_and_no_hidden_states(lecture: Any) -> None:
    with pytest.raises(UserError, match="no chat template"):
        lecture.encode("I", "chat")
    with pytest.raises(UserError, match="no hidden states"):
        lecture.forward(torch.tensor([lecture.encode("I")]), lecture.new_cache(), hidden_layers=(-1,))


def test_cached_equals_whole_and_cache_operations(lecture: Any) -> None:
    ids = lecture.encode("I like singing")
    whole = lecture.forward(torch.tensor([ids]), lecture.new_cache()).logits
    cache = lecture.new_cache()
    steps = [lecture.forward(torch.tensor([[id]]), cache).logits for id in ids]
    assert torch.equal(torch.cat(steps, 1), whole)
    cache.crop(2)
    cache.reorder([0, 0, 0])
    love, like, am = (lecture.encode(word)[1] for word in ("love", "like", "am"))
    three = lecture.forward(torch.tensor([[love], [like], [am]]), cache).logits
    assert torch.equal(three[1, 0], whole[0, 2])
    cache.reorder([1])
    assert torch.equal(lecture.forward(torch.tensor([ids[3:]]), cache).logits[0, 0], whole[0, 3])
    cache.keep([0, 1, 3])  # <start> I singing
    assert cache.length == 3 and lecture.decode(cache.rows[0]) == "<start> I singing"


def test_a_tree_under_its_mask_is_its_paths(lecture: Any) -> None:
    """Nodes I, We, I like, I love, I love singing in one forward; then one branch is kept."""
    words, parents = ["I", "We", "like", "love", "singing"], [-1, -1, 0, 0, 3]
    ids = [lecture.encode(word)[1] for word in words]
    cache = lecture.new_cache()
    lecture.forward(torch.tensor([lecture.encode("")]), cache)
    mask = torch.full((1, 1, 5, 6), torch.finfo(torch.float32).min)
    mask[..., 0] = 0
    for node in range(5):
        at = node
        while at >= 0:
            mask[0, 0, node, 1 + at] = 0
            at = parents[at]
    depth = torch.tensor([[1, 1, 2, 2, 3]])
    logits = lecture.forward(torch.tensor([ids]), cache, depth, mask).logits[0]
    for node, path in enumerate(["I", "We", "I like", "I love", "I love singing"]):
        alone = lecture.forward(torch.tensor([lecture.encode(path)]), lecture.new_cache(), logits_to_keep=1).logits
        assert torch.equal(logits[node], alone[0, 0]), path
    cache.keep([0, 1, 4])
    assert lecture.decode(cache.rows[0]) == "<start> I love"


# the tables that show where a search goes wrong


def searched(model: Any, **options: Any) -> tuple[list[BeamStep], str, float]:
    """The steps of a beam search, its best text and that text's probability."""
    steps: list[Any] = list(beam(model, model.encode(""), BeamSettings(**options), Uniforms(0)))
    nodes = {node.id: node for step in steps for node in step.nodes}
    at, ids = steps[-1].finished[0].node, []
    prob = math.exp(nodes[at].logprob)
    while at is not None:
        ids.append(nodes[at].token.id)
        at = nodes[at].parent
    ids = [id for id in reversed(ids) if id not in model.end_ids]
    return steps, model.decode(ids), prob


def greedy(model: Any) -> tuple[str, float]:
    steps = list(sample(model, model.encode(""), greedy_settings(6), Uniforms(0)))
    ids = [step.token.id for step in steps if step.token.id not in model.end_ids]
    return model.decode(ids), math.prod(step.model_prob for step in steps)


def best(model: Any, penalty: float = 1.0) -> tuple[str, float, tuple[int, ...]]:
    first = exhaustive(model, model.encode(""), 6, penalty)[0]
    return first.text, math.exp(first.logprob), first.token_ids


def test_greedy_trap() -> None:
    """Greedy takes the likeliest first word and ends with a text a fifth as likely as what a beam of 2 finds."""
    model = load("toy:greedy-trap")
    assert greedy(model) == ("The cat slept", pytest.approx(0.06))
    for penalty in (0.0, 1.0):
        assert best(model, penalty)[:2] == ("Some cats purr", pytest.approx(0.288))
    for width in (2, 3, 4):
        steps, text, prob = searched(model, num_beams=width, max_new_tokens=3)
        assert (text, prob) == ("Some cats purr", pytest.approx(0.288)) and len(steps) == 3
    assert searched(model, num_beams=1, max_new_tokens=3)[1] == "The cat slept"


def test_beam_trap() -> None:
    """A beam of 2 cuts at once the word that the best text begins with; a beam of 3 keeps it."""
    model = load("toy:beam-trap")
    text, prob, ids = best(model)
    assert (text, prob) == ("Nobody knows why", pytest.approx(0.18))
    assert best(model, 0.0)[0] == text and greedy(model) == ("We are here", pytest.approx(0.064))
    steps, second, lower = searched(model, num_beams=2, max_new_tokens=3)
    assert (second, lower) == ("You can go", pytest.approx(0.0945)) and prob / lower > 1.9
    lost = where_lost(steps, ids)
    assert lost is not None and lost.depth == 1 and lost.node is not None and lost.node.rule is not None
    assert (lost.node.token.text, lost.node.fate, lost.node.rule.rule) == ("Nobody", "pruned", "width")
    assert (lost.node.rule.value, lost.node.rule.threshold) == pytest.approx((math.log(0.25), math.log(0.35)))
    for width in (3, 4):
        steps, third, higher = searched(model, num_beams=width, max_new_tokens=6)
        assert (third, higher) == (text, pytest.approx(prob)) and where_lost(steps, ids) is None


@pytest.mark.parametrize(("penalty", "text"), [(0.0, "Stop"), (1.0, "Please stop that noise")])
def test_early_end(penalty: float, text: str) -> None:
    """One beam ends after a word, the search goes on, and the length penalty decides which text is the best."""
    model = load("toy:early-end")
    (end,) = model.end_ids
    steps, found, _ = searched(model, num_beams=2, max_new_tokens=6, length_penalty=penalty)
    assert found == text == best(model, penalty)[0]
    first, second, third = steps[:3]
    assert not first.finished and len(second.finished) == 1 and second.ending is None, "an open beam can still win"
    (early,) = (node for node in second.nodes if node.fate == "finished")
    assert early.token.id == end and math.exp(early.logprob) == pytest.approx(0.3)
    assert all(node.parent != early.id for step in steps for node in step.nodes), "it is never expanded"
    assert len(third.finished) == 2 and third.ending is None and len(steps) == 5
    hasty, wrong, _ = searched(model, num_beams=2, max_new_tokens=6, length_penalty=penalty, early_stopping=True)
    assert (len(hasty), hasty[-1].ending, wrong) == (3, "full", "Stop")


@pytest.mark.parametrize("name", ["greedy-trap", "beam-trap", "early-end"])
def test_the_tables_are_small_whole_sentences(name: str) -> None:
    model: Any = load(f"toy:{name}")
    assert name in names() and json.loads((TABLES / f"{name}.json").read_text())["name"] == name
    assert model.info.vocab_size <= 20
    texts = exhaustive(model, model.encode(""), 6)
    assert 10 <= len(texts) <= 30 and all(one.token_ids[-1] in model.end_ids for one in texts)
    assert not any("…" in one.text or "<" in one.text for one in texts)
    probs = [math.exp(one.logprob) for one in exhaustive(model, model.encode(""), 6, 0.0)]
    assert probs[0] > 1.5 * probs[1], "no near-tie for the best"


def write(folder: Path, value: Any) -> str:
    path = folder / "mine.json"
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return f"toy:{path}"


def test_own_tables(tmp_path: Path) -> None:
    model: Any = load(write(tmp_path, GOOD))
    assert following(model, "a") == pytest.approx({"b": 0.25, "<end>": 0.75}, abs=1e-12)
    assert following(model, "a b") == {"…": 1.0}
    assert model.info.name == f"toy:{tmp_path / 'mine.json'}"
    fixed: Any = load(write(tmp_path, GOOD | {"rows": {}, "default": {"A": 0.9, "B": 0.1}}))
    assert following(fixed, "A B A") == pytest.approx({"A": 0.9, "B": 0.1}, abs=1e-12)
    rounded: Any = load(write(tmp_path, GOOD | {"default": {"a": 0.3333333, "b": 0.3333333, "c": 0.3333333}}))
    assert math.fsum(following(rounded, "b").values()) == pytest.approx(1, abs=1e-12)


JOINED = "\U0001f469\u200d\U0001f52c"
"""A woman, a joiner, a microscope: one emoji."""
HEART = "\u2764\ufe0f"
"""A heart and the selector of its coloured form."""


def test_an_emoji_that_a_joiner_holds_together_is_one_word(tmp_path: Path) -> None:
    rows = {"": {JOINED: 0.5, HEART: 0.5}, JOINED: {HEART: 1}}
    model: Any = load(write(tmp_path, GOOD | {"rows": rows}))
    assert following(model, "") == {JOINED: 0.5, HEART: 0.5} and following(model, JOINED) == {HEART: 1.0}
    assert model.decode(model.encode(f"{JOINED} {HEART}")[1:]) == f"{JOINED} {HEART}"


@pytest.mark.parametrize("word", ["\u200d", "a\u200d", "\u200da", "a\u200d\u200db", "a\u200bb", "a\x00b", "a\u202eb"])
def test_other_letters_that_nobody_sees_are_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(UserError, match="one word"):
        load(write(tmp_path, GOOD | {"rows": {"": {word: 1}}}))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rows": {"": {"a": 0.5, "b": 0.45}}}, r"Row '\(start\)' sums to 0.95; it must sum to 1: add \+0.05"),
        ({"rows": {"a b": {"a": 0.5, "b": 0.50001}}}, r"Row 'a b' sums to 1.00001"),
        ({"default": {"a": 0.5}}, r"Row 'default' sums to 0.5"),
        ({"rows": {"": {"a": -0.5, "b": 1}}}, r"'a' has probability -0.5"),
        ({"rows": {"": {"a": math.nan, "b": 1}}}, r"'a' has probability nan"),
        ({"rows": {"": {"a": math.inf}}}, r"'a' has probability inf"),
        ({"rows": {"": {"a": "1"}}}, r"'a' has probability 1 in row"),
        ({"rows": {"": {"a": True}}}, r"'a' has probability True"),
        ({"rows": {"": {"a": 10**400}}}, r"'a' has probability 1000"),
        ({"rows": {"": {"a": None}}}, r"'a' has probability None"),
        ({"rows": {"": {}}}, r"must give words their probabilities"),
        ({"rows": {"": [1]}}, r"must give words their probabilities"),
        ({"rows": {"": {"a b": 1}}}, r"one word"),
        ({"rows": {"": {"<start>": 1}}}, r"one word"),
        ({"rows": {"a  b": {"a": 1}}}, r"single spaces"),
        ({"rows": {"<end>": {"a": 1}}}, r"single spaces"),
        ({"rows": []}, r"one row per context"),
        ({"rows": None}, r"one row per context"),
        ({"rows": {f"a{n}": {"a": 1} for n in range(10_001)}}, r"at most 10,000 rows"),
        ({"end": None}, r"it must name the end token"),
        ({"end": "the end"}, r"it must name the end token"),
        ({"end": "…"}, r"it must name the end token"),
        ({"max_words": 0}, r"whole number from 1"),
        ({"max_words": 2.5}, r"whole number from 1"),
        ({"max_words": True}, r"whole number from 1"),
        ({"name": 5}, r"must be text"),
        ({"row": {}}, r"a key of the table is 'row'; it must be one of"),
    ],
)
def test_mistakes_in_a_table_are_one_sentence(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says) as caught:
        load(write(tmp_path, GOOD | change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", r"line 1, column 1 is not JSON"),
        (b'{"end": "<end>",', r"line 1, column \d+ is not JSON"),
        (b"[1]", r"must be a JSON object"),
        (b"\xff\xfe", r"not text in UTF-8"),
        (b"[" * 100_000, r"is not JSON"),
        (b'{"end": "<end>", "end": "<stop>"}', r"'end': it is there twice"),
        (b'{"end": "<end>", "rows": {"": {"a": 0.5, "a": 0.5}}}', r"'a': it is there twice"),
        (b" " * 1_000_001, r"at most 1,000,000 bytes"),
    ],
)
def test_files_that_are_no_table(tmp_path: Path, data: bytes, says: str) -> None:
    with pytest.raises(UserError, match=says) as caught:
        load(write(tmp_path, data))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("toy:", r"no toy model ''; there are .*lecture"),
        ("toy:lectures", r"no toy model 'lectures'; there are .*lecture"),
        ("toy:../tables/lecture", r"no toy model"),
        ("toy:/does/not/exist.json", r"could not be read \(No such file or directory\)"),
        ("toy:/.json", r"could not be read"),
    ],
)
def test_names_that_are_no_table(name: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        load(name)


def test_the_row_of_a_parsed_table_sums_to_one() -> None:
    model = ToyModel(parse(GOOD, "good"))
    assert model.info.name == "toy:good"
    assert model.end_ids == {model.info.vocab_size - 2}

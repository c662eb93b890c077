"""Every trace value survives the trip through JSON, and no file, however broken, does more than a UserError."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import __main__ as command_line
from decoding import api, codec, observe, trace
from decoding.errors import UserError
from decoding.sampling import Uniforms, decide
from decoding.settings import MAX_NODES
from decoding.speculative.loop import speculate
from decoding.speculative_settings import speculative_settings_from
from decoding.trace import (
    Addition,
    AliasColumn,
    AliasDraw,
    ArgmaxDraw,
    BeamNode,
    BeamStep,
    BinarySearchDraw,
    Candidate,
    DirectDraw,
    Distribution,
    DraftNode,
    Draw,
    Finish,
    ForcedDraw,
    GumbelDraw,
    Header,
    ModelInfo,
    PerturbedScore,
    Probe,
    Prompt,
    SampleStep,
    SpeculativeStep,
    Stage,
    Token,
    Trace,
    Verdict,
)
from decoding.values import Effects, Histogram, Merge, Tokenization, Word
from tests.speculative_toys import Scripted

many = settings(max_examples=100, deadline=None, derandomize=True)

HALF = Token(7, "⟨F0 9F⟩", b"\xf0\x9f")
PLAIN = Token(3, " a<b>&\"'\\\u2028😊")
EMPTY = Token(0, "⟨0⟩", b"")
DRAWS: dict[str, Draw] = {
    "argmax": ArgmaxDraw(1.25, HALF, 0.5, 2),
    "direct": DirectDraw(0.1, 2, 1 / 3, 1 - 2.0**-53),
    "binary": BinarySearchDraw(0.7, (Probe(0, 3, 1, 0.5, False), Probe(2, 3, 2, 0.9, True)), 2, 0.5, 0.9),
    "alias": AliasDraw(0.3, 0.6, 1, True, 3, 2, (AliasColumn(0, PLAIN, 1.0, None), AliasColumn(1, HALF, 0.2, PLAIN))),
    "gumbel": GumbelDraw((PerturbedScore(PLAIN, -2.5, 5e-324, -6.6, -9.1),), 3),
    "forced": ForcedDraw(),
}
LAW = Distribution((Candidate(PLAIN, 0.1, 0.75, True), Candidate(HALF, None, 0.0, False)), 0.25, 2, 0.811)
STAGES = (
    Stage("model", {}, LAW, 3, 1.0),
    Stage("top_k", {"k": 3, "why": ("a", 1, None, True, 0.5)}, LAW, 3, 0.875, ("tie_broken", "no_filtering")),
)
DRAFT_LAW = Distribution((Candidate(PLAIN, -0.5, 0.5, True), Candidate(HALF, -1.25, 0.25, True)), 0.25, 1, 1.5)
ROUND = SpeculativeStep(
    position=0,
    nodes=(DraftNode(0, None, PLAIN, 0.5, 1), DraftNode(1, 0, HALF, 0.25, 2), DraftNode(2, 1, EMPTY, 1e-300, 3)),
    verdicts=(
        Verdict(0, "lossless", 0.75, 0.5, 1, 1.0, 0.9, True, LAW, DRAFT_LAW),
        Verdict(1, "lossless", 0.0, 0.25, 4, 0.0, 0.1, False, LAW, DRAFT_LAW),
    ),
    added=Addition(PLAIN, 0.75, 0.3, LAW),
    emitted=(PLAIN, PLAIN),
    ending="recovered",
    draft_forwards=3,
)
WORD = Word(" a", 0, 1, (Token(1, " "), Token(2, "a")), (Merge(5, (PLAIN,)),))
OTHERS = (
    Tokenization((PLAIN, EMPTY), (WORD,)),
    Effects((PLAIN,), (0.0, 1.0), ((1.0, 0.5),), (0.0, 1.0), (0.9,), ((1, 2),)),
    Histogram(LAW, 1000, (700, 0), 300, 0.01, 0.02),
    ROUND,
)


def run(draw: str = "direct", prob: float = 0.75) -> Trace:
    """A trace of one step with this draw, small and with every awkward kind of text."""
    step = SampleStep(0, STAGES, DRAWS[draw], PLAIN, prob, 1e-300)
    info = ModelInfo("toy:<b>", 10, 4096, "cpu", "float64")
    asked = {"sampler": draw, "top": 2, "forced": {"0": 3}, "order": ("top_k",), "top_p": 0.1}
    header = Header(1, info, "sample", Prompt("a\n\0\u202eb", "raw", (EMPTY, HALF)), asked, 2**63 - 1, {"python": "3"})
    return Trace(header, (step,), Finish("length", (3,), " a😊"))


def tree(**options: Any) -> Trace:
    """A small beam search after one sampled token, with a text that finishes early, one that does, and cuts."""
    asked = {"num_beams": 2, "num_return_sequences": 2, "max_new_tokens": 4, "top": 2, "sample_first": 1}
    return api.decode(api.load("toy:lecture"), "", api.beam_settings(**{**asked, **options}), seed=1)


ROUND_OPTIONS: dict[str, dict[str, Any]] = {
    "lossless": {"drafter": "random", "temperature": 2.5, "gamma": 3},
    "exact": {"drafter": "oracle", "verifier": "exact", "max_new_tokens": 2},
    "top_k": {"drafter": "random", "verifier": "top_k", "verify_top_k": 1},
    "typical": {"drafter": "oracle", "verifier": "typical", "typical_epsilon": 0.5, "typical_delta": 1.0},
    "ngram": {"drafter": "ngram", "gamma": 2, "ngram_max": 1},
}


def rounds(rule: str = "lossless", seed: int = 13, **options: Any) -> Trace:
    """A small speculative run by this rule, whose drafts are accepted and rejected."""
    asked = api.speculative_settings(**{"top": 3, **ROUND_OPTIONS[rule], **options})
    return api.decode(api.load("toy:lecture"), "" if rule != "ngram" else "He We He", asked, seed)


def plain(value: Any = None) -> Any:
    """A run as parsed JSON, to be damaged."""
    return json.loads(codec.dumps(run() if value is None else value))


def refused(text: str | bytes, cls: type = Trace) -> UserError:
    """The one sentence with which a text is turned away."""
    with pytest.raises(UserError) as caught:
        codec.loads(text, cls)
    sentence = str(caught.value)
    assert len(sentence) < 500 and sentence.endswith(".") and sentence.isprintable(), sentence
    sentence.encode()
    return caught.value


# --- the round trip --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DRAWS)
def test_a_run_comes_back_as_it_was(kind: str) -> None:
    value = run(kind)
    text = codec.dumps(value)
    assert codec.loads(text) == codec.loads(text.encode()) == value
    assert codec.dumps(codec.loads(text)) == text


@pytest.mark.parametrize("value", OTHERS, ids=lambda value: type(value).__name__)
def test_other_values_come_back_as_they_were(value: Any) -> None:
    assert codec.loads(codec.dumps(value), type(value)) == value


def test_the_examples_hold_every_class_of_the_trace() -> None:
    def classes(value: Any) -> Iterator[type]:
        if dataclasses.is_dataclass(value):
            yield type(value)
            for field in dataclasses.fields(value):
                yield from classes(getattr(value, field.name))
        elif isinstance(value, (tuple, list)):
            for item in value:
                yield from classes(item)

    kinds = {kind for choice in get_args(Draw) for kind in get_args(codec._hints(choice)["kind"])}
    assert set(DRAWS) == kinds
    seen = {cls for value in (*map(run, DRAWS), tree(), *OTHERS) for cls in classes(value)}
    declared = {value for value in vars(trace).values() if isinstance(value, type) and dataclasses.is_dataclass(value)}
    assert seen >= declared
    assert seen - declared == {Tokenization, Effects, Histogram, Word, Merge}


@pytest.mark.parametrize("sampler", ["argmax", "direct", "binary", "alias", "gumbel"])
def test_real_runs_come_back_as_they_were(sampler: str) -> None:
    model = api.load("toy:lecture")
    asked = api.sample_settings(sampler=sampler, temperature=1.3, top_k=4, top_p=0.95, forced={1: 3}, top=3)
    value = api.decode(model, "I", asked, seed=5)
    assert codec.loads(codec.dumps(value)) == value


@pytest.mark.parametrize("search", ["beam", "sample", "stochastic"])
def test_real_searches_come_back_as_they_were(tiny_llama: Any, search: str) -> None:
    for first in (0, 2):
        asked = api.beam_settings(search=search, num_return_sequences=3, sample_first=first, max_new_tokens=5)
        value = api.decode(tiny_llama, "the sea", asked, seed=2)
        assert codec.loads(codec.dumps(value)) == value and len(value.finish.returned) == 3
    groups = api.beam_settings(num_beam_groups=4, diversity_penalty=2.0, max_new_tokens=4, num_return_sequences=4)
    value = api.decode(tiny_llama, "the sea", groups)
    assert codec.loads(codec.dumps(value)) == value
    pruned = api.beam_settings(relative_threshold=0.3, max_per_parent=1, max_new_tokens=4)
    value = api.decode(tiny_llama, "the sea", pruned)
    assert codec.loads(codec.dumps(value)) == value


def test_stopped_searches_come_back_as_they_were(tiny_llama: Any) -> None:
    """At every depth, with texts finished and open, and while tokens are still sampled."""
    for model, prompt in ((api.load("toy:lecture"), ""), (tiny_llama, "the sea")):
        asked = api.beam_settings(num_return_sequences=3, sample_first=1, early_stopping="never", max_new_tokens=6)
        whole = api.decode(model, prompt, asked, seed=1)
        for count in range(len(whole.steps)):
            steps = whole.steps[:count]
            value = Trace(whole.header, steps, api.finish_beams(model, asked, steps, cancelled=True))
            assert value.finish.reason == "cancelled" and codec.loads(codec.dumps(value)) == value


@pytest.mark.parametrize("rule", ROUND_OPTIONS)
def test_real_rounds_come_back_as_they_were(tiny_llama: Any, rule: str) -> None:
    for seed in range(6):
        value = rounds(rule, seed)
        assert codec.loads(codec.dumps(value)) == value
        asked = api.speculative_settings(**ROUND_OPTIONS[rule])
        value = api.decode(tiny_llama, "the sky is the sky", asked, seed)
        assert codec.loads(codec.dumps(value)) == value


def test_rounds_of_trees_come_back_as_they_were() -> None:
    """Siblings: one rejected and the next accepted, both rejected, and branches that nobody looks at."""
    model, header = api.load("toy:lecture"), rounds("lossless", gamma=3).header
    tokens = [model.encode(word)[-1] for word in ("He", "We", "love", "like", "do", "song")]
    settings, seen = speculative_settings_from(header.settings), set()
    for seed in range(40):
        drafter = Scripted([tokens], model.info.vocab_size, [-1, -1, 0, 1, 1, 3])
        steps = tuple(speculate(model, drafter, model.encode(""), settings, Uniforms(seed)))
        value = Trace(header, steps, api.finish(model, api.new_tokens(steps)))
        assert codec.loads(codec.dumps(value)) == value
        seen.add(tuple((verdict.node, verdict.accepted) for verdict in steps[0].verdicts))
    assert len(seen) > 4 and ((0, False), (1, False)) in seen


def test_half_characters_come_back_as_they_were(tiny_llama: Any) -> None:
    """A byte-level model given half a character: its tokens carry bytes, not text."""
    tokens = tuple(tiny_llama.token(id) for id in tiny_llama.encode("😊 naïve 我"))
    assert any(token.data is not None for token in tokens)
    assert codec.loads(codec.dumps(Tokenization(tokens, ())), Tokenization).tokens == tokens
    value = api.decode(tiny_llama, "😊", api.sample_settings(temperature=2, max_new_tokens=8))
    assert codec.loads(codec.dumps(value)) == value


@many
@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(0, 2**63 - 1),
)
def test_any_text_bytes_and_numbers_come_back(text: str, data: bytes, number: float, seed: int) -> None:
    value = run()
    token = Token(3, text, data)
    stage = dataclasses.replace(STAGES[0], params={text: number, "seed": -seed}, notes=(text,))
    step = dataclasses.replace(value.steps[0], stages=(stage,), token=token)
    header = dataclasses.replace(value.header, seed=seed, versions={text: text})
    value = dataclasses.replace(value, header=header, steps=(step,))
    assert codec.loads(codec.dumps(value)) == value


def test_a_byte_order_mark_is_let_through() -> None:
    assert codec.loads(b"\xef\xbb\xbf" + codec.dumps(run()).encode()) == run()


def test_the_json_is_compact_and_leaves_out_defaults() -> None:
    text = codec.dumps(Token(1, "é"))
    assert text == '{"id":1,"text":"é"}'
    assert codec.dumps(ForcedDraw()) == '{"kind":"forced"}'


def test_the_longest_run_allowed_can_be_read_again() -> None:
    """256 steps, every processor, 50 alternatives of long tokens: within the size that is read."""
    options = {"repetition_penalty": 1.1, "presence_penalty": 0.1, "frequency_penalty": 0.1, "no_repeat_ngram_size": 3}
    filters = {"top_k": 9000, "top_p": 0.99999, "min_p": 1e-7, "typical_p": 0.99999}
    cutoffs = {"epsilon_cutoff": 1e-9, "eta_cutoff": 1e-9, "temperature": 1.7}
    asked = api.sample_settings(sampler="alias", top=50, **options, **filters, **cutoffs)
    logits = torch.randn(10_000, generator=torch.Generator().manual_seed(0))
    step = decide(logits, torch.arange(50), 255, asked, Uniforms(0), lambda id: Token(id, f"{id:012}"))
    assert len(step.stages) == 12 and len(step.stages[-1].result.top) > 50
    text = codec.dumps(step)
    assert len(text.encode()) * 256 < codec.MAX_BYTES
    assert (text.count("{") + text.count("[")) * 256 < codec.MAX_VALUES


def test_the_largest_search_allowed_can_be_read_again() -> None:
    """As many nodes as settings let a search record, with long tokens: within the size that is read."""
    nodes = tree().steps[1].nodes
    pruned = dataclasses.replace(next(node for node in nodes if node.rule), id=123456, parent=123456)
    cut = dataclasses.replace(pruned.rule, rule="relative_local_threshold", value=-1 / 3, threshold=-2 / 3)
    node = dataclasses.replace(pruned, token=Token(49151, " understanding"), prob=1 / 3e5, rule=cut, group=7)
    text = codec.dumps(dataclasses.replace(node, logprob=-100 / 3, score=-100 / 7))
    beams, tokens = trace.MAX_BEAMS, 256
    most = MAX_NODES + 3 * beams * tokens  # besides the `top` of each beam, those that the choice looks at
    assert len(text.encode()) * most < codec.MAX_BYTES
    assert text.count("{") * most + (beams + 4) * tokens < codec.MAX_VALUES


def test_the_longest_speculative_run_allowed_can_be_read_again() -> None:
    """A token a round, after one rejection of sixteen drafts, with both laws of 50 long tokens: the most per token."""
    size = 10_000
    laws = [observe.law(torch.randn(size, generator=torch.Generator().manual_seed(seed))) for seed in range(2)]
    name = lambda id: Token(id, f"{id:012}")  # noqa: E731
    ids = observe.shown_ids(laws, 50, 9999)
    p, q = (observe.distribution(of, ids, name) for of in laws)
    nodes = tuple(DraftNode(i, i - 1 if i else None, name(9999), 1 / 3e5, i + 1) for i in range(trace.MAX_GAMMA))
    verdict = Verdict(0, "lossless", 1 / 3e7, 1 / 3e5, 9999, 1 / 300, 1 / 3, False, p, q)
    added = Addition(name(9999), 1 / 3e5, 1 / 3, p)
    step = SpeculativeStep(255, nodes, (verdict,), added, (name(9999),), "recovered", 16)
    text = codec.dumps(step)
    assert len(ids) > 90 and len(text.encode()) * 256 < codec.MAX_BYTES
    assert (text.count("{") + text.count("[")) * 256 < codec.MAX_VALUES


# --- damage ----------------------------------------------------------------------------------------


def test_every_truncation_is_refused() -> None:
    text = codec.dumps(run("alias")).encode()
    for length in range(len(text)):
        assert refused(text[:length]).code == "trace_broken"


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "null", "true", "0", '"x"', "[]", "{}", "[[]]", '{"header": 1}', "not json", "{'header': 1}"),
        *("NaN", "Infinity", "-Infinity", "1e999", "[1e999]", "9" * 4000, "9" * 400_000, "-" + "9" * 400_000),
        *("[" * 100_000, '{"header":' * 100_000, "[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900),
        *('"\\ud800"', '"\ud800"', '{"\\ud800": 1}', "\ufeff{}", "\0", "<script>alert(1)</script>", '{"a":1,"a":2}'),
    ],
    ids=lambda text: repr(text[:20]) + f"-{len(text)}",
)
def test_what_is_no_trace_at_all_is_refused(text: str) -> None:
    refused(text)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\x80abc", bytes(range(256)), b"\x1f\x8b\x08", b"PK\x03\x04"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    assert refused(data).code == "trace_broken"


def test_what_is_huge_is_refused() -> None:
    error = refused(b" " * (codec.MAX_BYTES + 1))
    assert error.code == "trace_too_large" and f"{codec.MAX_BYTES:,}" in str(error)
    assert "objects" in str(refused("[" + "[],{}," * (codec.MAX_VALUES // 2) + "0]"))


@pytest.mark.parametrize("version", [0, 2, -1, 10**18, 10**4000, -(10**4000)])
def test_another_version_is_named(version: int) -> None:
    damaged = plain()
    damaged["header"]["schema"] = version
    damaged["steps"] = "in another form"
    text = json.dumps(damaged) if abs(version) < 10**30 else json.dumps(damaged).replace(str(version), "1" + "0" * 4000)
    assert refused(text).code == "trace_version"


@pytest.mark.parametrize("version", [None, "1", 1.0, True, [1], {}])
def test_a_version_of_another_type_is_refused(version: Any) -> None:
    damaged = plain()
    damaged["header"]["schema"] = version
    assert "header.schema" in str(refused(json.dumps(damaged)))


CANDIDATE = ("steps", 0, "stages", 0, "result", "top", 0)
WRONG: list[tuple[tuple[Any, ...], Any]] = [
    (("header",), None),
    (("header", "seed"), True),
    (("header", "seed"), 1.0),
    (("header", "seed"), -1),
    (("header", "seed"), 2**63),
    (("header", "model", "vocab_size"), 3),  # a drawn token is beyond it
    (("header", "model", "vocab_size"), 10**400),
    (("header", "prompt", "template"), "html"),
    (("header", "prompt", "tokens"), {}),
    (("header", "prompt", "tokens"), [1]),
    (("header", "prompt", "text"), "\ud83d"),
    (("header", "settings"), []),
    (("header", "settings", "top_p"), 1e999),
    (("header", "settings", "top_k"), 10**400),
    (("header", "settings", "x"), "\udc00"),
    (("header", "settings", "\ud800"), 1),
    (("header", "settings", "deep"), [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]),
    (("header", "versions", "python"), 3),
    (("header", "surprise"), 1),
    (("steps",), {}),
    (("steps",), [[]]),
    (("steps", 0, "kind"), "beam"),
    (("steps", 0, "position"), 1),
    (("steps", 0, "position"), -1),
    (("steps", 0, "prob"), 1.5),
    (("steps", 0, "prob"), -0.1),
    (("steps", 0, "prob"), "0.5"),
    (("steps", 0, "prob"), True),
    (("steps", 0, "prob"), 10**400),
    (("steps", 0, "prob"), None),
    (("steps", 0, "stages"), []),
    (("steps", 0, "stages", 0, "kept_count"), 0),
    (("steps", 0, "stages", 0, "kept_count"), 99),
    (("steps", 0, "stages", 0, "result", "top"), []),
    (("steps", 0, "stages", 0, "result", "tail_mass"), 0.5),
    (("steps", 0, "stages", 0, "result", "entropy"), -0.1),
    (("steps", 0, "stages", 0, "result", "entropy"), 1e999),
    ((*CANDIDATE, "kept"), 1),
    ((*CANDIDATE, "kept"), False),
    ((*CANDIDATE, "logit"), None),
    ((*CANDIDATE, "logit"), [1.0]),
    ((*CANDIDATE, "prob"), 0.2),
    ((*CANDIDATE, "token", "id"), 4),
    ((*CANDIDATE, "token", "id"), 7),
    ((*CANDIDATE, "token", "id"), 3.0),
    ((*CANDIDATE, "token", "data"), "xyz"),
    ((*CANDIDATE, "token", "data"), 1),
    (("steps", 0, "draw"), None),
    (("steps", 0, "draw"), {}),
    (("steps", 0, "draw", "kind"), "dice"),
    (("steps", 0, "draw", "kind"), ["direct"]),
    (("steps", 0, "draw", "kind"), "argmax"),  # with the fields of another
    (("steps", 0, "draw", "uniform"), 2),
    (("steps", 0, "draw", "low"), 1.0),
    (("steps", 0, "draw", "high"), 1e300),
    (("steps", 0, "draw", "scanned"), -1),
    (("steps", 0, "token", "id"), 5),
    (("finish", "reason"), "bored"),
    (("finish", "token_ids"), [4]),
    (("finish", "token_ids"), []),
    (("finish", "token_ids"), ["3"]),
    (("finish", "text"), None),
]


@pytest.mark.parametrize(("path", "value"), WRONG, ids=lambda part: str(part)[:60])
def test_one_wrong_value_is_refused(path: tuple[Any, ...], value: Any) -> None:
    damaged = plain()
    place = damaged
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    text = json.dumps(damaged).replace("Infinity", "1e999")
    assert refused(text).code == "trace_broken"


NODE = ("steps", 1, "nodes", 0)
LAST = ("steps", -1, "nodes", 0)
CUT = ("steps", 1, "nodes", -1)
RETURNED = ("finish", "returned", 0)
WRONG_TREE: list[tuple[tuple[Any, ...], Any]] = [
    (("steps", 0, "position"), 1),
    (("steps", 1, "depth"), 2),
    (("steps", 1, "depth"), 0),
    (("steps", 1, "depth"), -1),
    (("steps", 1, "nodes"), []),
    (("steps", 1, "considered"), 1),
    (("steps", 1, "considered"), -1),
    (("steps", 1, "attainable"), None),
    (("steps", 1, "attainable"), 1e999),
    (("steps", 1, "ending"), "full"),
    (("steps", 1, "ending"), "bored"),
    (("steps", -1, "ending"), None),
    (("steps", -1, "attainable"), -1.0),
    (("steps", -1, "finished"), []),
    (("steps", -1, "finished", 0, "node"), 0),
    (("steps", -1, "finished", 0, "node"), 10**9),
    (("steps", -1, "finished", 0, "node"), None),
    (("steps", -1, "finished", 0, "score"), -1e300),
    (("steps", -1, "finished", 1), {"node": 7, "score": -1e300}),
    (("steps", 1, "kind"), "sample"),
    ((*NODE, "id"), 1),
    ((*NODE, "id"), 0.0),
    ((*NODE, "id"), -1),
    ((*NODE, "parent"), 0),
    ((*NODE, "parent"), -1),
    ((*NODE, "prob"), 1.5),
    ((*NODE, "prob"), -0.5),
    ((*NODE, "logprob"), 0.1),
    ((*NODE, "logprob"), 1e999),
    ((*NODE, "score"), -50.0),
    ((*NODE, "score"), "0"),
    ((*NODE, "fate"), "pruned"),
    ((*NODE, "fate"), "finished"),
    ((*NODE, "fate"), "lost"),
    ((*NODE, "rule"), {"rule": "width", "value": 0.0, "threshold": 1.0}),
    ((*NODE, "group"), -1),
    ((*NODE, "group"), 0.5),
    ((*NODE, "token", "id"), 24),
    ((*LAST, "parent"), None),
    ((*LAST, "parent"), 10**6),
    ((*LAST, "id"), 0),
    ((*LAST, "token", "id"), 3),
    ((*CUT, "fate"), "kept"),
    ((*CUT, "rule"), None),
    ((*CUT, "rule", "value"), 1e999),
    ((*CUT, "rule", "threshold"), None),
    ((*CUT, "rule", "rule"), 7),
    (("finish", "reason"), "cancelled"),
    (("finish", "token_ids"), []),
    (("finish", "token_ids"), [0]),
    (("finish", "returned"), []),
    ((*RETURNED, "token_ids"), []),
    ((*RETURNED, "token_ids", 0), 3),
    ((*RETURNED, "token_ids", -1), 3),
    ((*RETURNED, "logprob"), -0.5),
    ((*RETURNED, "logprob"), 0.5),
    ((*RETURNED, "score"), -0.001),
    ((*RETURNED, "score"), -99.0),
    ((*RETURNED, "text"), "\ud800"),
]


@pytest.mark.parametrize(("path", "value"), WRONG_TREE, ids=lambda part: str(part)[:60])
def test_one_wrong_value_of_a_search_is_refused(path: tuple[Any, ...], value: Any) -> None:
    damaged = plain(tree())
    place = damaged
    for key in path[:-1]:
        place = place[key]
    was = place[path[-1]] if isinstance(place, list) else place.get(path[-1], ())
    assert json.dumps(was) != json.dumps(value)
    place[path[-1]] = value
    text = json.dumps(damaged).replace("Infinity", "1e999")
    assert refused(text).code == "trace_broken"


def place_of(value: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    """Where a path leads in parsed JSON: the last object or list, and the key there."""
    for key in path[:-1]:
        value = value[key]
    return value, path[-1]


def spoilt(value: Any, path: tuple[Any, ...], new: Any) -> str:
    """JSON with one value replaced by another."""
    place, key = place_of(value, path)
    was = place[key] if isinstance(place, list) else place.get(key, ())
    assert json.dumps(was) != json.dumps(new)
    place[key] = new
    return json.dumps(value).replace("Infinity", "1e999")


FIRST = ("steps", 0, "nodes", 0)
ACCEPTED = ("steps", 0, "verdicts", 0)
REJECTED = ("steps", 0, "verdicts", -1)
ADDED = ("steps", 0, "added")
ELSEWHERE = {"id": 5, "text": "elsewhere"}
WRONG_ROUNDS: list[tuple[tuple[Any, ...], Any]] = [
    (("header", "method"), "sample"),
    (("header", "model", "vocab_size"), 3),
    (("header", "draft"), 1),
    (("header", "draft"), {"name": "x"}),
    (("header", "settings", "gamma"), 2),
    (("header", "settings", "gamma"), 17),
    (("header", "settings", "gamma"), "3"),
    (("header", "settings", "max_new_tokens"), 1),
    (("header", "settings", "verifier"), "exact"),
    (("header", "settings", "verifier"), ["lossless"]),
    (("header", "settings", "drafter"), None),
    (("header", "settings", "typical_delta"), None),
    (("header", "settings", "order"), "temperature"),
    (("header", "settings"), {}),
    (("steps", 0, "kind"), "sample"),
    (("steps", 0, "position"), 1),
    (("steps", 1, "position"), 0),
    (("steps", 0, "ending"), "bonus"),
    (("steps", 0, "ending"), "eos"),
    (("steps", 0, "ending"), "bored"),
    (("steps", 0, "draft_forwards"), -1),
    (("steps", 0, "nodes"), []),
    (("steps", 0, "verdicts"), []),
    (("steps", 0, "emitted"), []),
    (("steps", 0, "emitted", 0), ELSEWHERE),
    (("steps", 0, "emitted", -1), ELSEWHERE),
    ((*FIRST, "id"), 1),
    ((*FIRST, "parent"), 0),
    ((*FIRST, "parent"), 2),
    ((*FIRST, "depth"), 2),
    ((*FIRST, "depth"), 0),
    ((*FIRST, "token"), ELSEWHERE),
    ((*FIRST, "draft_prob"), 0.5),
    ((*FIRST, "draft_prob"), 1.5),
    (("steps", 0, "nodes", 1, "parent"), None),
    (("steps", 0, "nodes", 1, "depth"), 1),
    (("steps", 0, "nodes", 2, "token", "id"), 24),
    ((*ACCEPTED, "node"), 1),
    ((*ACCEPTED, "node"), 99),
    ((*ACCEPTED, "node"), -1),
    ((*ACCEPTED, "rule"), "top_k"),
    ((*ACCEPTED, "rule"), "exact"),
    ((*ACCEPTED, "accepted"), False),
    ((*ACCEPTED, "target_prob"), 0.0),
    ((*ACCEPTED, "target_prob"), 2.0),
    ((*ACCEPTED, "draft_prob"), 0.0),
    ((*ACCEPTED, "draft_prob"), 0.5),
    ((*ACCEPTED, "rank"), 0),
    ((*ACCEPTED, "threshold"), None),
    ((*ACCEPTED, "threshold"), 0.0),
    ((*ACCEPTED, "uniform"), None),
    ((*ACCEPTED, "uniform"), 1.5),
    ((*ACCEPTED, "drawn"), ELSEWHERE),
    ((*ACCEPTED, "target", "tail_mass"), 0.9),
    ((*ACCEPTED, "target", "top"), []),
    ((*ACCEPTED, "target", "top", 0, "token"), ELSEWHERE),
    ((*ACCEPTED, "draft", "top", 0, "prob"), 0.9),
    ((*ACCEPTED, "draft"), None),
    ((*REJECTED, "accepted"), True),
    ((*REJECTED, "threshold"), 0.5),
    (ADDED, None),
    ((*ADDED, "token"), ELSEWHERE),
    ((*ADDED, "prob"), 0.0),
    ((*ADDED, "prob"), 0.123),
    ((*ADDED, "uniform"), 2),
    ((*ADDED, "law", "top"), []),
    (("finish", "reason"), "length"),
    (("finish", "token_ids"), []),
    (("finish", "returned"), [{"token_ids": [1], "text": "", "logprob": -1.0, "score": -1.0}]),
]


@pytest.mark.parametrize(("path", "value"), WRONG_ROUNDS, ids=lambda part: str(part)[:60])
def test_one_wrong_value_of_a_round_is_refused(path: tuple[Any, ...], value: Any) -> None:
    assert refused(spoilt(plain(rounds()), path, value)).code == "trace_broken"


WRONG_RULES: list[tuple[str, tuple[Any, ...], Any]] = [
    ("exact", ("drawn",), None),
    ("exact", ("drawn",), ELSEWHERE),
    ("exact", ("threshold",), 0.5),
    ("exact", ("uniform",), 0.5),
    ("exact", ("accepted",), False),
    ("top_k", ("threshold",), None),
    ("top_k", ("threshold",), 0.0),
    ("top_k", ("threshold",), 99.0),
    ("top_k", ("rank",), 1),
    ("top_k", ("uniform",), 0.5),
    ("top_k", ("accepted",), True),
    ("typical", ("threshold",), None),
    ("typical", ("threshold",), -1.0),
    ("typical", ("threshold",), 1.0),
    ("typical", ("drawn",), ELSEWHERE),
    ("typical", ("accepted",), False),
]


@pytest.mark.parametrize(("rule", "path", "value"), WRONG_RULES, ids=lambda part: str(part)[:40])
def test_a_verdict_that_its_rule_does_not_give_is_refused(rule: str, path: tuple[Any, ...], value: Any) -> None:
    """The fields of another rule, or a decision that the numbers do not say."""
    damaged = plain(rounds(rule))
    which = next(i for i, v in enumerate(damaged["steps"][0]["verdicts"]) if v["accepted"] == (rule != "top_k"))
    assert refused(spoilt(damaged, ("steps", 0, "verdicts", which, *path), value)).code == "trace_broken"


def test_rounds_that_do_not_follow_each_other_are_refused() -> None:
    """One twice, one left out, one after the end, and steps of another method among them."""
    whole, sampled = plain(rounds()), plain(run())["steps"][0]
    first, second, *rest = whole["steps"]
    for steps in (
        *([first, first, second, *rest], [second, *rest], [second, first, *rest], [first]),
        *([sampled, first, second, *rest], [first, second, *rest, sampled], [sampled], []),
        [first, second, *rest, {**rest[-1], "position": sum(len(s["emitted"]) for s in whole["steps"])}],
    ):
        assert refused(json.dumps({**whole, "steps": steps})).code == "trace_broken"
    whole["header"]["method"] = "greedy"
    assert "header.method" in str(refused(json.dumps(whole)))


def test_a_run_that_goes_on_after_a_round_without_room_is_refused() -> None:
    value = plain(rounds("exact"))
    assert value["steps"][-1]["ending"] == "length"
    value["steps"][-1]["ending"] = "eos"
    assert "another reason" in str(refused(json.dumps(value)))


def test_steps_of_a_search_that_do_not_follow_each_other_are_refused() -> None:
    """A depth twice, one left out, a sampled token after a searched one, a search that was not stopped cut short."""
    whole = plain(tree())
    sampled, first, second, *rest = whole["steps"]
    for steps in (
        *([sampled, first, first, second, *rest], [sampled, second, *rest], [first, sampled, second, *rest]),
        *([first, second, *rest], [sampled, first], [sampled], [], [sampled, *rest], [sampled, second, first, *rest]),
    ):
        assert refused(json.dumps({**whole, "steps": steps})).code == "trace_broken"


def test_more_beams_than_there_may_be_are_refused() -> None:
    """A file that claims thousands of open beams or held texts is turned away before they are compared."""
    whole = plain(tree())
    first = whole["steps"][1]
    kept = first["nodes"][0]
    many_kept = [{**kept, "id": number} for number in range(trace.MAX_BEAMS + 1)]
    damaged = {**whole, "steps": [whole["steps"][0], {**first, "nodes": many_kept, "considered": 99}]}
    assert "more beams" in str(refused(json.dumps(damaged)))
    last = whole["steps"][-1]
    held = [{"node": 7, "score": -1.0}] * (trace.MAX_BEAMS + 1)
    assert "more beams" in str(
        refused(json.dumps({**whole, "steps": [*whole["steps"][:-1], {**last, "finished": held}]}))
    )
    returned = whole["finish"]["returned"] * 50
    returned.sort(key=lambda text: -text["score"])
    assert "more texts" in str(refused(json.dumps({**whole, "finish": {**whole["finish"], "returned": returned}})))


@pytest.mark.parametrize(
    ("draw", "field", "value"),
    [
        ("alias", "column", 2),
        ("alias", "column_count", 1),
        ("alias", "columns", []),
        ("alias", "columns", [{"index": 1, "token": {"id": 3, "text": ""}, "threshold": 1.5, "alias": None}]),
        ("gumbel", "scores", []),
        ("gumbel", "count", 0),
        ("argmax", "gap", -1),
        ("binary", "probes", [1]),
        ("binary", "index", -1),
        ("direct", "low", -0.5),
    ],
)
def test_a_draw_that_no_picture_could_show_is_refused(draw: str, field: str, value: Any) -> None:
    damaged = plain(run(draw))
    damaged["steps"][0]["draw"][field] = value
    assert "draw" in str(refused(json.dumps(damaged)))


def test_a_missing_field_is_named() -> None:
    for path in (("header",), ("finish",), ("steps", 0, "token"), ("steps", 0, "stages", 1, "result", "entropy")):
        damaged = plain()
        place = damaged
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]
        assert f"{path[-1]}: it is missing" in str(refused(json.dumps(damaged)))


def test_a_field_that_is_there_twice_is_refused() -> None:
    text = codec.dumps(run()).replace('"position":0', '"position":0,"position":0')
    assert "'position' is there twice" in str(refused(text))


def test_the_place_of_a_fault_is_told_in_one_line_whatever_its_name() -> None:
    damaged = plain()
    damaged["header"]["versions"] = {"a\nb\r\x1b[31m\u2028" + "c" * 1000: 1}
    assert "header.versions.a b" in str(refused(json.dumps(damaged)))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside parsed JSON."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


PLAIN_RUNS = [
    *(plain(run(kind)) for kind in DRAWS),
    *(plain(tree()), plain(tree(search="stochastic", sample_first=0))),
    *(plain(rounds(rule)) for rule in ROUND_OPTIONS),
]
PLACES = [list(places(value)) for value in PLAIN_RUNS]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.integers(),
    st.sampled_from([2**63, 10**400, -(10**400), 1e308, 5e-324, -0.0, 1e999, "\ud800", "\0", "", "direct", "model"]),
    st.floats(),
    st.floats(0, 1),
    st.text(),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)


@settings(many, max_examples=500)
@given(st.data())
def test_damage_anywhere_is_refused_or_harmless(data: st.DataObject) -> None:
    """One to three values replaced, removed, repeated or renamed: a UserError, or a run that prints and saves."""
    which = data.draw(st.integers(0, len(PLAIN_RUNS) - 1))
    damaged = copy.deepcopy(PLAIN_RUNS[which])
    for path in data.draw(st.lists(st.sampled_from(PLACES[which]), min_size=1, max_size=3)):
        place, key = damaged, path[-1]
        try:
            for step in path[:-1]:
                place = place[step]
            place[key]
        except (KeyError, IndexError, TypeError):
            continue  # an earlier damage took it away
        how = data.draw(st.sampled_from(["replace", "remove", "rename", "repeat"]))
        if not isinstance(place, (dict, list)):
            continue
        if how == "remove":
            del place[key]
        elif how == "rename" and isinstance(place, dict):
            place[data.draw(st.text(max_size=4))] = place.pop(key)
        elif how == "repeat" and isinstance(place, list):
            place.append(place[key])
        else:
            place[key] = data.draw(VALUES)
    text = json.dumps(damaged)
    try:
        value = codec.loads(text)
    except UserError:
        refused(text)
        return
    assert codec.loads(codec.dumps(value)) == value
    command_line.print_trace(value)


@settings(many, max_examples=200)
@given(st.sampled_from(list(DRAWS)), st.data())
def test_damaged_bytes_are_refused_or_harmless(kind: str, data: st.DataObject) -> None:
    text = bytearray(codec.dumps(run(kind)).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 4))] = data.draw(
            st.binary(max_size=4) | st.sampled_from([b'"', b"{", b"]", b",", b"1e999", b"NaN", b"-", b"\\ud800", b"\n"])
        )
    try:
        value = codec.loads(bytes(text))
    except UserError:
        refused(bytes(text))
        return
    assert codec.loads(codec.dumps(value)) == value


@many
@given(
    VALUES,
    st.sampled_from(
        [Trace, SampleStep, BeamStep, BeamNode, SpeculativeStep, Verdict, Addition, Tokenization, Effects, Stage]
    ),
)
def test_any_json_is_refused(value: Any, cls: type) -> None:
    refused(json.dumps(value), cls)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("settings",), {}),
        (("settings", "num_beams"), 10**9),
        (("settings", "num_beams"), "2"),
        (("settings", "num_beams"), True),
        (("settings", "length_penalty"), "a"),
        (("settings", "early_stopping"), [1]),
        (("settings", "search"), "other"),
        (("settings", "rule_order"), ["__class__"]),
        (("settings", "order"), "temperature"),
        (("method",), "sample"),
        (("method",), "greedy"),
    ],
    ids=str,
)
def test_a_search_whose_header_does_not_fit_is_refused(where: tuple[str, ...], value: Any) -> None:
    model = api.load("toy:lecture")
    plain = codec.to_plain(api.decode(model, "", api.beam_settings(num_beams=2, max_new_tokens=3)))
    assert codec.loads(json.dumps(plain)).header.method == "beam"
    place = plain["header"]
    for name in where[:-1]:
        place = place[name]
    place[where[-1]] = value
    assert "header" in str(refused(json.dumps(plain)))


def test_a_rule_that_is_unknown_is_refused() -> None:
    model = api.load("toy:lecture")
    plain = codec.to_plain(api.decode(model, "", api.beam_settings(num_beams=2, max_new_tokens=3)))
    node = next(node for step in plain["steps"] for node in step["nodes"] if node["fate"] == "pruned")
    node["rule"]["rule"] = "<img src=x>"
    assert "rule that is unknown" in str(refused(json.dumps(plain)))

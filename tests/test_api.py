"""The front door of a notebook: whole runs, streams, files, and every limit told before a run."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from decoding import api, codec
from decoding.errors import UserError
from decoding.models.toy import CONTEXT_LENGTH, ToyModel
from decoding.settings import Limits, beam_settings_from
from decoding.trace import SCHEMA, BeamStep, ForcedDraw, SampleStep, Trace


@pytest.fixture(scope="module")
def lecture() -> Any:
    return api.load("toy:lecture")


@pytest.fixture(autouse=True)
def usual_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DECODING_LAB_PROMPT_TOKENS", raising=False)
    monkeypatch.delenv("DECODING_LAB_NEW_TOKENS", raising=False)


def refused(model: Any, prompt: str, *args: Any, **options: Any) -> UserError:
    """The one sentence with which a run is refused; the model has read nothing by then."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(UserError) as caught:
        patch.setattr(type(model), "forward", None)
        api.decode(model, prompt, *args, **options)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
    return caught.value


# --- runs ------------------------------------------------------------------------------------------


def test_a_run_is_a_whole_trace(lecture: Any) -> None:
    trace = api.decode(lecture, "I", api.sample_settings(temperature=0.7), seed=3)
    header = trace.header
    assert (header.schema, header.method, header.seed) == (SCHEMA, "sample", 3)
    assert header.model == lecture.info
    assert (header.prompt.text, header.prompt.template) == ("I", "raw")
    assert [token.text for token in header.prompt.tokens] == ["<start>", "I"]
    assert header.settings == api.sample_settings(temperature=0.7).plain()
    assert set(header.versions) == {"python", "torch"}
    assert [step.position for step in trace.steps] == list(range(len(trace.steps)))
    assert trace.finish.token_ids == tuple(step.token.id for step in trace.steps)


def test_greedy_is_what_comes_without_settings(lecture: Any) -> None:
    trace = api.decode(lecture, "I")
    assert trace.header.method == "greedy"
    assert trace.finish.text == "like singing" and trace.finish.reason == "eos"


def test_the_same_again_is_the_same(lecture: Any) -> None:
    asked = api.sample_settings(sampler="gumbel", temperature=1.5)
    assert api.decode(lecture, "", asked, 7) == api.decode(lecture, "", asked, 7)


def test_a_stream_is_the_run_step_by_step(lecture: Any) -> None:
    asked = api.sample_settings()
    header = api.prepare(lecture, "We", asked, 5)
    steps = list(api.stream(lecture, header, asked))
    trace = api.decode(lecture, "We", asked, 5)
    assert tuple(steps) == trace.steps and header == trace.header
    known = [step.token.id for step in steps[:1]]
    assert list(api.stream(lecture, header, asked, known)) == steps[1:]


def test_how_a_run_ended(lecture: Any) -> None:
    (end,) = lecture.end_ids
    words = lecture.encode("I like")[1:]
    assert api.finish(lecture, [*words, end]) == api.finish(lecture, [*words, end], cancelled=True)
    assert api.finish(lecture, [*words, end]).reason == "eos"
    assert (api.finish(lecture, words).reason, api.finish(lecture, words, cancelled=True).reason) == (
        "length",
        "cancelled",
    )
    assert {api.finish(lecture, ids).text for ids in (words, [*words, end])} == {"I like"}
    assert api.finish(lecture, [], cancelled=True).text == ""


def test_an_empty_prompt_starts_from_the_start_token(lecture: Any, tiny_llama: Any) -> None:
    """Case 13."""
    for model in (lecture, tiny_llama):
        for prompt in ("", " ", "\n\n"):
            trace = api.decode(model, prompt, api.greedy_settings(2))
            assert trace.header.prompt.tokens and len(trace.steps) <= 2


@pytest.mark.parametrize(
    "prompt", ["a<b<c", '"><img src=x onerror=alert(1)>', "**x**", "$x$", "{{7*7}}", "😊 我很好 🇫🇷"]
)
def test_a_prompt_is_recorded_as_it_was_typed(tiny_llama: Any, prompt: str) -> None:
    """Cases 11 and 12: the text is kept to the letter, and the bytes of its tokens are those of the text."""
    trace = api.decode(tiny_llama, prompt, api.greedy_settings(3))
    assert trace.header.prompt.text == prompt
    assert b"".join(token.bytes for token in trace.header.prompt.tokens) == prompt.encode()
    assert codec.loads(codec.dumps(trace)) == trace


def test_the_template_is_recorded(tiny_llama: Any) -> None:
    header = api.prepare(tiny_llama, "hello", api.greedy_settings(), template="chat")
    assert header.prompt.template == "chat"
    assert len(header.prompt.tokens) > len(tiny_llama.encode("hello"))


# --- limits ----------------------------------------------------------------------------------------


def test_too_many_new_tokens(lecture: Any) -> None:
    error = refused(lecture, "I", api.greedy_settings(257))
    assert error.code == "too_many_new_tokens" and "257" in str(error) and "256" in str(error)
    assert api.decode(lecture, "I", api.greedy_settings(256)).finish.reason == "eos"
    assert refused(lecture, "I", api.greedy_settings(5), limits=Limits(new_tokens=4)).values["limit"] == 4


def test_too_long_a_prompt(lecture: Any) -> None:
    error = refused(lecture, "… " * 2000, api.greedy_settings(1))
    assert error.code == "prompt_too_long" and "2,001" in str(error) and "2,000" in str(error)
    assert api.prepare(lecture, "… " * 1999, api.greedy_settings(1)).prompt.text
    assert refused(lecture, "I like", limits=Limits(prompt_tokens=2)).values["tokens"] == 3


def test_a_prompt_of_many_megabytes_is_not_even_tokenized(lecture: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToyModel, "encode", None)
    error = refused(lecture, "I " * 5_000_000)
    assert error.code == "prompt_too_many_characters" and "10,000,000" in str(error)


def test_more_than_the_context_holds(lecture: Any, tiny_llama: Any) -> None:
    """Case 14: the sum is told before any run, and exactly the context is let through."""
    room = tiny_llama.info.context_length
    prompt = "1" * 200
    ids = tiny_llama.encode(prompt)
    error = refused(tiny_llama, prompt, api.greedy_settings(room - len(ids) + 1))
    assert error.code == "context_too_short"
    assert all(str(number) in str(error) for number in (len(ids), room, room + 1, room - len(ids) + 1))
    assert api.prepare(tiny_llama, prompt, api.greedy_settings(room - len(ids)))
    wide = Limits(prompt_tokens=10**6, new_tokens=10**6)
    assert refused(lecture, "I", api.greedy_settings(CONTEXT_LENGTH - 1), limits=wide).code == "context_too_short"


def test_a_run_to_the_very_end_of_the_context(tiny_llama: Any) -> None:
    prompt = "1" * 250
    left = tiny_llama.info.context_length - len(tiny_llama.encode(prompt))
    trace = api.decode(tiny_llama, prompt, api.sample_settings(max_new_tokens=left, temperature=5, top=1), seed=2)
    assert len(trace.steps) == left or trace.finish.reason == "eos"


def test_a_token_that_is_not_there(lecture: Any) -> None:
    size = lecture.info.vocab_size
    error = refused(lecture, "I", api.sample_settings(forced={0: size}))
    assert error.code == "unknown_token" and str(size - 1) in str(error)
    trace = api.decode(lecture, "I", api.sample_settings(forced={0: size - 1}))
    assert trace.steps[0].draw == ForcedDraw() and trace.steps[0].token.id == size - 1


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "1", None, True])
def test_a_seed_that_is_none(lecture: Any, seed: Any) -> None:
    assert refused(lecture, "I", seed=seed).values["name"] == "seed"


def test_half_a_character_and_unknown_words(lecture: Any, tiny_llama: Any) -> None:
    assert refused(tiny_llama, "\ud83d").code == "prompt_broken"
    assert refused(lecture, "I zzz").code == "toy_word"
    assert refused(lecture, "I", template="chat").code == "no_chat_template"


def test_the_environment_sets_a_servers_limits(lecture: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DECODING_LAB_NEW_TOKENS", "3")
    assert refused(lecture, "I", api.greedy_settings(4)).code == "too_many_new_tokens"
    assert api.prepare(lecture, "I", api.greedy_settings(3))


# --- beam search -----------------------------------------------------------------------------------


def test_a_search_is_a_whole_trace(lecture: Any) -> None:
    asked = api.beam_settings(num_beams=2, num_return_sequences=2, max_new_tokens=8, temperature=0.9)
    trace = api.decode(lecture, "I", asked, seed=3)
    assert (trace.header.method, trace.header.seed) == ("beam", 3)
    assert trace.header.settings == asked.plain() and beam_settings_from(trace.header.settings) == asked
    assert [step.kind for step in trace.steps] == ["beam"] * 3
    best, second = trace.finish.returned
    assert (best.text, second.text) == ("like singing", "love singing") and best.score > second.score
    assert (trace.finish.text, trace.finish.token_ids) == (best.text, best.token_ids)
    assert best.token_ids[-1] in lecture.end_ids and trace.finish.reason == "eos"
    assert best.score == pytest.approx(best.logprob / 3)


def test_a_stream_of_a_search_is_the_search_step_by_step(lecture: Any) -> None:
    asked = api.beam_settings(num_beams=2, sample_first=1, max_new_tokens=4)
    header = api.prepare(lecture, "", asked, 5)
    trace = api.decode(lecture, "", asked, 5)
    steps = list(api.stream(lecture, header, asked))
    assert tuple(steps) == trace.steps and header == trace.header
    assert api.finish_beams(lecture, asked, steps) == trace.finish
    first = steps[0]
    assert isinstance(first, SampleStep)
    assert list(api.stream(lecture, header, asked, [first.token.id])) == steps[1:]
    assert trace.finish.token_ids[0] == first.token.id and trace.finish.text.startswith(first.token.text)


def test_how_a_search_ended(lecture: Any) -> None:
    """By an end token, by length, or stopped: then with the best of what was held and what was open."""
    short = api.beam_settings(num_beams=2, num_return_sequences=2, max_new_tokens=2)
    whole = api.decode(lecture, "", short)
    assert (whole.finish.reason, whole.finish.text) == ("length", "I like")
    assert api.finish_beams(lecture, short, whole.steps, cancelled=True) == whole.finish  # it had ended by itself
    stopped = api.finish_beams(lecture, short, whole.steps[:1], cancelled=True)
    assert (stopped.reason, [each.text for each in stopped.returned]) == ("cancelled", ["I", "We"])
    assert [each.score for each in stopped.returned] == pytest.approx([math.log(0.4), math.log(0.3)])
    nothing = api.finish_beams(lecture, short, [], cancelled=True)
    assert (nothing.reason, nothing.token_ids, nothing.returned) == ("cancelled", (), ())
    drawn = api.beam_settings(num_beams=2, search="stochastic", max_new_tokens=8)
    steps = api.decode(lecture, "", drawn, 2).steps[:2]
    last = steps[-1]
    assert isinstance(last, BeamStep)
    best = api.finish_beams(lecture, drawn, steps, cancelled=True).returned[0]
    assert best.score == max(node.score for node in last.nodes)


def test_a_search_that_cannot_be_made_is_told_before(lecture: Any, tiny_llama: Any) -> None:
    """Cases 12 to 14 hold for a search as for a sampled run."""
    asked = api.beam_settings(num_beams=2, max_new_tokens=8)
    assert refused(lecture, "I zzz", asked).code == "toy_word"
    assert refused(lecture, "I", asked, seed=-1).code == "out_of_range"
    assert refused(lecture, "I", api.beam_settings(max_new_tokens=257)).code == "too_many_new_tokens"
    assert refused(tiny_llama, "the sea " * 200, asked).code == "context_too_short"
    assert refused(tiny_llama, "the sea " * 2000, asked).code == "prompt_too_long"
    for prompt in ("", " ", "\n", "a<b<c", '"><img src=x onerror=alert(1)>', "😊 {{7*7}} $x$"):
        trace = api.decode(tiny_llama, prompt, api.beam_settings(num_beams=2, max_new_tokens=3))
        assert trace.header.prompt.text == prompt and codec.loads(codec.dumps(trace)) == trace


# --- files -----------------------------------------------------------------------------------------


def test_a_saved_run_opens_as_it_was(lecture: Any, tiny_llama: Any, tmp_path: Path) -> None:
    for number, model in enumerate((lecture, tiny_llama)):
        trace = api.decode(model, "", api.sample_settings(max_new_tokens=5), seed=1)
        path = tmp_path / f"{number}.json"
        api.save(trace, path)
        assert api.open(path) == api.open(str(path)) == trace
        assert path.read_text(encoding="utf-8").count("\n") == 1


def opening(path: str | Path) -> UserError:
    with pytest.raises(UserError) as caught:
        api.open(path)
    assert str(caught.value).endswith(".")
    return caught.value


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    """Case 16: no file, a folder, a name that no file has, an empty file, and one too large."""
    assert opening(tmp_path / "none.json").code == "no_such_file"
    assert opening(tmp_path).code == "no_such_file"
    assert opening("a\0b").code == "no_such_file"
    (tmp_path / "empty.json").touch()
    assert opening(tmp_path / "empty.json").code == "trace_broken"
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(10 * codec.MAX_BYTES)
    error = opening(large)
    assert error.code == "trace_too_large" and error.values["size"] == 10 * codec.MAX_BYTES


def test_a_file_without_an_end_is_not_read_to_it() -> None:
    endless = Path("/dev/zero")
    if not endless.exists():
        pytest.skip("this system has no /dev/zero")
    assert opening(endless).code == "trace_too_large"


def test_a_trace_of_another_version(lecture: Any, tmp_path: Path) -> None:
    plain = json.loads(codec.dumps(api.decode(lecture, "I")))
    plain["header"]["schema"] = SCHEMA + 1
    path = tmp_path / "newer.json"
    path.write_text(json.dumps(plain))
    assert opening(path).code == "trace_version"


def test_a_trace_opens_without_a_model(lecture: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = api.decode(lecture, "I")
    api.save(trace, tmp_path / "run.json")
    monkeypatch.setattr(ToyModel, "__init__", None)
    opened = api.open(tmp_path / "run.json")
    assert isinstance(opened, Trace) and opened == trace

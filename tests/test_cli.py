"""The command line: one trace on stdout and nothing else, the same every time, and mistakes told in one line."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from decoding import __main__ as command_line
from decoding import api, codec, report
from decoding.beam.pruning import DEFAULT_ORDER as RULES
from decoding.errors import UserError
from decoding.processor_base import NOTES
from decoding.processors import DEFAULT_ORDER
from decoding.trace import BeamStep, Trace
from tests.conftest import NEEDS_ONNX

ROOT = Path(__file__).resolve().parents[1]
METHODS = ("greedy", "sample", "beam", "speculate", "show")
TOY = ("--model", "toy:lecture", "--prompt", "I")


def program(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """`python -m decoding` as a person runs it."""
    return subprocess.run(
        [sys.executable, "-m", "decoding", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=300,
    )


def main(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    """The same in this process: exit status, stdout, stderr."""
    try:
        status = command_line.main(arguments)
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def trace_of(capsys: Any, *arguments: str) -> Trace:
    """The trace that --json prints; nothing else may be there."""
    status, out, err = main(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    assert out.endswith("\n") and out.count("\n") == 1
    return codec.loads(out)


def mistake(capsys: Any, *arguments: str) -> str:
    """The one line that a mistake leaves: exit status 2, nothing on stdout."""
    status, out, err = main(capsys, *arguments)
    assert (status, out) == (2, ""), err
    assert err.endswith("\n") and err.count("\n") == 1 and err.startswith("decoding: ")
    return err


# --- as a program ----------------------------------------------------------------------------------


def test_the_same_command_twice_prints_the_same_bytes() -> None:
    arguments = ("sample", "--model", "toy:lecture", "--prompt", "", "--temperature", "1.5", "--seed", "3", "--json")
    first, again = program(*arguments), program(*arguments)
    assert first.returncode == 0 and first.stderr == b""
    assert first.stdout == again.stdout
    trace = codec.loads(first.stdout)
    assert trace == api.decode(api.load("toy:lecture"), "", api.sample_settings(temperature=1.5), seed=3)


def test_output_survives_a_terminal_without_unicode() -> None:
    """The lecture's `…` and an emoji in a saved prompt, where the locale knows ASCII only."""
    result = program("greedy", "--model", "toy:lecture", "--prompt", "He", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert result.returncode == 0 and "…".encode() in result.stdout and result.stderr == b""


def test_a_mistake_is_one_line_and_status_2() -> None:
    result = program("sample", *TOY, "--top-p", "1.5")
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.decode().splitlines() == [
        "decoding: top_p is 1.5; it must be 0 ≤ top_p ≤ 1: choose a value in that range."
    ]


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["small", "large"])
def test_who_stops_reading_gets_no_stack_trace(more: list[str]) -> None:
    """Output that fits the buffer fails when it is flushed, other output before."""
    command = [sys.executable, "-m", "decoding", "greedy", *TOY, *more]
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=buffered, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


# --- methods ---------------------------------------------------------------------------------------


def test_greedy(capsys: Any) -> None:
    trace = trace_of(capsys, "greedy", *TOY)
    assert trace == api.decode(api.load("toy:lecture"), "I")
    assert trace.header.method == "greedy" and trace.finish.text == "like singing"


def test_the_table_for_people(capsys: Any) -> None:
    status, out, _ = main(capsys, "greedy", *TOY)
    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    assert out.startswith("greedy on toy:lecture (float64, cpu), seed 0\n")
    assert rows[3][:5] == ["1", "'like'", "0.4000", "0.4000", "6"] and rows[3][-1] == "argmax"
    assert rows[-1][:3] == ["text:", "'like", "singing'"] and "eos" in rows[-1][-1]


def test_small_probabilities_are_not_written_as_zero() -> None:
    """Case 17: however improbable, what was drawn has a probability."""
    assert [report.probability(p) for p in (1.0, 0.4, 0.0001, 0.00005, 0.000049, 1e-300, 0.0)] == [
        *("  1.0000", "  0.4000", "  0.0001", "  0.0001"),
        *(" <0.0001", " <0.0001", "  0.0000"),
    ]


def test_an_improbable_token_is_printed_so(capsys: Any, tmp_path: Path) -> None:
    rows = {"": {"a": 1e-6, "b": 1 - 1e-6}}
    (tmp_path / "rare.json").write_text(json.dumps({"end": ".", "rows": rows, "default": {".": 1}}))
    model = f"toy:{tmp_path / 'rare.json'}"
    trace = api.decode(api.load(model), "", api.sample_settings(forced={0: 0}))
    api.save(trace, tmp_path / "run.json")
    status, out, _ = main(capsys, "show", str(tmp_path / "run.json"))
    assert status == 0 and out.splitlines()[3].split()[1:4] == ["'a'", "<0.0001", "<0.0001"]
    _, out, _ = main(capsys, "beam", "--model", model, "--num-beams", "2")
    assert "p  <0.0001" in out


def test_notes_are_printed_in_words(capsys: Any) -> None:
    """Cases 4 and 6: nothing was filtered; a tie was broken."""
    _, out, _ = main(capsys, "sample", "--model", "toy:lecture", "--top-k", "3")
    note = next(line for line in out.splitlines() if line.startswith("      "))
    assert note == "      top_k: tokens at the border had equal logits; the lowest ids were kept"
    _, out, _ = main(capsys, "sample", "--model", "toy:lecture", "--top-k", "1000000")
    assert "      top_k: removed nothing: every token met its limit" in out.splitlines()
    assert set(report.NOTES) == set(NOTES)


@pytest.mark.parametrize("method", ["greedy", "sample", "beam"])
def test_without_a_prompt_a_text_starts_from_nothing(capsys: Any, method: str) -> None:
    trace = trace_of(capsys, method, "--model", "toy:lecture")
    assert trace.header.prompt.text == "" and [t.text for t in trace.header.prompt.tokens] == ["<start>"]


# --- beam search -----------------------------------------------------------------------------------


def test_the_known_answers_of_the_lecture(capsys: Any) -> None:
    """Beam of 2 on the tree of the lecture: I .4, We .3; I like .16, I love .16; .096 and .08."""
    trace = trace_of(capsys, "beam", "--model", "toy:lecture", "--num-beams", "2", "--max-new-tokens", "3")
    assert trace == api.decode(api.load("toy:lecture"), "", api.beam_settings(num_beams=2, max_new_tokens=3))
    nodes = {n.id: n for step in trace.steps if isinstance(step, BeamStep) for n in step.nodes}

    def text(id: int | None) -> str:
        return "" if id is None else f"{text(nodes[id].parent)} {nodes[id].token.text}".strip()

    probs = {text(id): (round(math.exp(n.logprob), 9), n.fate) for id, n in nodes.items()}
    assert {t: p for t, p in probs.items() if p[1] != "pruned"} == {
        **{"I": (0.4, "kept"), "We": (0.3, "kept"), "I like": (0.16, "kept"), "I love": (0.16, "kept")},
        **{"I like singing": (0.096, "finished"), "I love singing": (0.08, "finished")},
    }
    cut = {"We like": 0.12, "We do": 0.09, "I love dancing": 0.048, "I like song": 0.032}
    assert {t: probs[t] for t in cut} == {t: (p, "pruned") for t, p in cut.items()}
    assert trace.finish.text == "I like singing"


def test_the_table_of_a_search(capsys: Any, tmp_path: Path) -> None:
    arguments = ("beam", "--model", "toy:lecture", "--num-beams", "2", "--num-return-sequences", "2", "--top", "3")
    _, out, _ = main(capsys, *arguments, "--relative-threshold", "0.3")
    lines = out.splitlines()
    assert lines[2] == "depth 1: 6 considered, 2 kept, 0 finished, 4 cut (of those listed: relative_threshold 1)"
    assert lines[3].split() == ["kept", "p", "0.4000", "logprob", "-0.9163", "score", "-0.9163", "'I'"]
    assert any("'I love singing'" in line and line.startswith("  kept") for line in lines)
    assert any("'I like singing <end>'" in line and line.startswith("  finished") for line in lines)
    assert lines[-3] == "returned 1: 'I like singing', logprob -2.3434, score -0.5859"
    assert lines[-1] == "text: 'I like singing' (ended by eos)"
    _, saved, _ = main(capsys, *arguments, "--relative-threshold", "0.3", "--json")
    (tmp_path / "tree.json").write_text(saved, encoding="utf-8")
    assert main(capsys, "show", str(tmp_path / "tree.json")) == (0, out, "")


def test_many_beams_are_told_in_few_lines(capsys: Any) -> None:
    _, out, _ = main(capsys, "beam", "--model", "toy:lecture", "--num-beams", "12", "--max-new-tokens", "2")
    assert "  and 4 more" in out.splitlines()


def test_sampled_tokens_are_printed_before_the_search(capsys: Any) -> None:
    _, out, _ = main(capsys, "beam", "--model", "toy:lecture", "--sample-first", "1", "--max-new-tokens", "3")
    lines = out.splitlines()
    assert lines[2].split()[0] == "step" and lines[3].split()[0] == "1" and lines[4].startswith("depth 1: ")


def test_a_saved_search_cannot_steer_the_terminal(capsys: Any, tmp_path: Path) -> None:
    _, out, _ = main(capsys, "beam", "--model", "toy:lecture", "--sample-first", "1", "--top-k", "3", "--json")
    plain = json.loads(out)
    evil = "\x1b]0;owned\x07\x1b[31m\u202e\r\n"
    plain["header"]["model"]["name"] = plain["header"]["prompt"]["text"] = evil
    for text in (plain["finish"], *plain["finish"]["returned"]):
        text["text"] = evil
    plain["steps"][0]["token"]["text"] = evil
    plain["steps"][0]["stages"][1]["name"] = evil
    plain["steps"][0]["stages"][1]["notes"] = [evil]
    for step in plain["steps"][1:]:
        for node in step["nodes"]:
            node["token"]["text"] = evil
    (tmp_path / "evil.json").write_text(json.dumps(plain))
    status, out, _ = main(capsys, "show", str(tmp_path / "evil.json"))
    assert status == 0 and all(line.isprintable() for line in out.split("\n"))


BEAM_VALUES: dict[str, Any] = {
    **{"num_beams": 6, "length_penalty": 0.5, "num_return_sequences": 3, "num_beam_groups": 2},
    **{"diversity_penalty": 0.7, "relative_threshold": 0.01, "absolute_threshold": 9.5},
    **{"relative_local_threshold": 0.02, "max_per_parent": 3, "sample_first": 1},
}


def test_all_beam_options_at_once_reach_the_run(capsys: Any) -> None:
    assert set(BEAM_VALUES) == set(command_line.BEAM_OPTIONS)
    chosen = {**BEAM_VALUES, "temperature": 0.8, "top_k": 9}
    options = [word for name, value in chosen.items() for word in ("--" + name.replace("_", "-"), str(value))]
    more = ["--early-stopping", "never", "--rule-order", "max-per-parent", "--order", "top-k", "--top", "4"]
    trace = trace_of(capsys, "beam", *TOY, *options, *more, "--max-new-tokens", "4", "--seed", "9")
    orders = {"order": ["top_k"], "rule_order": ["max_per_parent"]}
    asked = api.beam_settings(early_stopping="never", top=4, max_new_tokens=4, **orders, **chosen)
    assert trace == api.decode(api.load("toy:lecture"), "I", asked, seed=9)
    assert trace.header.settings["rule_order"][0] == "max_per_parent" and trace.header.settings["top"] == 4


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ([], False),
        (["--early-stopping"], True),
        (["--early-stopping", "true"], True),
        (["--early-stopping", "false"], False),
        (["--early-stopping", "never"], "never"),
    ],
)
def test_early_stopping_in_three_ways(capsys: Any, words: list[str], value: Any) -> None:
    trace = trace_of(capsys, "beam", *TOY, *words)
    assert (
        trace.header.settings["early_stopping"] is value or trace.header.settings["early_stopping"] == value == "never"
    )


@pytest.mark.parametrize("search", ["beam", "sample", "stochastic"])
def test_each_search_is_the_same_again(capsys: Any, search: str) -> None:
    arguments = ("beam", *TOY, "--search", search, "--seed", "3")
    trace = trace_of(capsys, *arguments)
    assert trace.header.settings["search"] == search and trace == trace_of(capsys, *arguments)


# --- speculative decoding --------------------------------------------------------------------------

SPECULATIVE_VALUES: dict[str, Any] = {
    **{"gamma": 2, "verifier": "typical", "verify_top_k": 3, "typical_epsilon": 0.2, "typical_delta": 0.5},
    **{"exit_layer": 2, "ngram_max": 4, "ngram_min": 2},
}


@pytest.mark.parametrize("drafter", ["oracle", "random", "ngram", "toy:lecture"])
def test_speculate(capsys: Any, drafter: str) -> None:
    """At temperature 0 the text is greedy's, whoever drafts."""
    trace = trace_of(capsys, "speculate", *TOY, "--draft-model", drafter, "--temperature", "0")
    assert trace.finish == api.decode(api.load("toy:lecture"), "I").finish
    assert trace.header.method == "speculate" and trace.header.settings["drafter"] == drafter
    drafts = {"oracle": "toy:lecture", "toy:lecture": "toy:lecture"}.get(drafter)
    assert (trace.header.draft and trace.header.draft.name) == drafts


def test_all_speculative_options_at_once_reach_the_run(capsys: Any) -> None:
    assert set(SPECULATIVE_VALUES) == set(command_line.SPECULATIVE_OPTIONS)
    chosen = {**SPECULATIVE_VALUES, "temperature": 1.4, "top_k": 9}
    options = [word for name, value in chosen.items() for word in ("--" + name.replace("_", "-"), str(value))]
    more = ["--draft-model", "random", "--order", "top-k", "--top", "4", "--max-new-tokens", "5", "--seed", "9"]
    trace = trace_of(capsys, "speculate", *TOY, *options, *more)
    asked = api.speculative_settings(drafter="random", order=["top_k"], top=4, max_new_tokens=5, **chosen)
    assert trace == api.decode(api.load("toy:lecture"), "I", asked, seed=9)
    assert trace.header.settings["order"] == ("top_k", "temperature")


def test_early_exit_from_the_command_line(
    capsys: Any, tiny_llama_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DECODING_LAB_CACHE", str(tmp_path))
    where = ("--model", str(tiny_llama_folder), "--prompt", "the sky", "--engine", "torch", "--max-new-tokens", "6")
    drafts = ("--draft-model", "early", "--exit-layer", "2", "--gamma", "3")
    trace = trace_of(capsys, "speculate", *where, *drafts, "--temperature", "0")
    assert trace.header.draft is not None and "2 layers" in trace.header.draft.name
    assert trace.finish == trace_of(capsys, "greedy", *where).finish


def test_rounds_are_printed_as_chips(capsys: Any, tmp_path: Path) -> None:
    """Each fate has its mark; then tokens per pass, and how many were accepted."""
    arguments = ("speculate", *TOY, "--prompt", "", "--draft-model", "random", "--gamma", "3", "--temperature", "2.5")
    status, out, _ = main(capsys, *arguments, "--seed", "13")
    rows = out.splitlines()
    assert status == 0 and rows[2] == "drafts by random, judged by the rule lossless"
    assert rows[4] == "    1  ✓We ✗shouting ↺are –shouting"
    assert rows[-3:-1] == [
        "tau 1.33: 4 tokens in 3 passes of the model",
        "9 drafted, 1 of 4 looked at accepted (0.25)",
    ]
    status, out, _ = main(capsys, "speculate", *TOY, "--draft-model", "oracle", "--gamma", "2", "--temperature", "0")
    assert "    1  ✓like ✓singing +<end>" in out.splitlines()
    assert "2 drafted in 2 passes of the draft model, 2 of 2 looked at accepted (1.00)" in out.splitlines()
    status, out, _ = main(capsys, "speculate", *TOY, "--draft-model", "ngram", "--max-new-tokens", "1")
    assert status == 0 and len(out.splitlines()) == 7 and "looked at accepted" not in out
    _, json_out, _ = main(capsys, *arguments, "--seed", "13", "--json")
    (tmp_path / "run.json").write_text(json_out, encoding="utf-8")
    assert main(capsys, "show", str(tmp_path / "run.json"))[1].splitlines() == rows


def test_a_saved_round_cannot_steer_the_terminal(capsys: Any, tmp_path: Path) -> None:
    _, out, _ = main(capsys, "speculate", *TOY, "--draft-model", "random", "--json")
    evil = "\x1b]0;owned\x07\x1b[31m\u202e\r\n"
    plain = json.loads(out.replace('"text":"', '"text":"' + json.dumps(evil)[1:-1]))
    plain["header"]["settings"]["drafter"] = evil
    (tmp_path / "evil.json").write_text(json.dumps(plain))
    status, out, _ = main(capsys, "show", str(tmp_path / "evil.json"))
    assert status == 0 and len(out.splitlines()) == 4 + len(plain["steps"]) + 3
    assert all(line.isprintable() for line in out.split("\n"))


def test_show_prints_a_saved_trace(capsys: Any, tmp_path: Path) -> None:
    _, printed, _ = main(capsys, "sample", *TOY, "--seed", "4")
    _, out, _ = main(capsys, "sample", *TOY, "--seed", "4", "--json")
    (tmp_path / "run.json").write_text(out, encoding="utf-8")
    assert main(capsys, "show", str(tmp_path / "run.json")) == (0, printed, "")


def test_a_saved_trace_cannot_steer_the_terminal(capsys: Any, tmp_path: Path) -> None:
    """Escape sequences in every text of a stranger's file come out harmless."""
    _, out, _ = main(capsys, "greedy", *TOY, "--json")
    plain = json.loads(out)
    evil = "\x1b]0;owned\x07\x1b[31m\u202e\r\n"
    plain["header"]["model"]["name"] = plain["header"]["method"] = plain["header"]["prompt"]["text"] = evil
    plain["finish"]["text"] = evil
    for step in plain["steps"]:
        step["token"]["text"] = evil
    (tmp_path / "evil.json").write_text(json.dumps(plain))
    status, out, _ = main(capsys, "show", str(tmp_path / "evil.json"))
    assert status == 0 and len(out.splitlines()) == 3 + len(plain["steps"]) + 1
    assert all(line.isprintable() for line in out.split("\n"))


def test_help_names_every_method_and_option(capsys: Any) -> None:
    status, out, err = main(capsys, "--help")
    assert (status, err) == (0, "") and all(method in out for method in METHODS)
    status, out, _ = main(capsys, "beam", "--help")
    assert status == 0
    for name in (*DEFAULT_ORDER, *command_line.BEAM_OPTIONS, *RULES, "early_stopping", "search", "rule_order"):
        assert f"--{name.replace('_', '-')} " in out or f"--{name.replace('_', '-')}\n" in out, name
    status, out, _ = main(capsys, "speculate", "--help")
    assert status == 0
    for name in (*DEFAULT_ORDER, *command_line.SPECULATIVE_OPTIONS, "draft_model", "order", "seed", "json"):
        assert f"--{name.replace('_', '-')} " in out or f"--{name.replace('_', '-')}\n" in out, name
    status, out, _ = main(capsys, "sample", "--help")
    assert status == 0
    for name in (
        *DEFAULT_ORDER,
        "model",
        "prompt",
        "chat",
        "seed",
        "max_new_tokens",
        "top",
        "sampler",
        "order",
        "json",
    ):
        assert f"--{name.replace('_', '-')} " in out or f"--{name.replace('_', '-')}\n" in out, name


def test_every_processor_has_an_option() -> None:
    assert set(command_line.PROCESSOR_OPTIONS) == set(DEFAULT_ORDER)


# --- options reach the settings --------------------------------------------------------------------

VALUES: dict[str, float] = {
    **{"temperature": 0.7, "top_k": 4, "top_p": 0.9, "min_p": 0.01, "typical_p": 0.95},
    **{"epsilon_cutoff": 1e-4, "eta_cutoff": 2e-4, "repetition_penalty": 1.2},
    **{"presence_penalty": 0.3, "frequency_penalty": -0.2, "no_repeat_ngram_size": 2},
}


@pytest.mark.parametrize("name", DEFAULT_ORDER)
def test_each_processor_option_reaches_the_run(capsys: Any, name: str) -> None:
    trace = trace_of(capsys, "sample", *TOY, "--" + name.replace("_", "-"), str(VALUES[name]))
    assert trace.header.settings[name] == VALUES[name]
    assert {stage.name for step in trace.steps for stage in step.stages} == {"model", name}


def test_all_options_at_once_reach_the_run(capsys: Any) -> None:
    options = [word for name, value in VALUES.items() for word in ("--" + name.replace("_", "-"), str(value))]
    more = ["--sampler", "alias", "--order", "top-p, temperature,min_p", "--max-new-tokens", "2"]
    trace = trace_of(capsys, "sample", *TOY, *options, *more, "--top", "3", "--seed", "9")
    order = ["top_p", "temperature", "min_p"]
    asked = api.sample_settings(sampler="alias", order=order, max_new_tokens=2, top=3, **VALUES)  # type: ignore[arg-type]
    assert trace == api.decode(api.load("toy:lecture"), "I", asked, seed=9)
    assert trace.header.settings["order"][:3] == tuple(order) and trace.header.seed == 9
    assert len(trace.steps) <= 2 and trace.steps[0].draw.kind == "alias"


@pytest.mark.parametrize("prompt", ["", " ", "\n"])
def test_an_empty_prompt_is_a_prompt(capsys: Any, prompt: str) -> None:
    trace = trace_of(capsys, "greedy", "--model", "toy:lecture", "--prompt", prompt)
    assert [token.text for token in trace.header.prompt.tokens] == ["<start>"]
    assert trace.finish.text == "I like singing"


@pytest.mark.parametrize("engine", ["torch", pytest.param("onnx", marks=NEEDS_ONNX)])
def test_a_run_says_its_engine_and_precision(capsys: Any, tiny_llama_folder: Path, engine: str, tmp_path: Path) -> None:
    """In the table, and in the trace that is saved."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DECODING_LAB_CACHE", str(tmp_path))
        common = (
            "--model",
            str(tiny_llama_folder),
            "--prompt",
            "the sky",
            "--engine",
            engine,
            "--precision",
            "float32",
        )
        assert f"(float32, cpu, {engine}), seed 0" in main(capsys, "greedy", *common)[1].splitlines()[0]
        model = trace_of(capsys, "greedy", *common).header.model
    assert (model.engine, model.dtype) == (engine, "float32")


def test_model_device_dtype_and_template_reach_the_loader(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def load(name: str, **options: Any) -> Any:
        asked.update(options, name=name)
        raise UserError("model_unusable", name=name, reason="told in\ntwo lines")

    monkeypatch.setattr(api, "load", load)
    error = mistake(capsys, "greedy", "--model", "x", "--prompt", "y", "--device", "cuda:1", "--dtype", "float16")
    assert "told in two lines" in error
    assert (asked["name"], asked["device"], asked["dtype"]) == ("x", "cuda:1", "float16")


def test_chat_puts_the_prompt_into_the_template(capsys: Any, tiny_llama_folder: Path) -> None:
    common = ("--model", str(tiny_llama_folder), "--prompt", "the sky", "--max-new-tokens", "3", "--engine", "torch")
    raw, chat = trace_of(capsys, "greedy", *common), trace_of(capsys, "greedy", *common, "--chat")
    assert (raw.header.prompt.template, chat.header.prompt.template) == ("raw", "chat")
    assert len(chat.header.prompt.tokens) > len(raw.header.prompt.tokens)


def test_the_bundled_model_by_default(capsys: Any, bundled_torch: Any) -> None:
    """The command of the README: a full trace, the same as from a notebook."""
    model = api.load(device="cpu")  # a first use builds the engine's graph, and says so on stderr
    words = ("--prompt", "The capital of France is", "--max-new-tokens", "4", "--seed", "1", "--device", "cpu")
    trace = trace_of(capsys, "sample", *words)
    assert trace.header.model.name == "smollm2" and len(trace.steps) == 4
    assert trace == api.decode(model, "The capital of France is", api.sample_settings(max_new_tokens=4), seed=1)
    assert trace.finish.text == bundled_torch.decode(trace.finish.token_ids)


# --- mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["METHOD"]),
        (("dance",), ["dance", "greedy", "sample", "show"]),
        (("greedy", *TOY, "--temperature", "1"), ["--temperature"]),
        (("greedy", *TOY, "--surprise", "a\nb"), ["--surprise"]),
        (("sample", *TOY, "--top-k", "many"), ["--top-k", "many"]),
        (("sample", *TOY, "--top-k", "2.5"), ["--top-k", "2.5"]),
        (("sample", *TOY, "--top-k", "-1"), ["top_k", "-1"]),
        (("sample", *TOY, "--temperature", "-1"), ["temperature", "-1", "0 ≤"]),
        (("sample", *TOY, "--temperature", "nan"), ["temperature", "nan"]),
        (("sample", *TOY, "--temperature", "inf"), ["temperature", "inf"]),
        (("sample", *TOY, "--top-p", "1.01"), ["top_p", "1.01", "≤ 1"]),
        (("sample", *TOY, "--sampler", "dice"), ["sampler", "dice", "gumbel"]),
        (("sample", *TOY, "--order", "top_p,top_q"), ["top_q", "top_p", "typical_p"]),
        (("greedy", *TOY, "--seed", "-1"), ["seed", "-1"]),
        (("greedy", *TOY, "--seed", "1e3"), ["--seed", "1e3"]),
        (("greedy", *TOY, "--top", "51"), ["top", "51", "50"]),
        (("greedy", *TOY, "--top", "0"), ["top", "0", "50"]),
        (("greedy", *TOY, "--max-new-tokens", "0"), ["max_new_tokens", "0"]),
        (("greedy", *TOY, "--max-new-tokens", "257"), ["257", "256"]),
        (("greedy", *TOY, "--chat"), ["chat template"]),
        (("greedy", "--model", "toy:lecture", "--prompt", "a\nb"), ["'a'", "singing"]),
        (("greedy", "--model", "toy:none", "--prompt", "I"), ["none", "lecture"]),
        (("greedy", "--model", "/nowhere\nat all", "--prompt", "I"), ["nowhere"]),
        (("beam", *TOY, "--num-beams", "0"), ["num_beams", "0", "1 … 32"]),
        (("beam", *TOY, "--num-beams", "2", "--num-return-sequences", "3"), ["num_return_sequences", "1 … 2"]),
        (("beam", *TOY, "--early-stopping", "maybe"), ["--early-stopping", "maybe", "never"]),
        (("beam", *TOY, "--search", "deep"), ["search", "deep", "stochastic"]),
        (("beam", *TOY, "--diversity-penalty", "1"), ["diversity_penalty", "num_beam_groups"]),
        (("beam", *TOY, "--num-beam-groups", "3"), ["3 groups", "4 beams"]),
        (("beam", *TOY, "--search", "stochastic", "--max-per-parent", "1"), ["max_per_parent", "beam | sample"]),
        (("beam", *TOY, "--sampler", "alias"), ["--sampler"]),
        (("beam", *TOY, "--rule-order", "top_k"), ["top_k", "relative_threshold"]),
        (("beam", *TOY, "--sample-first", "40"), ["sample_first", "40", "31"]),
        (("speculate", *TOY), ["toy:lecture", "table", "ngram"]),
        (("speculate", *TOY, "--draft-model", "early"), ["toy:lecture", "table", "oracle"]),
        (("speculate", *TOY, "--draft-model", "toy:none"), ["none", "lecture"]),
        (("speculate", *TOY, "--draft-model", "ngram", "--gamma", "17"), ["gamma", "17", "1 … 16"]),
        (("speculate", *TOY, "--draft-model", "ngram", "--verifier", "fair"), ["verifier", "fair", "lossless"]),
        (("speculate", *TOY, "--draft-model", "ngram", "--ngram-min", "4"), ["ngram_min", "4", "1 … 3"]),
        (("speculate", *TOY, "--sampler", "alias"), ["--sampler"]),
        (("show",), ["file"]),
        (("show", "none\n.json"), ["none"]),
        (("show", str(ROOT)), [str(ROOT)]),
        (("show", __file__), ["not a readable trace"]),
    ],
    ids=lambda part: " ".join(part)[-40:],
)
def test_a_mistake_is_told(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: list[str]
) -> None:
    monkeypatch.delenv("DECODING_LAB_NEW_TOKENS", raising=False)
    error = mistake(capsys, *arguments)
    assert all(word in error for word in words), error

"""The command line: one trace on stdout and nothing else, the same every time, and mistakes told in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from decoding import __main__ as command_line
from decoding import api, codec
from decoding.errors import UserError
from decoding.processors import DEFAULT_ORDER
from decoding.trace import Trace

ROOT = Path(__file__).resolve().parents[1]
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
    assert rows[0] == ["greedy", "on", "toy:lecture,", "seed", "0"]
    assert rows[3][:5] == ["1", "'like'", "0.4000", "0.4000", "6"] and rows[3][-1] == "argmax"
    assert rows[-1][:3] == ["text:", "'like", "singing'"] and "eos" in rows[-1][-1]


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
    assert (status, err) == (0, "") and all(method in out for method in ("greedy", "sample", "show"))
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
    common = ("--model", str(tiny_llama_folder), "--prompt", "the sky", "--max-new-tokens", "3", "--device", "cpu")
    raw, chat = trace_of(capsys, "greedy", *common), trace_of(capsys, "greedy", *common, "--chat")
    assert (raw.header.prompt.template, chat.header.prompt.template) == ("raw", "chat")
    assert len(chat.header.prompt.tokens) > len(raw.header.prompt.tokens)


def test_the_bundled_model_by_default(capsys: Any, bundled_model: Any) -> None:
    """The command of the README: a full trace, the same as from a notebook."""
    words = ("--prompt", "The capital of France is", "--max-new-tokens", "4", "--seed", "1", "--device", "cpu")
    trace = trace_of(capsys, "sample", *words)
    assert trace.header.model.name == "smollm2" and len(trace.steps) == 4
    model = api.load(device="cpu")
    assert trace == api.decode(model, "The capital of France is", api.sample_settings(max_new_tokens=4), seed=1)
    assert trace.finish.text == bundled_model.decode(trace.finish.token_ids)


# --- mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["METHOD"]),
        (("dance",), ["dance", "greedy", "sample", "show"]),
        (("greedy",), ["--prompt"]),
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

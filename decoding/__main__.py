"""Command line: `python -m decoding METHOD --prompt P [settings] [--json]`, or `show FILE`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from decoding.errors import UserError
from decoding.trace import SampleStep, Trace

PROCESSOR_OPTIONS: dict[str, tuple[type, str]] = {
    "temperature": (float, "divide the logits by T; 0 is greedy"),
    "top_k": (int, "keep the k likeliest tokens; 0 is off"),
    "top_p": (float, "keep the likeliest tokens that together hold p"),
    "min_p": (float, "keep tokens at least this fraction as likely as the likeliest"),
    "typical_p": (float, "keep the tokens closest to the expected surprise that together hold p"),
    "epsilon_cutoff": (float, "keep tokens at least this likely"),
    "eta_cutoff": (float, "keep tokens above a threshold that adapts to the entropy"),
    "repetition_penalty": (float, "divide (multiply if negative) the logits of tokens seen before"),
    "presence_penalty": (float, "subtract this from the logits of tokens seen before"),
    "frequency_penalty": (float, "subtract this, times their count, from the logits of tokens seen before"),
    "no_repeat_ngram_size": (int, "forbid any n-gram from occurring twice"),
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line on stderr and exit status 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{_line(message)}: see python -m decoding --help.\n")


def parser() -> Parser:
    """The whole command line."""
    top = Parser(prog="python -m decoding", description="Decode a prompt and show, or print as JSON, every step.")
    methods = top.add_subparsers(dest="method", metavar="METHOD", required=True, parser_class=Parser)
    greedy = methods.add_parser("greedy", help="the most likely token at every step")
    drawn = methods.add_parser("sample", help="draw every token from the processed distribution")
    for method in (greedy, drawn):
        _add_common(method)
    for name, (kind, text) in PROCESSOR_OPTIONS.items():
        drawn.add_argument(_flag(name), dest=name, type=kind, help=text)
    drawn.add_argument("--sampler", default="direct", help="direct, binary, alias, gumbel or argmax")
    drawn.add_argument("--order", default="", help="processors to apply first, e.g. top_p,temperature")
    show = methods.add_parser("show", help="print a saved trace")
    show.add_argument("file")
    return top


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _add_common(method: argparse.ArgumentParser) -> None:
    method.add_argument("--model", default="smollm2", help="smollm2, toy:NAME, toy:FILE.json, a folder, or a hub id")
    method.add_argument("--prompt", required=True)
    method.add_argument("--chat", action="store_true", help="put the prompt into the model's chat template")
    method.add_argument("--max-new-tokens", type=int, default=32)
    method.add_argument("--top", type=int, default=20, help="alternatives recorded per step (1 to 50)")
    method.add_argument("--seed", type=int, default=0)
    method.add_argument("--device", default="auto")
    method.add_argument("--dtype", default="auto")
    method.add_argument("--engine", default="auto", help="torch or onnx; auto is onnx on a CPU where it can")
    method.add_argument("--precision", default="auto", help="of the engine onnx: float32 (as auto) or int4")
    method.add_argument("--json", action="store_true", help="print the whole trace as JSON, and nothing else")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0, or 2 with one line on stderr where the user must change something."""
    options = parser().parse_args(arguments)
    try:
        trace = _show(options.file) if options.method == "show" else _run(options)
    except UserError as error:
        print(_line(error), file=sys.stderr)
        return 2
    if getattr(options, "json", False):
        from decoding import codec

        print(codec.dumps(trace))
    else:
        print_trace(trace)
    return 0


def _line(error: object) -> str:
    """What is wrong, in one line whatever the user typed."""
    return "decoding: " + " ".join(str(error).split())


def _show(path: str) -> Trace:
    from decoding import api

    return api.open(path)


def _run(options: argparse.Namespace) -> Trace:
    from decoding import api

    limits = {"max_new_tokens": options.max_new_tokens, "top": options.top}
    if options.method == "greedy":
        settings = api.greedy_settings(**limits)
    else:
        chosen: dict[str, Any] = {name: getattr(options, name) for name in PROCESSOR_OPTIONS}
        order = [name.strip().replace("-", "_") for name in options.order.split(",") if name.strip()]
        settings = api.sample_settings(sampler=options.sampler, order=order, **limits, **chosen)
    where = {name: getattr(options, name) for name in ("device", "dtype", "engine", "precision")}
    model = api.load(options.model, progress=_progress, **where)
    template = "chat" if options.chat else "raw"
    return api.decode(model, options.prompt, settings, options.seed, template)  # type: ignore[arg-type]


def _progress(what: str, fraction: float) -> None:
    """One line on stderr that rewrites itself while a model is prepared; in a log, only that one was made."""
    if sys.stderr.isatty():
        print(f"{what} {fraction:4.0%}", end="\n" if fraction >= 1 else "\r", file=sys.stderr, flush=True)
    elif what in ("converting", "building") and fraction >= 1:
        print(f"{what} {fraction:4.0%}", file=sys.stderr)


def print_trace(trace: Trace) -> None:
    """The run as a table: one line per token with its probability and what was kept."""
    header = trace.header
    print(_printable(f"{header.method} on {header.model.name}, seed {header.seed}"))
    print(f"prompt: {header.prompt.text!r}")
    print(f"{'step':>4}  {'token':<18} {'p':>8} {'model p':>8} {'kept':>7} {'bits':>6}  drawn")
    for step in trace.steps:
        print(_row(step))
    print(f"text: {trace.finish.text!r} (ended by {trace.finish.reason})")


def _printable(text: str) -> str:
    """A terminal obeys control characters, and a saved trace may come from anyone."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _row(step: SampleStep) -> str:
    last = step.stages[-1]
    token = repr(step.token.text)
    figures = f"{step.prob:8.4f} {step.model_prob:8.4f} {last.kept_count:7,} {last.result.entropy:6.2f}"
    return f"{step.position + 1:4}  {token:<18} {figures}  {step.draw.kind}"


def _run_as_program() -> int:
    """`main` with output that any terminal or pipe takes."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = main()
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(_run_as_program())

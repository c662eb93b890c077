"""Command line: `python -m decoding METHOD [--prompt P] [settings] [--json]`, or `show FILE`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from decoding import report
from decoding.errors import UserError
from decoding.trace import Trace
from decoding.training import command as training

if TYPE_CHECKING:
    from decoding.api import Settings

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


BEAM_OPTIONS: dict[str, tuple[type, str]] = {
    "num_beams": (int, "texts searched side by side; default 4"),
    "length_penalty": (float, "scores are logprob / length^this; above 0 favours longer texts; default 1"),
    "num_return_sequences": (int, "texts to return, best first; default 1"),
    "num_beam_groups": (int, "groups that avoid each other's tokens; default 1"),
    "diversity_penalty": (float, "subtract this per earlier group that took the token at this depth"),
    "relative_threshold": (float, "cut candidates at most this times as likely as the best"),
    "absolute_threshold": (float, "cut candidates this many nats or more below the best"),
    "relative_local_threshold": (
        float,
        "cut candidates whose last token is at most this times as likely as the best",
    ),
    "max_per_parent": (int, "keep at most so many candidates of each beam"),
    "sample_first": (int, "draw so many tokens before the search starts"),
}
SPECULATIVE_OPTIONS: dict[str, tuple[type, str]] = {
    "gamma": (int, "most tokens drafted per round; default 4"),
    "verifier": (str, "lossless, exact, top_k or typical; the first two keep the target's distribution"),
    "verify_top_k": (int, "verifier top_k: accept the target's k likeliest tokens; default 5"),
    "typical_epsilon": (float, "verifier typical: accept above min(epsilon, delta exp(-H)); default 0.09"),
    "typical_delta": (float, "verifier typical: its delta; default 0.3"),
    "exit_layer": (int, "drafter early: layers of the target that it runs; default 8"),
    "ngram_max": (int, "drafter ngram: longest end of the text to look up; default 3"),
    "ngram_min": (int, "drafter ngram: shortest end of the text to look up; default 1"),
}
EARLY_STOPPING = {"false": False, "true": True, "never": "never"}


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
    beam = methods.add_parser("beam", help="search for likely texts, several side by side")
    rounds = methods.add_parser("speculate", help="let a draft propose tokens, and the model judge several at once")
    for method, listed in ((greedy, 20), (drawn, 20), (beam, 8), (rounds, 8)):
        _add_common(method, listed)
    for method in (drawn, beam, rounds):
        _add_options(method, PROCESSOR_OPTIONS)
        method.add_argument("--order", default="", help="processors to apply first, e.g. top_p,temperature")
    drawn.add_argument("--sampler", default="direct", help="direct, binary, alias, gumbel or argmax")
    _add_options(beam, BEAM_OPTIONS)
    early = "end when num_beams texts are finished (true), or when none open can do better, as it is (false) or ever"
    beam.add_argument("--early-stopping", choices=EARLY_STOPPING, nargs="?", const="true", default="false", help=early)
    beam.add_argument("--search", default="beam", help="beam, sample (draw, then beam) or stochastic (Gumbel-top-k)")
    beam.add_argument("--rule-order", default="", help="pruning rules to apply first, e.g. max_per_parent")
    drafts = "trained, early (the model's own first layers), ngram, oracle, random, or any --model; default trained. "
    drafts += "ngram+ before a model's name: what the look-up finds, and the model where it finds nothing"
    rounds.add_argument("--draft-model", dest="drafter", metavar="DRAFT", help=drafts)
    _add_options(rounds, SPECULATIVE_OPTIONS)
    show = methods.add_parser("show", help="print a saved trace")
    show.add_argument("file")
    training.add(methods.add_parser("train-draft", help="train a draft model for a target, on text the target writes"))
    return top


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _add_options(method: argparse.ArgumentParser, options: dict[str, tuple[type, str]]) -> None:
    for name, (kind, text) in options.items():
        method.add_argument(_flag(name), dest=name, type=kind, help=text)


def _add_common(method: argparse.ArgumentParser, top: int) -> None:
    method.add_argument("--model", default="smollm2", help="smollm2, toy:NAME, toy:FILE.json, a folder, or a hub id")
    method.add_argument("--prompt", default="", help="default: empty, from the model's start token")
    method.add_argument("--chat", action="store_true", help="put the prompt into the model's chat template")
    method.add_argument("--max-new-tokens", type=int, default=32)
    method.add_argument("--top", type=int, default=top, help="alternatives recorded per step or beam (1 to 50)")
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
        if options.method == "train-draft":
            return training.run(options)
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

    settings = _settings(options)
    where = {name: getattr(options, name) for name in ("device", "dtype", "engine", "precision")}
    model = api.load(options.model, progress=_progress, **where)
    draft = api.load_draft(model, settings, _progress, **where)
    template = "chat" if options.chat else "raw"
    return api.decode(model, options.prompt, settings, options.seed, template, draft=draft)  # type: ignore[arg-type]


def _settings(options: argparse.Namespace) -> Settings:
    from decoding import api

    limits = {"max_new_tokens": options.max_new_tokens, "top": options.top}
    if options.method == "greedy":
        return api.greedy_settings(**limits)
    chosen: dict[str, Any] = {name: getattr(options, name) for name in PROCESSOR_OPTIONS}
    chosen |= {"order": _names(options.order), **limits}
    if options.method == "sample":
        return api.sample_settings(sampler=options.sampler, **chosen)
    if options.method == "speculate":
        chosen |= {name: getattr(options, name) for name in ("drafter", *SPECULATIVE_OPTIONS)}
        return api.speculative_settings(**chosen)
    chosen |= {name: getattr(options, name) for name in BEAM_OPTIONS}
    early = EARLY_STOPPING[options.early_stopping]
    return api.beam_settings(
        search=options.search, early_stopping=early, rule_order=_names(options.rule_order), **chosen
    )


def _names(text: str) -> list[str]:
    """`top-p, temperature` as the names of the settings."""
    return [name.strip().replace("-", "_") for name in text.split(",") if name.strip()]


def _progress(what: str, fraction: float) -> None:
    """One line on stderr that rewrites itself while a model is prepared; in a log, only that one was made."""
    if sys.stderr.isatty():
        print(f"{what} {fraction:4.0%}", end="\n" if fraction >= 1 else "\r", file=sys.stderr, flush=True)
    elif what in ("converting", "building") and fraction >= 1:
        print(f"{what} {fraction:4.0%}", file=sys.stderr)


def print_trace(trace: Trace) -> None:
    """The run as a table."""
    for line in report.lines(trace):
        print(line)


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

"""ONNX Runtime beside transformers.generate on this CPU, in one run, with every step recorded on our side.

    python -m benchmarks.engine [--prompts FILE.jsonl] [--count 4] [--tokens 32] [--rounds 3]

Greedy in float32 and int4, four beams in float32, the share of a step that is no forward (to process, draw and record
it) and of the record alone, and T(5) / T(1): what a verified draft of four costs in steps. Contestants take turns, as
in `benchmarks.speed`. Where `llama_cpp` can be imported it runs the bundled GGUF file in the same turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from benchmarks import prompts
from benchmarks.beam import traced
from benchmarks.speed import SAMPLING, Contest, Endless, Make, ours, theirs
from decoding import api, observe
from decoding.errors import UserError
from decoding.models import bundled, threads, timing
from decoding.sampling import Uniforms, plain, sample
from decoding.settings import TOP_LIMIT, BeamSettings, SampleSettings

PRECISIONS = ("float32", "int4")
BEAMS = 4
FEW = {"tokens": (1, 2, 3, 5, 8, 16, 32), "rows": (1, 4, 16), "seconds": 2.0}


def llama_cpp() -> Make | None:
    """Greedy of llama.cpp on the bundled file; None where either is missing."""
    gguf = bundled.find()
    if gguf is None or importlib.util.find_spec("llama_cpp") is None:
        return None
    from llama_cpp import Llama

    model = Llama(str(gguf), n_ctx=1024, n_threads=torch.get_num_threads(), logits_all=False, verbose=False)

    def make(ids: Sequence[int], tokens: int, seed: int) -> int:
        model.reset()
        for number, _ in enumerate(model.generate(list(ids), temp=0.0, top_k=1), start=1):
            if number == tokens:
                break
        return tokens

    return make


def contests(module: Any, models: Sequence[Any]) -> list[Contest]:
    """Each precision beside `generate`, beams in the first one, and all beside llama.cpp where it is there."""
    module.generation_config.eos_token_id = None
    greedy = api.greedy_settings(top=TOP_LIMIT)
    found = [Contest(f"greedy {m.info.dtype}", ours(m, greedy), theirs(module, do_sample=False)) for m in models]
    beams = traced(models[0], BeamSettings(num_beams=BEAMS)), theirs(module, num_beams=BEAMS, do_sample=False)
    found.append(Contest(f"{BEAMS} beams {models[0].info.dtype}", *beams))
    if (other := llama_cpp()) is not None:
        found += [Contest(f"{m.info.dtype} / llama.cpp", ours(m, greedy), other) for m in models]
    return found


def race(field: Sequence[Contest], all_ids: Sequence[Sequence[int]], tokens: int, rounds: int) -> None:
    """Every contest on every prompt, `rounds` times, after a warm-up."""
    for contest in field:
        contest.take_turns(0, all_ids[0], 4, 0)
        contest.times.clear()
    for number in range(rounds):
        for at, ids in enumerate(all_ids):
            for contest in field:
                contest.take_turns(at, ids, tokens, number + at)
            print(f"\rround {number + 1} of {rounds}, prompt {at + 1} of {len(all_ids)}", end="", file=sys.stderr)
    print(file=sys.stderr)


class Timed(Endless):
    """A model that adds up the seconds of its forwards."""

    seconds = 0.0

    def forward(self, *given: Any, **options: Any) -> Any:
        """As the model's own."""
        started = time.perf_counter()
        output = self._model.forward(*given, **options)
        self.seconds += time.perf_counter() - started
        return output


def unrecorded(model: Any, ids: Sequence[int], settings: SampleSettings) -> Iterator[int]:
    """The tokens that `sample` writes, by the same processors and uniforms, with nothing kept of how."""
    cache, history = model.new_cache(), torch.tensor(ids)
    unread = history
    for position in range(settings.max_new_tokens):
        with torch.inference_mode():
            logits = model.forward(unread[None], cache, logits_to_keep=1).logits[0, -1]
            if settings.sampler == "argmax":
                token = int(logits.max(0).indices)
            else:
                law = observe.law_after(plain(logits), settings.processors, history, position)
                token, _ = observe.draw_direct(law, float(Uniforms(0).at(position, 1)))
        yield token
        unread = torch.tensor([token])
        history = torch.cat((history, unread))


def beside_forward(timed: Timed, steps: Iterator[Any]) -> tuple[float, float]:
    """Milliseconds of a step, and of its part that is no forward; the prompt's step is left out."""
    next(steps)
    timed.seconds, started = 0.0, time.perf_counter()
    count = sum(1 for _ in steps)
    whole = time.perf_counter() - started
    return 1000 * whole / count, 1000 * (whole - timed.seconds) / count


def tracing_share(model: Any, ids: Sequence[int], settings: SampleSettings) -> tuple[float, float, float, float]:
    """What is no forward, in milliseconds and as a share of the step; then what the record alone adds, likewise."""
    timed = Timed(model)
    with threads.during_run(model):
        step, rest = beside_forward(timed, sample(timed, ids, settings, Uniforms(0)))
        _, bare = beside_forward(timed, unrecorded(timed, ids, settings))
    return rest, rest / step, rest - bare, (rest - bare) / step


def tracing_rows(models: Sequence[Any], all_ids: Sequence[Sequence[int]], tokens: int) -> list[str]:
    """Median over the prompts, greedy and with three rules, by model."""
    kinds = {
        "greedy": api.greedy_settings(max_new_tokens=tokens, top=TOP_LIMIT),
        "T .8, top-k 50, top-p .95": api.sample_settings(max_new_tokens=tokens, top=TOP_LIMIT, **SAMPLING),
    }
    lines = [f"{'':<39} {'beside the forward':>18}   {'the record alone':>18}"]
    for model in models:
        for name, settings in kinds.items():
            found = [tracing_share(model, ids, settings) for ids in all_ids]
            rest, share, record, its = (statistics.median(column) for column in zip(*found, strict=True))
            figures = f"{rest:8.2f} ms {share:7.1%}   {record:8.2f} ms {its:7.1%}"
            lines.append(f"{model.info.dtype:<10} {name:<28} {figures}")
    return lines


def times_rows(models: Sequence[Any]) -> list[str]:
    """T(n) and B(b) of each model in milliseconds, the floor, and T(5) / T(1)."""
    lines = []
    for model in models:
        found = timing.measure(model, lambda done: None, **FEW)  # type: ignore[arg-type]
        tokens = " ".join(f"T({each.count}) {each.milliseconds:.1f}" for each in found.tokens)
        rows = " ".join(f"B({each.count}) {each.milliseconds:.1f}" for each in found.rows)
        lines.append(f"{model.info.engine} {model.info.dtype}: {tokens} {rows}")
        ratio = found.of_tokens(5) / found.of_tokens(1)
        reads = f"reads {found.weight_bytes / 1e6:,.0f} MB a forward, {found.bandwidth / 1e9:.1f} GB/s"
        lines.append(f"  T(5) / T(1) = {ratio:.2f}; {reads}: at least {found.floor:.1f} ms")
    return lines


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__.splitlines()[0])
    prompts.add_options(top, 4, 32)
    top.add_argument("--rounds", type=int, default=3)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print the tables; 2 with one line where the prompts or the model cannot be had."""
    options = parser().parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        texts = prompts.read(options.prompts, options.count)
        reference: Any = api.load(options.model, "cpu", "float32", engine="torch")
        models: list[Any] = [api.load(options.model, "cpu", engine="onnx", precision=each) for each in PRECISIONS]
        all_ids = [reference.encode(text) for text in texts]
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    lengths = sorted(map(len, all_ids))
    print(f"{options.model} on {torch.get_num_threads()} threads of torch; {len(all_ids)} prompts of", end=" ")
    print(f"{lengths[0]} to {lengths[-1]} tokens, {options.tokens} new tokens each")
    print("\nTokens per second, median; ratio ours / generate: median, middle half, and of the best turns")
    print(f"{'':<28} {'ours':>8} {'other':>9} {'ratio':>8} {'middle half':>16} {'best':>8}")
    field = contests(reference.module, models)
    race(field, all_ids, options.tokens, options.rounds)
    for contest in field:
        print(contest.row())
    print(f"\nTracing ({TOP_LIMIT} alternatives): what a step takes beside its forward, and its share of the step")
    print("\n".join(tracing_rows(models, all_ids, options.tokens)))
    print("\nMilliseconds of one forward after 100 tokens, best of several")
    print("\n".join(times_rows([reference, *models])))
    return 0


if __name__ == "__main__":
    sys.exit(main())

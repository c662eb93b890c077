"""Tokens per second of our traced loops beside `transformers.generate` without tracing.

    python -m benchmarks.speed [--prompts FILE.jsonl] [--tokens N] [--threads N]

Same module, same prompt ids, the same number of new tokens (end tokens are switched off on both
sides), one process. The contestants take turns, prompt by prompt, and who goes first alternates, so
that whatever else the machine does falls on all alike. A ratio is of two turns next to each other;
`best` is of each prompt's fastest turns, which is what a quiet machine would give.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks import prompts
from decoding import api
from decoding.errors import UserError
from decoding.models import threads
from decoding.sampling import Uniforms, decide, logits_after, sample
from decoding.settings import TOP_LIMIT, SampleSettings

SAMPLING: dict[str, Any] = {"temperature": 0.8, "top_k": 50, "top_p": 0.95}
DECIDE_REPEATS = 15
Make = Callable[[Sequence[int], int, int], int]
"""Prompt ids, new tokens, seed -> how many tokens were made."""


@dataclass
class Contest:
    """Two loops that do the same work, and the seconds per token of each, turn by turn."""

    name: str
    ours: Make
    theirs: Make
    times: dict[int, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))

    def take_turns(self, prompt: int, ids: Sequence[int], tokens: int, seed: int) -> None:
        """Both on one prompt; even seeds begin with ours, odd ones with theirs."""
        order = (self.ours, self.theirs) if seed % 2 == 0 else (self.theirs, self.ours)
        seconds = {make: _seconds_per_token(make, ids, tokens, seed) for make in order}
        self.times[prompt].append((seconds[self.ours], seconds[self.theirs]))

    def row(self) -> str:
        """Median tokens per second of both, the ratios' median and middle half, and the ratio of the best turns."""
        pairs = [pair for turns in self.times.values() for pair in turns]
        ours, theirs = (statistics.median(1 / pair[side] for pair in pairs) for side in (0, 1))
        ratios = [theirs_s / ours_s for ours_s, theirs_s in pairs]
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        best = [sum(min(pair[side] for pair in turns) for turns in self.times.values()) for side in (0, 1)]
        spread = f"{low:7.3f} to {high:5.3f}"
        return f"{self.name:<28} {ours:8.2f} {theirs:9.2f} {middle:8.3f} {spread} {best[1] / best[0]:8.3f}"


def _seconds_per_token(make: Make, ids: Sequence[int], tokens: int, seed: int) -> float:
    started = time.perf_counter()
    made = make(ids, tokens, seed)
    return (time.perf_counter() - started) / made


class Endless:
    """A model none of whose tokens ends a text."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.end_ids: frozenset[int] = frozenset()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def ours(model: Any, settings: SampleSettings) -> Make:
    """Our traced loop; the steps are kept, as a page keeps them."""
    endless = Endless(model)

    def make(ids: Sequence[int], tokens: int, seed: int) -> int:
        chosen = SampleSettings(settings.processors, settings.sampler, tokens, settings.top)
        with threads.during_run(model):
            return len(list(sample(endless, ids, chosen, Uniforms(seed))))

    return make


def theirs(module: Any, **options: Any) -> Make:
    """`generate` on the same module, recording nothing."""

    def make(ids: Sequence[int], tokens: int, seed: int) -> int:
        torch.manual_seed(seed)
        prompt = torch.tensor([list(ids)], device=module.device)
        mask = torch.ones_like(prompt)
        made = module.generate(prompt, attention_mask=mask, max_new_tokens=tokens, pad_token_id=0, **options)
        return int(made.shape[1]) - len(ids)

    return make


def contests(model: Any) -> list[Contest]:
    """Greedy and sampling, each with 50 alternatives recorded on our side."""
    module = model.module
    module.generation_config.eos_token_id = None  # of this process only; ours are off in `Endless`
    greedy = api.greedy_settings(top=TOP_LIMIT)
    drawn = api.sample_settings(top=TOP_LIMIT, **SAMPLING)
    return [
        Contest("greedy", ours(model, greedy), theirs(module, do_sample=False)),
        Contest("T .8, top-k 50, top-p .95", ours(model, drawn), theirs(module, do_sample=True, **SAMPLING)),
    ]


def race(model: Any, all_ids: Sequence[Sequence[int]], tokens: int, rounds: int) -> list[Contest]:
    """Every contest on every prompt, `rounds` times, after a warm-up."""
    field_ = contests(model)
    for contest in field_:
        contest.take_turns(0, all_ids[0], min(tokens, 8), 0)
        contest.times.clear()
    for number in range(rounds):
        for at, ids in enumerate(all_ids):
            for contest in field_:
                contest.take_turns(at, ids, tokens, number + at)
            print(f"\rround {number + 1} of {rounds}, prompt {at + 1} of {len(all_ids)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return field_


def tracing_cost(model: Any, all_ids: Sequence[Sequence[int]]) -> list[str]:
    """Milliseconds to process, draw and record one step, by sampler and by number of stages; no forward in it."""
    laws = [(logits_after(model, ids), torch.tensor(list(ids))) for ids in all_ids[:4]]
    lines = []
    for sampler in ("argmax", "direct", "binary", "alias", "gumbel"):
        cells = []
        for count in range(4):
            options: dict[str, Any] = dict(list(SAMPLING.items())[:count])
            settings = api.sample_settings(sampler=sampler, top=TOP_LIMIT, **options)
            cells.append(f"{_decide_ms(model, laws, settings):9.2f}")
        lines.append(f"{sampler:<10}" + "".join(cells))
    return lines


def _decide_ms(model: Any, laws: Sequence[tuple[Tensor, Tensor]], settings: SampleSettings) -> float:
    times = []
    for repeat in range(DECIDE_REPEATS):
        for logits, history in laws:
            started = time.perf_counter()
            decide(logits, history, repeat, settings, Uniforms(0), model.token)
            times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


def memory() -> str:
    """What this process holds now, and at most since it began, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    status = Path("/proc/self/statm")
    if not status.exists():
        return f"{peak:,.0f} MB at most"
    now = int(status.read_text().split()[1]) * resource.getpagesize() / 1e6
    return f"{now:,.0f} MB now, {peak:,.0f} MB at most"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__.splitlines()[0])
    prompts.add_options(top, 8, 32)
    top.add_argument("--rounds", type=int, default=3)
    top.add_argument("--device", default="auto")
    top.add_argument("--dtype", default="auto")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print the tables; 2 with one line where the prompts or the model cannot be had."""
    options = parser().parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        texts = prompts.read(options.prompts, options.count)
        model: Any = api.load(options.model, options.device, options.dtype, engine="torch")
        limit = model.info.context_length - options.tokens
        all_ids = [ids for ids in map(model.encode, texts) if len(ids) <= limit]
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    info = model.info
    lengths = sorted(map(len, all_ids))
    print(f"{info.name}, {info.dtype} on {info.device}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print(f"{len(all_ids)} prompts of {lengths[0]} to {lengths[-1]} tokens, {options.tokens} new tokens each")
    print("\nTokens per second, median; ratio ours / generate: median, middle half, and of the best turns")
    print(f"{'':<28} {'ours':>8} {'generate':>9} {'ratio':>8} {'middle half':>16} {'best':>8}")
    for contest in race(model, all_ids, options.tokens, options.rounds):
        print(contest.row())
    print(f"\nTracing one step, ms (vocabulary {info.vocab_size:,}, {TOP_LIMIT} alternatives), by number of stages")
    print(f"{'':<10}{'model':>9}{'+ T .8':>9}{'+ k 50':>9}{'+ p .95':>9}")
    print("\n".join(tracing_cost(model, all_ids)))
    print(f"\nMemory of this process: {memory()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

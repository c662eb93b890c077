"""Our beam search beside `transformers.generate(num_beams=W)`: the same texts and scores, and the speed.

    python -m benchmarks.beam agreement [--prompts FILE.jsonl] [--count 50] [--widths 1 8] [--penalties 0 1 2]
    python -m benchmarks.beam speed [--prompts FILE.jsonl] [--tokens 32] [--num-beams 4]

Agreement, in float32: every text returned, token for token, and its score to 1e-4. Where the two differ and
somewhere on the way the last candidate taken was within 1e-4 nats of the first one left out, rounding decided: a
near-tie. Anything else is a fault, and the exit status is 1. Speed: the full trace on our side, none on theirs.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmarks import prompts
from benchmarks.speed import Contest, Endless, Make
from benchmarks.speed import theirs as generate
from decoding import api
from decoding.beam.results import results
from decoding.beam.search import beam
from decoding.errors import UserError
from decoding.models import threads
from decoding.sampling import Uniforms
from decoding.settings import BeamSettings
from decoding.trace import BeamStep, Step

NEAR_TIE = 1e-4
"""Nats between two candidates that float32 rounding may swap; and between two scores that are the same."""

Texts = list[tuple[tuple[int, ...], float]]
"""Token ids and score of each text returned, best first."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first text that differs, counted from 1, and the narrowest choice on our side (nats)."""

    text: int
    margin: float

    @property
    def kind(self) -> str:
        """Whether rounding can explain it."""
        return "near-tie" if self.margin < NEAR_TIE else "different"


def ours(model: Any, ids: Sequence[int], settings: BeamSettings) -> tuple[Texts, list[Step]]:
    """What our search returns, and its steps."""
    steps = list(beam(model, ids, settings, Uniforms(0)))
    return [(each.token_ids, each.score) for each in results(steps, settings)], steps


def theirs(model: Any, ids: Sequence[int], settings: BeamSettings) -> Texts:
    """What `generate` returns on the same module: texts that it padded are cut after their end token."""
    prompt = torch.tensor([list(ids)], device=model.module.device)
    with torch.inference_mode():
        made = model.module.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            num_beams=settings.num_beams,
            num_return_sequences=settings.num_return_sequences,
            max_new_tokens=settings.max_new_tokens,
            length_penalty=settings.length_penalty,
            early_stopping=settings.early_stopping,
            do_sample=False,
            pad_token_id=0,
            return_dict_in_generate=True,
            output_scores=True,
        )
    texts = [_until_end(row[len(ids) :], model.end_ids) for row in made.sequences.tolist()]
    if settings.num_beams == 1:  # plain greedy, which reports no score of its own
        logprobs = [scores.log_softmax(-1) for scores in made.scores]
        total = sum(float(row[0, id]) for row, id in zip(logprobs, texts[0], strict=True))
        return [(texts[0], total / len(texts[0]) ** settings.length_penalty)]
    return list(zip(texts, made.sequences_scores.tolist(), strict=True))


def _until_end(ids: Sequence[int], end_ids: frozenset[int]) -> tuple[int, ...]:
    stop = next((at for at, id in enumerate(ids, start=1) if id in end_ids), len(ids))
    return tuple(ids[:stop])


def difference(model: Any, ids: Sequence[int], settings: BeamSettings) -> Difference | None:
    """Where the two differ; None where all texts and scores agree."""
    mine, steps = ours(model, ids, settings)
    pairs = itertools.zip_longest(mine, theirs(model, ids, settings), fillvalue=((), math.inf))
    for number, ((tokens, score), (other, other_score)) in enumerate(pairs, start=1):
        if tokens != other or abs(score - other_score) > NEAR_TIE * max(1, abs(score)):
            return Difference(number, min(margins(steps), default=math.inf))
    return None


def margins(steps: Sequence[Step]) -> Iterator[float]:
    """Of each depth, how far what was taken lay from what was left out; and of the texts, from each other."""
    for step in steps:
        if isinstance(step, BeamStep):
            cuts = [(node.rule.value, node.rule.threshold) for node in step.nodes if node.rule is not None]
            yield from (abs(threshold - value) for value, threshold in cuts)
            scores = [text.score for text in step.finished]
            yield from (above - below for above, below in itertools.pairwise(scores))
            if step.attainable is not None and scores:
                yield abs(step.attainable - scores[-1])


def compare(model: Any, all_ids: Sequence[Sequence[int]], asked: Sequence[BeamSettings]) -> Counter[str]:
    """Every prompt under every settings; each difference is told on a line, and all are counted by kind."""
    counts = Counter({"same": 0, "near-tie": 0, "different": 0})
    total = len(all_ids) * len(asked)
    for done, (number, settings) in enumerate(itertools.product(range(len(all_ids)), asked), start=1):
        found = difference(model, all_ids[number], settings)
        kind = "same" if found is None else found.kind
        counts[kind] += 1
        if found is not None:
            what = f"{settings.num_beams} beams, length_penalty {settings.length_penalty:g}"
            print(f"prompt {number + 1}, {what}: {kind} at text {found.text}, narrowest choice {found.margin:.2e}")
        print(f"\r{done} of {total}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return counts


def agreement(model: Any, options: argparse.Namespace, all_ids: Sequence[Sequence[int]]) -> int:
    """The first table: 0, or 1 where a difference is no near-tie."""
    low, high = options.widths
    asked = [
        BeamSettings(num_beams=width, num_return_sequences=width, max_new_tokens=options.tokens, length_penalty=penalty)
        for width, penalty in itertools.product(range(low, high + 1), options.penalties)
    ]
    counts = compare(model, all_ids, asked)
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    print(f"{len(all_ids)} prompts, {low} to {high} beams, length penalties {options.penalties}, ", end="")
    print(f"{options.tokens} new tokens: {told}")
    return 1 if counts["different"] else 0


def traced(model: Any, settings: BeamSettings) -> Make:
    """Our search to the last token, its steps kept."""
    endless = Endless(model)

    def make(ids: Sequence[int], tokens: int, seed: int) -> int:
        with threads.during_run(model):
            return len(list(beam(endless, ids, replace(settings, max_new_tokens=tokens), Uniforms(seed))))

    return make


def contest(model: Any, num_beams: int) -> Contest:
    """Ours with the full trace, and `generate` with none; end tokens are off on both sides."""
    model.module.generation_config.eos_token_id = None  # of this process only; ours are off in `Endless`
    settings = BeamSettings(num_beams=num_beams)
    options = {"num_beams": num_beams, "do_sample": False}
    return Contest(f"{num_beams} beams", traced(model, settings), generate(model.module, **options))


def speed(model: Any, options: argparse.Namespace, all_ids: Sequence[Sequence[int]]) -> int:
    """The second table; 0."""
    turns = contest(model, options.num_beams)
    turns.take_turns(0, all_ids[0], min(options.tokens, 4), 0)
    turns.times.clear()
    for number, (at, ids) in itertools.product(range(options.rounds), enumerate(all_ids)):
        turns.take_turns(at, ids, options.tokens, number + at)
        print(f"\rround {number + 1} of {options.rounds}, prompt {at + 1} of {len(all_ids)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    print(f"{len(all_ids)} prompts of {min(map(len, all_ids))} to {max(map(len, all_ids))} tokens, ", end="")
    print(f"{options.tokens} new tokens each, {torch.get_num_threads()} threads")
    print(f"{'tokens per second':<28} {'ours':>8} {'generate':>9} {'ratio':>8} {'middle half':>16} {'best':>8}")
    print(turns.row())
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m benchmarks.beam", description=__doc__.splitlines()[0])
    which = top.add_subparsers(dest="which", required=True)
    for name, count, tokens in (("agreement", 50, 24), ("speed", 8, 32)):
        command = which.add_parser(name)
        prompts.add_options(command, count, tokens)
        command.add_argument("--longest", type=int, default=200, help="tokens of the longest prompt taken")
        command.add_argument("--chat", action="store_true", help="put the prompts into the model's chat template")
        command.add_argument("--device", default="auto")
    pairs, race = which.choices["agreement"], which.choices["speed"]
    pairs.add_argument("--widths", type=int, nargs=2, default=(1, 8), metavar=("LOW", "HIGH"))
    pairs.add_argument("--penalties", type=float, nargs="+", default=(0.0, 1.0, 2.0))
    race.add_argument("--num-beams", type=int, default=4)
    race.add_argument("--rounds", type=int, default=3)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the two; 2 with one line where the prompts or the model cannot be had."""
    options = parser().parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        texts = prompts.read(options.prompts)
        model: Any = api.load(options.model, options.device, "float32", engine="torch")
        encoded = [model.encode(text, "chat" if options.chat else "raw") for text in texts]
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    limit = min(options.longest, model.info.context_length - options.tokens)
    fitting = [ids for ids in encoded if len(ids) <= limit]
    count = min(options.count, len(fitting))
    all_ids = [fitting[i * len(fitting) // count] for i in range(count)]
    if not all_ids:
        print(f"No prompt has at most {limit} tokens.", file=sys.stderr)
        return 2
    return (agreement if options.which == "agreement" else speed)(model, options, all_ids)


if __name__ == "__main__":
    sys.exit(main())

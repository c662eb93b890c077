"""Speculative decoding beside our own plain decoding, and beside transformers' assisted generation, in one run.

    python -m benchmarks.speculative [--prompts FILE.jsonl] [--count 8] [--tokens 64] [--gamma 4] [--template chat]
                                     [--drafters trained,ngram,early] [--temperatures 0 1] [--engine onnx]
    python -m benchmarks.speculative --greedy-equality [--count 8] [--drafters ...]

Speed: the first turns of the first questions. Everybody runs every prompt, one after the other, and who begins goes
round, so that whatever else the machine does falls on all alike. End tokens end a text; speed is per token. Ours
records every step, theirs records nothing; each speed-up is over the same side's plain decoding, prompt included.
Equality: at temperature 0 the tokens of every drafter at gamma 1 to 8 beside greedy; where they part, the two likeliest
tokens were less than 1e-4 apart in the logits (a near-tie, which rounding decides), or it is a fault: status 1.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from benchmarks import prompts
from benchmarks.assisted import Run, Turn, theirs
from benchmarks.engine import FEW
from decoding import api
from decoding.errors import UserError
from decoding.models import threads, timing
from decoding.sampling import Uniforms, sample
from decoding.speculative import cost
from decoding.speculative.counts import counts
from decoding.speculative.race import Racers
from decoding.speculative.sweep import CANNOT_HAVE
from decoding.speculative_settings import SpeculativeSettings
from decoding.trace import DRAFTERS, SpeculativeStep
from decoding.values import ForwardTimes

NEAR_TIE = 1e-4
"""Between the two highest logits of a step that float32 rounding may swap."""
GAMMAS = range(1, 9)
WARM_TOKENS = 4


@dataclass
class Entry:
    """One contestant: `run(ids, settings, seed)` makes one text; what its turns came to."""

    name: str
    run: Run
    drafter: str = ""
    seconds: float = 0.0
    tokens: int = 0
    passes: int = 0
    steps: list[SpeculativeStep] = field(default_factory=list)

    def take_turn(self, ids: Sequence[int], settings: SpeculativeSettings, seed: int) -> None:
        """Run once and count."""
        started = time.perf_counter()
        tokens, passes = self.run(ids, settings, seed)
        self.seconds += time.perf_counter() - started
        self.tokens += tokens
        self.passes += passes

    def forget(self) -> None:
        """Begin to count anew."""
        self.seconds, self.tokens, self.passes = 0.0, 0, 0
        self.steps.clear()


# --- who runs --------------------------------------------------------------------------------------


def ours(model: Any, drafts: dict[str, Any]) -> list[Entry]:
    """Plain decoding, and speculation with each drafter; `drafts`: the model of each that has one."""

    def plain(ids: Sequence[int], settings: SpeculativeSettings, seed: int) -> Turn:
        made = Racers(model, None, ids, settings, seed).plain()
        with threads.during_run(model):
            steps = sum(1 for _ in made)
        return len(made.ids), steps

    entries = [Entry("plain", plain)]
    for drafter, draft in drafts.items():
        entry = Entry(drafter, lambda ids, settings, seed: (0, 0), drafter)

        def speculative(
            ids: Sequence[int], settings: SpeculativeSettings, seed: int, entry: Entry = entry, draft: Any = draft
        ) -> Turn:
            made = Racers(model, draft, ids, replace(settings, drafter=entry.drafter), seed).speculative()
            with threads.during_run(model, draft):
                rounds = sum(1 for _ in made)
            entry.steps += [step for step in made.steps if isinstance(step, SpeculativeStep)]
            return len(made.ids), rounds

        entry.run = speculative
        entries.append(entry)
    return entries


# --- speed -----------------------------------------------------------------------------------------


def race(field_: Sequence[Entry], all_ids: Sequence[Sequence[int]], settings: SpeculativeSettings) -> None:
    """Every entry on every prompt, after a warm-up; the first goes last on the next prompt."""
    for entry in field_:
        entry.take_turn(all_ids[0], replace(settings, max_new_tokens=WARM_TOKENS), 0)
        entry.forget()
    for at, ids in enumerate(all_ids):
        first = at % len(field_)
        for entry in (*field_[first:], *field_[:first]):
            entry.take_turn(ids, settings, at)
        print(f"\rprompt {at + 1} of {len(all_ids)}", end="", file=sys.stderr)
    print(file=sys.stderr)


def row(entry: Entry, plain: Entry, predicted: str) -> str:
    """One line of the table; what only our rounds tell is a dash for others."""
    made = counts(entry.steps)
    acceptance = f"{made.acceptance:.3f}" if made.acceptance is not None else "–"
    places = " ".join(f"{place.share:.2f}" for place in cost.by_place(entry.steps)[:4] if place.share is not None)
    faster = plain.seconds / plain.tokens / (entry.seconds / entry.tokens)
    figures = f"{entry.tokens / entry.passes:6.2f} {entry.passes / entry.tokens:8.3f} {acceptance:>10}"
    speed = f"{entry.tokens / entry.seconds:9.2f} {faster:8.2f} {predicted:>9}"
    return f"{entry.name:<20} {figures} {speed}  {places}"


def predictions(entry: Entry, gamma: int, target: ForwardTimes, draft: ForwardTimes | None) -> str:
    """The speed-up that the cost model gives for this acceptance by position, passes of a draft a round, and times."""
    shares, made = [place.share or 0.0 for place in cost.by_place(entry.steps)], counts(entry.steps)
    if not shares or (made.draft_passes and draft is None):
        return "–"
    passes = made.draft_passes / made.target_passes
    return f"{cost.timed_speedup(shares, gamma, target, draft, passes):.2f}"


def times_row(name: str, times: ForwardTimes, one: float) -> str:
    """T(n) by T(1) of one model, and its T(1) by the target's: c."""
    ratios = "  ".join(f"{n}: {times.of_tokens(n) / times.of_tokens(1):.2f}" for n in (2, 3, 5, 9, 17))
    return f"{name:<20} T(1) {times.of_tokens(1):7.2f} ms   c {times.of_tokens(1) / one:5.3f}   T(n)/T(1)  {ratios}"


def speed(model: Any, options: argparse.Namespace, all_ids: Sequence[Sequence[int]], drafts: dict[str, Any]) -> int:
    """Times of forwards, then a table for each temperature; 0."""
    measured = {name: _times(draft) for name, draft in drafts.items() if draft is not None}
    own = _times(model)
    measured |= {"oracle": own} if "oracle" in drafts else {}
    print("\nOne forward of n tokens after 100, best of several")
    print(times_row("target", own, own.of_tokens(1)))
    for name, times in measured.items():
        print(times_row(name, times, own.of_tokens(1)))
    entries, others = ours(model, drafts), []
    if not options.alone:
        reference = model if hasattr(model, "module") else api.load(options.model, "cpu", "float32", engine="torch")
        _, helpers = _drafts(reference, options, [name for name in drafts if name in ("trained", "early")])
        runs = theirs(reference.module, {name: draft.module for name, draft in helpers.items()}, options.gamma)
        others = [Entry(name, run) for name, run in runs.items()]
    for heat in options.temperatures:
        settings = _settings(options, heat)
        for entry in (*entries, *others):
            entry.forget()
        race([*entries, *others], all_ids, settings)
        print(f"\nTemperature {heat:g}, gamma {options.gamma}: {len(all_ids)} prompts, {options.tokens} new tokens")
        print(f"{'':<20} {'tau':>6} {'passes':>8} {'acceptance':>10} {'tokens/s':>9} {'speed-up':>8}", end=" ")
        print(f"{'predicted':>9}  accepted by position")
        for entry in entries:
            draft = measured.get(entry.drafter)
            told = predictions(entry, options.gamma, own, draft)
            print(row(entry, entries[0], told if entry.drafter else "–"))
        for entry in others:
            print(row(entry, others[0], "–"))
    return 0


def _times(model: Any) -> ForwardTimes:
    return timing.measure(model, lambda done: None, **FEW)  # type: ignore[arg-type]


# --- equality --------------------------------------------------------------------------------------


def equality(model: Any, options: argparse.Namespace, all_ids: Sequence[Sequence[int]], drafts: dict[str, Any]) -> int:
    """Every drafter and gamma beside greedy; each difference on a line, all counted; 1 where one is no near-tie."""
    found = Counter({"same": 0, "near-tie": 0, "different": 0})
    settings = _settings(options, 0.0)
    for at, ids in enumerate(all_ids):
        greedy = list(sample(model, ids, api.greedy_settings(max_new_tokens=options.tokens, top=2), Uniforms(0)))
        for drafter, gamma in itertools.product(drafts, GAMMAS):
            asked = replace(settings, drafter=drafter, gamma=gamma)
            made = Racers(model, drafts[drafter], ids, asked, at).speculative()
            for _ in made:
                pass
            kind, where = _difference(greedy, made.ids)
            found[kind] += 1
            if kind != "same":
                print(f"prompt {at + 1}, {drafter}, gamma {gamma}: {kind} at new token {where + 1}")
        print(f"\rprompt {at + 1} of {len(all_ids)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    told = ", ".join(f"{count} {kind}" for kind, count in found.items())
    print(f"{len(all_ids)} prompts, {', '.join(drafts)}, gamma {GAMMAS[0]} to {GAMMAS[-1]}, ", end="")
    print(f"{options.tokens} new tokens, temperature 0 beside greedy: {told}")
    return 1 if found["different"] else 0


def _difference(greedy: Sequence[Any], ids: Sequence[int]) -> tuple[str, int]:
    """Whether these tokens are greedy's; else whether the first one that differs was a near-tie, and its place."""
    for place, (step, id) in enumerate(zip(greedy, ids, strict=False)):
        if step.token.id != id:
            gap = step.draw.gap
            return ("near-tie" if gap is not None and gap < NEAR_TIE else "different"), place
    return ("same", 0) if len(greedy) == len(ids) else ("different", min(len(greedy), len(ids)))


# --- the command -----------------------------------------------------------------------------------


def _settings(options: argparse.Namespace, heat: float) -> SpeculativeSettings:
    return api.speculative_settings(
        temperature=heat,
        gamma=options.gamma,
        exit_layer=options.exit_layer,
        max_new_tokens=options.tokens,
        drafter="oracle",
    )


def _drafts(model: Any, options: argparse.Namespace, names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """What is said of drafters that cannot be had, and each other's model (None where it needs none)."""
    missing, found = [], {}
    for name in names:
        try:
            found[name] = api.load_draft(model, replace(_settings(options, 0.0), drafter=name))
        except UserError as error:
            if error.code not in CANNOT_HAVE:
                raise
            missing.append(f"{name} is left out: {error}")
    return missing, found


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m benchmarks.speculative", description=__doc__.splitlines()[0])
    prompts.add_options(top, 8, 64, "the first of the file")
    top.add_argument("--gamma", type=int, default=4)
    top.add_argument("--drafters", default=",".join(DRAFTERS), help="by name, with commas; a model's name or a folder")
    top.add_argument("--temperatures", type=float, nargs="+", default=(0.0, 1.0))
    top.add_argument("--exit-layer", type=int, default=28, help="layers of the drafter early")
    top.add_argument("--template", choices=("raw", "chat"), default="raw")
    top.add_argument("--device", default="auto")
    top.add_argument("--dtype", default="auto")
    top.add_argument("--engine", default="auto")
    top.add_argument("--precision", default="auto")
    top.add_argument("--alone", action="store_true", help="leave out transformers")
    top.add_argument("--greedy-equality", action="store_true", help="compare tokens at temperature 0, not speed")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print the tables; 2 with one line where the prompts, the model or the settings cannot be had."""
    options = parser().parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        for heat in options.temperatures:
            _settings(options, heat)
        where = {"engine": options.engine, "precision": options.precision}
        texts = prompts.read(options.prompts)[: options.count]
        model: Any = api.load(options.model, options.device, options.dtype, **where)
        limit = model.info.context_length - options.tokens
        all_ids = [ids for ids in (model.encode(text, options.template) for text in texts) if len(ids) <= limit]
        missing, drafts = _drafts(model, options, [name for name in options.drafters.split(",") if name])
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    if not all_ids or not drafts:
        print("No prompt is short enough." if drafts else "No drafter is left.", *missing, sep="\n", file=sys.stderr)
        return 2
    info, lengths = model.info, sorted(map(len, all_ids))
    print(f"{info.name}, {info.dtype} on {info.device}, engine {info.engine}; torch {torch.__version__},", end=" ")
    print(f"{torch.get_num_threads()} threads; prompts of {lengths[0]} to {lengths[-1]} tokens, {options.template}")
    print(*missing, sep="\n", end="\n" if missing else "")
    return (equality if options.greedy_equality else speed)(model, options, all_ids, drafts)


if __name__ == "__main__":
    sys.exit(main())

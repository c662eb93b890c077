"""How far each precision of ONNX Runtime is from torch in float32, over the tokens of real prompts.

    python -m benchmarks.precision [--prompts FILE.jsonl] [--count 50] [--tokens 24]

Per token read: KL(torch || engine) in nats, and whether the likeliest next token is the same. Per prompt: whether
greedy decoding gives the same new tokens; where it first does not, the gap of the two logits in torch is told.
The exit status is 1 where float32 differs by more than a near-tie, or int4's mean KL is above 0.01 nats.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from benchmarks import prompts
from benchmarks.agreement import NEAR_TIE, ours
from decoding import api
from decoding.errors import UserError
from decoding.sampling import logits_after

LIMIT_NATS = 0.01
PRECISIONS = ("float32", "int4")


@dataclass
class Comparison:
    """One engine beside the reference: nats and agreement of each token, and the gap of each greedy difference."""

    model: Any
    nats: list[Tensor] = field(default_factory=list)
    same_top: list[Tensor] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    runs: int = 0

    def read(self, ids: Sequence[int], expected: Tensor) -> None:
        """Compare the laws after every token of `ids`; `expected`: the reference's log-probabilities."""
        found = laws(self.model, ids)
        self.nats.append((expected.exp() * (expected - found)).sum(-1))
        self.same_top.append((expected.argmax(-1) == found.argmax(-1)).double())

    def decode(self, reference: Any, ids: Sequence[int], expected: Sequence[int], tokens: int) -> None:
        """Compare greedy texts."""
        self.runs += 1
        found = ours(self.model, ids, tokens)
        at = next((i for i, pair in enumerate(zip(found, expected, strict=False)) if pair[0] != pair[1]), None)
        if at is not None:
            logits = logits_after(reference, [*ids, *expected[:at]])
            self.gaps.append(abs(float(logits[found[at]] - logits[expected[at]])))

    def row(self) -> str:
        """Tokens, mean and largest KL, top-1 agreement; greedy runs that were the same, near-ties, others."""
        nats, same = torch.cat(self.nats), torch.cat(self.same_top)
        ties = sum(gap < NEAR_TIE for gap in self.gaps)
        law = f"{len(nats):8,} {float(nats.mean()):12.2e} {float(nats.max()):12.2e} {float(same.mean()):9.2%}"
        return f"{self.model.info.dtype:<12} {law} {self.runs - len(self.gaps):8} {ties:9} {len(self.gaps) - ties:10}"

    @property
    def fails(self) -> bool:
        """Whether this precision is not what it must be."""
        if self.model.info.dtype == "float32":
            return any(gap >= NEAR_TIE for gap in self.gaps)
        return float(torch.cat(self.nats).mean()) > LIMIT_NATS


def laws(model: Any, ids: Sequence[int]) -> Tensor:
    """Log-probabilities after every token, in float64: (tokens, vocabulary)."""
    logits = model.forward(torch.tensor([list(ids)]), model.new_cache()).logits[0]
    return torch.log_softmax(logits.double(), -1)


def compare(reference: Any, models: Sequence[Any], all_ids: Sequence[Sequence[int]], tokens: int) -> list[Comparison]:
    """Every model on every prompt."""
    comparisons = [Comparison(model) for model in models]
    for number, ids in enumerate(all_ids, start=1):
        expected, text = laws(reference, ids), ours(reference, ids, tokens)
        for comparison in comparisons:
            comparison.read(ids, expected)
            comparison.decode(reference, ids, text, tokens)
        print(f"\r{number} of {len(all_ids)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return comparisons


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m benchmarks.precision", description=__doc__.splitlines()[0])
    prompts.add_options(top, 50, 24)
    top.add_argument("--longest", type=int, default=256, help="tokens read of a prompt at most")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and report: 0, or 1 where a precision is not what it must be, or 2 with one line."""
    options = parser().parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        texts = prompts.read(options.prompts, options.count)
        reference: Any = api.load(options.model, "cpu", "float32", engine="torch")
        models = [api.load(options.model, "cpu", engine="onnx", precision=each) for each in PRECISIONS]
        all_ids = [reference.encode(text)[: options.longest] for text in texts]
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    comparisons = compare(reference, models, all_ids, options.tokens)
    print(f"{options.model}: ONNX Runtime beside torch in float32, {len(all_ids)} prompts, {options.tokens} new tokens")
    print(f"{'':<12} {'tokens':>8} {'mean KL':>12} {'largest KL':>12} {'same top':>9} {'greedy =':>8}", end="")
    print(f" {'near-tie':>9} {'different':>10}")
    for comparison in comparisons:
        print(comparison.row())
    return int(any(comparison.fails for comparison in comparisons))


if __name__ == "__main__":
    sys.exit(main())

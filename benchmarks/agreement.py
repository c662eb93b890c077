"""Our greedy beside `transformers.generate(do_sample=False)`, token for token, in float32.

    python -m benchmarks.agreement [--prompts FILE.jsonl] [--count 50] [--tokens 24] [--chat]

Where the two differ, the gap between the two tokens' logits there is told. Below 1e-4 it is a
near-tie, which rounding decides; anything else is a fault, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks import prompts
from decoding import api
from decoding.errors import UserError
from decoding.sampling import Uniforms, logits_after, sample
from decoding.settings import Limits

NEAR_TIE = 1e-4
"""Nats between two logits that float32 rounding may swap."""


def ours(model: Any, ids: Sequence[int], tokens: int) -> list[int]:
    """New tokens of our greedy loop."""
    return [step.token.id for step in sample(model, ids, api.greedy_settings(tokens), Uniforms(0))]


def theirs(model: Any, ids: Sequence[int], tokens: int) -> list[int]:
    """New tokens of `generate` on the same module; it stops at the same end tokens."""
    prompt = torch.tensor([list(ids)], device=model.module.device)
    mask = torch.ones_like(prompt)
    with torch.inference_mode():
        made = model.module.generate(
            prompt, attention_mask=mask, max_new_tokens=tokens, do_sample=False, pad_token_id=0
        )
    return [int(id) for id in made[0, len(ids) :]]


def difference(model: Any, ids: Sequence[int], tokens: int) -> tuple[int, float] | None:
    """The first new token that differs and the gap of the two logits there (nats); None where all agree."""
    mine, other = ours(model, ids, tokens), theirs(model, ids, tokens)
    if mine == other:
        return None
    at = next((i for i, pair in enumerate(zip(mine, other, strict=False)) if pair[0] != pair[1]), None)
    if at is None:  # one stopped earlier than the other
        return min(len(mine), len(other)), float("inf")
    logits = logits_after(model, [*ids, *mine[:at]])
    return at, abs(float(logits[mine[at]] - logits[other[at]]))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="python -m benchmarks.agreement", description=__doc__.splitlines()[0])
    prompts.add_options(top, 50, 24)
    top.add_argument("--chat", action="store_true", help="put the prompts into the model's chat template")
    top.add_argument("--device", default="auto")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and report: 0, or 1 where a difference is no near-tie, or 2 with one line."""
    options = parser().parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        texts = prompts.read(options.prompts, options.count)
        model: Any = api.load(options.model, options.device, "float32", engine="torch")
        encoded = [model.encode(text, "chat" if options.chat else "raw") for text in texts]
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    limit = min(Limits().prompt_tokens, model.info.context_length - options.tokens)
    counts = {"same": 0, "near-tie": 0, "different": 0, "too long": 0}
    for number, ids in enumerate(encoded, start=1):
        found = difference(model, ids, options.tokens) if len(ids) <= limit else None
        if len(ids) > limit:
            kind = "too long"
        elif found is None:
            kind = "same"
        else:
            kind = "near-tie" if found[1] < NEAR_TIE else "different"
            print(f"prompt {number} ({len(ids)} tokens): {kind} at new token {found[0] + 1}, gap {found[1]:.2e}")
        counts[kind] += 1
        print(f"\r{number} of {len(encoded)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    print(
        f"{len(encoded)} prompts, {options.tokens} new tokens each: {', '.join(f'{n} {k}' for k, n in counts.items())}"
    )
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())

"""The prompts that benchmarks run on: a few of our own, or a JSON-lines file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from decoding.errors import UserError

OWN = (
    "The sky is blue because",
    "Once upon a time, in a village between two rivers, there lived a girl who",
    "The three most important things to remember about probability are",
    "def mean(numbers):\n    return",
    "Dear Ms. Okafor,\n\nThank you for your letter of 3 May. I am writing to",
    "Q: Why does bread rise?\nA:",
    "A recipe for tomato soup. You need six tomatoes, an onion, salt and pepper. First,",
    "The train from Lyon to Turin leaves at nine, crosses the border at noon, and",
)


def add_options(
    command: argparse.ArgumentParser, count: int, tokens: int, which: str = "evenly spaced through the file"
) -> None:
    """What every benchmark of a model asks for; `count` prompts and `tokens` new ones where nothing is said."""
    command.add_argument("--model", default="smollm2")
    command.add_argument("--prompts", type=Path, help="JSON lines with 'prompt' or 'turns'; default: eight of our own")
    command.add_argument("--count", type=int, default=count, help=f"prompts to take, {which}")
    command.add_argument("--tokens", type=int, default=tokens, help="new tokens per prompt")
    command.add_argument("--threads", type=int, help="of torch; default: its own choice")


def read(path: Path | None, count: int | None = None) -> list[str]:
    """`count` prompts, evenly spaced through the file (all where None); our own where there is no file.

    Each line is an object with `prompt`, or with `turns` of which the first is taken.
    Raises UserError for a file that is not so.
    """
    prompts = list(OWN) if path is None else _read_lines(path)
    if count is None or count >= len(prompts):
        return prompts
    return [prompts[i * len(prompts) // count] for i in range(count)]


def _read_lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
        prompts = [row["prompt"] if "prompt" in row else row["turns"][0] for row in rows]
        if not prompts or not all(isinstance(prompt, str) for prompt in prompts):
            raise ValueError("no prompts")
        return prompts
    except OSError as error:
        raise UserError("no_such_file", path=str(path), why=error.strerror or "cannot be read") from error
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise UserError("no_such_file", path=str(path), why="is not JSON lines with 'prompt' or 'turns'") from error

"""Write the recorded cost table: `python -m decoding.experiments.record OUT.json`. Takes a few minutes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from decoding import codec
from decoding.experiments import cost

ITEMS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
DRAWS = (1, 3, *ITEMS)


def main(arguments: list[str] | None = None) -> None:
    """Measure and write; progress goes to stderr."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--law", choices=cost.LAWS, default="random")
    parser.add_argument("--effort", type=int, default=5_000_000, help="numbers looked at for one point")
    parser.add_argument("--machine", default="", help="what it runs on, in words")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    plan = cost.Plan(ITEMS, DRAWS, law=options.law, effort=options.effort)
    points = []
    for point in cost.measure(plan):
        points.append(point)
        print(f"\r{len(points)} of {len(plan.jobs())}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    options.out.write_text(codec.dumps(cost.table(plan, points, options.machine)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

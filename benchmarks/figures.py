"""How long the pictures of a beam search take to build: `python -m benchmarks.figures [--times N]`.

Trees of about 300 nodes and their queues, from recorded steps to plain dicts and to JSON text; nothing is judged.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import orjson

from tests import beam_steps
from visualizations.figures import beam_queue, beam_tree
from visualizations.figures.style import Figure, View
from visualizations.text import Text


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=30)
    times = parser.parse_args().times
    steps = beam_steps.random(width=4, depth=8, top=11, end=0.1)
    best, view = beam_steps.best(steps), View(Text("en"), "light", 1040)
    nodes = sum(len(step.nodes) for step in steps)
    made: dict[str, Callable[[], Figure]] = {
        f"tree, all {nodes} nodes": lambda: beam_tree.tree(steps, view, root="start", best=best),
        "tree, near the cut": lambda: beam_tree.tree(steps, view, root="start", best=best, show="near"),
        "tree, kept only": lambda: beam_tree.tree(steps, view, root="start", best=best, show="kept"),
        "tree, all, twice as wide": lambda: beam_tree.tree(steps, view, root="start", best=best, zoom=2.6),
        "queue of one depth": lambda: beam_queue.queue(steps, view, depth=4),
    }
    print(f"{'median of ' + str(times):28} {'build':>9} {'of it CPU':>10} {'to JSON':>9} {'size':>9}")
    for name, make in made.items():
        figure = make()
        builds = [clock(make) for _ in range(times)]
        wall, cpu = (statistics.median(column) for column in zip(*builds, strict=True))
        texts = [clock(lambda figure=figure: orjson.dumps(figure))[0] for _ in range(times)]
        size = len(orjson.dumps(figure)) / 1024
        print(f"{name:28} {wall:6.1f} ms {cpu:7.1f} ms {statistics.median(texts):6.2f} ms {size:6.0f} KB")


def clock(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds that one call takes by the clock, and of the processor: they differ where others work beside us."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return 1000 * (time.perf_counter() - start), 1000 * (time.process_time() - cpu)


if __name__ == "__main__":
    main()

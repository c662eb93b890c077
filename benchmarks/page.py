"""How quick the pages are, in a real browser: `python -m benchmarks.page [--times N]`.

Measures slider to redraw, step to redraw, Run to the first token, and the memory of the whole process.
A redraw is over when the browser has shown the frame with every picture that is on the screen (1440 x 900).
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) - 1)))  # as the app sets it

import psutil
from playwright.sync_api import Page, sync_playwright

from tests.e2e.conftest import ARGUMENTS, chromium, done, finished, painted, run, serve, settled
from visualizations.lab import Lab

REDRAW = """
async ([selector, values]) => {
  const input = document.querySelector(selector), root = document.querySelector(".lab-viewer"), times = [];
  for (const value of values) {
    const before = root.dataset.shown, start = performance.now();
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    while (root.dataset.shown === before) await new Promise((r) => setTimeout(r, 1));
    times.push(performance.now() - start);
    while (root.dataset.busy === "true") await new Promise((r) => setTimeout(r, 1));
  }
  return times;
}
"""
"""Move a slider to each value in turn, and wait until its pictures are seen; then until those below stand too."""

FIRST = """
async () => {
  const old = document.querySelector(".lab-viewer").dataset.done, start = performance.now();
  const text = () => document.querySelector(".lab-joined").textContent;
  const before = text();
  document.querySelector(".lab-run").click();
  while (text() === before) await new Promise((r) => setTimeout(r, 1));
  return performance.now() - start;
}
"""


def main() -> None:
    """Measure and print a table; nothing is judged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    demo, url = serve(Lab())
    rows = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium(), args=ARGUMENTS, viewport={"width": 1440, "height": 900}, locale="en-US"
        )
        page = context.pages[0]
        rows.append(("effects: temperature slider to redraw", redraw(page, f"{url}/effects", "temperature", times)))
        rows.append(("effects: top-p slider to redraw", redraw(page, f"{url}/effects", "top_p", times)))
        rows.append(("sampling: step to redraw", redraw(page, f"{url}/sampling", "", times)))
        rows.append(("sampling: Run to the first token", first(page, f"{url}/sampling", max(3, times // 4))))
        context.close()
    for name, found in rows:
        print(f"{name:<42} median {statistics.median(found):6.0f} ms   {min(found):.0f} to {max(found):.0f}")
    print(f"{'memory of the process (with the tests)':<42} {psutil.Process().memory_info().rss / 1e6:6.0f} MB")
    demo.close()


def redraw(page: Page, address: str, slider: str, times: int) -> list[float]:
    """Milliseconds from a slider's move to its pictures; the first is a warm-up."""
    page.goto(address)
    painted(page)
    settled(page)
    selector = f".lab-slider input[name={slider}]" if slider else ".lab-position"
    values = [str(round(0.3 + 0.6 * i / times, 2)) for i in range(times + 1)] if slider else _steps(times)
    return page.evaluate(REDRAW, [selector, values])[1:]


def _steps(times: int) -> list[str]:
    return [str(1 + i % 20) for i in range(times + 1)]


def first(page: Page, address: str, times: int) -> list[float]:
    """Milliseconds from Run to the first token of a short prompt, once the model is loaded."""
    page.goto(address)
    painted(page)
    page.get_by_label("number input for New tokens, at most").fill("3")
    run(page, "The capital of France is")
    found = []
    for seed in range(times):
        page.get_by_label("Seed").fill(str(seed + 100))
        page.keyboard.press("Tab")
        before = done(page)
        found.append(page.evaluate(FIRST))
        finished(page, before)
    return found


if __name__ == "__main__":
    main()

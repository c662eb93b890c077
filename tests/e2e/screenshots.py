"""Take the pictures of the README: `python tests/e2e/screenshots.py --out docs/` (or `make screenshots`)."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.e2e.conftest import ARGUMENTS, chromium, painted, serve, settled
from visualizations.lab import Lab

SHOTS = (
    ("sampling-light", "sampling", False),
    ("sampling-dark", "sampling", True),
    ("sampling-light-zh", "zh-sampling", False),
    ("next-token", "", False),
    ("effects", "effects", False),
    ("samplers", "samplers", False),
    ("beam", "beam", False),
)
"""Name, path, dark."""


def main() -> None:
    """Serve the app, and photograph each page from its recorded run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--whole", action="store_true", help="the whole page instead of one screen")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    demo, url = serve(Lab())
    with sync_playwright() as playwright:
        for name, path, dark in SHOTS:
            with tempfile.TemporaryDirectory() as profile:
                context = playwright.chromium.launch_persistent_context(
                    profile,
                    executable_path=chromium(),
                    args=ARGUMENTS,
                    viewport={"width": options.width, "height": 900},
                    color_scheme="dark" if dark else "light",
                    locale="en-US",
                )
                page = context.pages[0]
                page.goto(f"{url}/{path}")
                painted(page)
                settled(page)
                page.screenshot(path=options.out / f"{name}.png", full_page=options.whole)
                context.close()
    demo.close()


if __name__ == "__main__":
    main()

"""A served app and a real browser. A page fails the test on any script error or request to another host."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Playwright, expect, sync_playwright

from visualizations.lab import Lab
from visualizations.models import Models, offered
from visualizations.pages.site import build, launch_options

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 60_000
"""Milliseconds to wait for a state; only a page that never gets there takes this long."""
expect.set_options(timeout=PATIENCE)

LEAVING = ("AbortError: signal is aborted without reason", "Unexpected error Connection errored out.")
"""What Gradio writes where a page is left while it still listens to the server."""
HARMLESS = ("favicon", "ResizeObserver loop", *LEAVING)


@dataclass(frozen=True)
class Served:
    """The app under test: its state and its address."""

    lab: Lab
    url: str


def serve(lab: Lab) -> tuple[Any, str]:
    """Start the app on a free port."""
    demo = build(lab)
    demo.queue(default_concurrency_limit=16, max_size=200)
    _, url, _ = demo.launch(prevent_thread_lock=True, quiet=True, **launch_options())
    return demo, url.rstrip("/")


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """The app with the bundled model and the lecture's table."""
    lab = Lab(Models(offered()))
    demo, url = serve(lab)
    yield Served(lab, url)
    demo.close()


@pytest.fixture(scope="session")
def playwright_() -> Iterator[Playwright]:
    """One Playwright for the session."""
    with sync_playwright() as playwright:
        yield playwright


def chromium() -> str:
    """The browser's path: $CHROMIUM, or the first one found."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        pytest.fail("no Chromium: set CHROMIUM to its path, or run make browser")
    return found


Opener = Callable[..., Page]


@pytest.fixture
def browse(playwright_: Playwright, served: Served, tmp_path: Path) -> Iterator[Opener]:
    """Opens pages: `browse("sampling", width=390, dark=True)`; checks at the end that none complained."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(path: str = "", width: int = 1440, height: int = 900, dark: bool = False, **options: Any) -> Page:
        context = playwright_.chromium.launch_persistent_context(
            str(tmp_path / f"profile-{len(contexts)}"),
            executable_path=chromium(),
            args=ARGUMENTS,
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            **{"locale": "en-US", **options},
        )
        contexts.append(context)
        page = context.pages[0] if context.pages else context.new_page()
        page.set_default_timeout(PATIENCE)
        _listen(page, served.url, complaints)
        page.goto(f"{served.url}/{path}")
        painted(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints, "\n".join(complaints)


def _listen(page: Page, home: str, complaints: list[str]) -> None:
    def complain(what: str) -> None:
        if not any(word in what for word in HARMLESS):
            complaints.append(what)

    page.on("pageerror", lambda error: complain(f"page error: {error}"))
    page.on("console", lambda message: message.type == "error" and complain(f"console: {message.text}"))
    page.on(
        "request",
        lambda request: request.url.startswith((home, "data:", "blob:")) or complain(f"asked for {request.url}"),
    )


def painted(page: Page, panels: str = ".lab-figure:not([hidden])") -> None:
    """Wait until the first pictures stand."""
    page.locator(".lab-viewer[data-painted]").wait_for()
    expect(page.locator(panels).first).to_have_attribute("data-drawn", re.compile(r"\d+"))


def choose(page: Page, label: str, option: str) -> None:
    """Choose an option of a Gradio dropdown by its label."""
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def run(page: Page, prompt: str | None = None) -> None:
    """Type the prompt, press Run, and wait for the run's end."""
    if prompt is not None:
        page.locator(".lab-controls textarea").first.fill(prompt)
    before = done(page)
    page.locator(".lab-run").click()
    finished(page, before)


def done(page: Page) -> str:
    """The id of the run that finished last on this page."""
    return page.locator(".lab-viewer").get_attribute("data-done") or ""


def finished(page: Page, before: str) -> None:
    """Wait until another run than `before` has finished."""
    page.locator(f".lab-viewer[data-done]:not([data-done='{before}'])").wait_for()


def settled(page: Page) -> None:
    """Wait until the pictures are those of the newest wish."""
    page.wait_for_function("document.querySelector('.lab-viewer').dataset.busy === 'false'")

"""Choosing gamma and swapping the drafter in a real browser, on the lecture's table."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Opener, Served, done
from tests.e2e.test_speculative_page import press_run, toy
from visualizations.text import Text

EN = Text("en")


def measure(page: Page, name: str, words: str) -> None:
    """Run the table, find the invitation, press the panel's button, and wait for its figure."""
    toy(page)
    press_run(page)
    panel = page.locator(f".lab-panel[data-panel={name}]")
    expect(panel.locator(".lab-text")).to_contain_text("Not yet measured for this run")
    expect(panel.locator(".lab-figure")).to_be_hidden()
    panel.get_by_role("button", name=words).click()
    expect(panel.locator(".lab-text")).to_contain_text("is a table")
    expect(panel.locator(".lab-figure")).to_have_attribute("data-drawn", re.compile(r"\d+"))


def test_every_gamma_is_tried(browse: Opener, served: Served) -> None:
    page = browse("speculative")
    panel = page.locator(".lab-panel[data-panel=sweep]")
    expect(panel.locator(".lab-figure")).to_contain_text(EN("sweep.name_plain"))
    measure(page, "sweep", EN("sweep.measure"))
    found = served.lab.runs.get(done(page)).measured["sweep"]
    tau = max(race.counts.tau for race in found.races)
    expect(panel.locator(".lab-title")).to_have_text(
        re.compile(rf"^Most tokens a pass here: τ = {tau:.2f}, at γ = \d+$")
    )
    expect(panel.locator(".lab-figure")).to_contain_text(EN("sweep.head_tau"))
    panel.locator("summary").click()
    expect(panel.locator("pre")).to_contain_text("def sweeping(")


def test_every_drafter_is_raced(browse: Opener, served: Served) -> None:
    page = browse("speculative", width=390, dark=True)
    panel = page.locator(".lab-panel[data-panel=alignment]")
    expect(panel.locator(".lab-figure")).to_contain_text("trained draft")
    measure(page, "alignment", EN("align.measure"))
    drafters = [race.drafter for race in served.lab.runs.get(done(page)).measured["alignment"].races]
    assert drafters == ["toy:lecture-draft", "ngram", "random", "oracle"]
    left_out = "Left out: trained draft, look-up + trained draft and early layers ("
    expect(panel.locator(".lab-text")).to_contain_text(left_out)
    expect(panel.locator(".lab-figure")).to_contain_text("oracle")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

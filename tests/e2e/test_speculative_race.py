"""The race against plain decoding in a real browser: after a run, on the player, and where there is none."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Opener, Served, choose, done, run, settled
from visualizations.pages import speculative_race
from visualizations.text import Text

EN = Text("en")
PANEL = ".lab-panel[data-panel=race]"
COUNTERS = ".lab-counters dd"


def fewer(page: Page, tokens: int) -> None:
    """So many new tokens."""
    page.get_by_label(f"number input for {EN('controls.new_tokens')}", exact=True).fill(str(tokens))
    page.keyboard.press("Tab")


def test_a_table_is_not_raced(browse: Opener) -> None:
    page = browse("speculative")
    expect(page.locator(COUNTERS)).to_have_count(6)
    choose(page, "Model", "Toy: the lecture's table")
    expect(page.get_by_label("Who drafts", exact=True)).to_have_value("Toy: a draft of the lecture’s table")
    run(page)
    settled(page)
    expect(page.locator(f"{PANEL} .lab-text")).to_contain_text("no time worth racing for")
    expect(page.locator(f"{PANEL} .lab-measure")).to_be_hidden()
    expect(page.locator(f"{PANEL} .lab-figure")).to_be_hidden()
    expect(page.locator(COUNTERS)).to_have_count(4)


def test_after_a_run_the_same_text_is_raced_and_played_in_its_time(browse: Opener, served: Served) -> None:
    page = browse("speculative")
    fewer(page, 8)
    run(page)
    made = served.lab.runs.get(done(page))
    race = made.measured[speculative_race.NAME]
    expect(page.locator(COUNTERS)).to_have_count(6)
    expect(page.locator(COUNTERS).nth(4)).to_have_text(f"{race.speedup:.2f} ×")
    expect(page.locator(f"{PANEL} .lab-text")).to_contain_text("One race on this machine")
    figure = page.locator(f"{PANEL} .lab-figure")
    expect(figure).to_contain_text(f"{race.speculative.written[-1]} tokens")
    page.keyboard.press("Home")
    expect(page.locator(f"{PANEL} .lab-text")).to_contain_text("After round 1,")
    expect(figure).to_contain_text(f"{race.speculative.written[0]} token")
    expect(page.locator(".lab-counters dt").nth(4)).to_have_text(re.compile("whole run$"))
    page.get_by_role("button", name="Play the steps").click()
    pace = speculative_race.pace(made)
    assert pace is not None and len(pace) == made.moments
    expect(page.locator(".lab-viewer")).to_have_attribute("data-wait", str(pace[-1]))
    expect(page.locator(".lab-counters dt").nth(4)).not_to_have_text(re.compile("whole run$"))


def test_the_button_races_three_times(browse: Opener, served: Served) -> None:
    page = browse("speculative")
    fewer(page, 4)
    run(page)
    page.locator(f"{PANEL} .lab-measure").click()
    expect(page.locator(f"{PANEL} .lab-text")).to_contain_text("Raced 3 times:")
    race = served.lab.runs.get(done(page)).measured[speculative_race.NAME]
    assert len(race.speedups) == 3
    expect(page.locator(COUNTERS).nth(4)).to_have_text(f"{race.speedup:.2f} ×")

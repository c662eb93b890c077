"""The panel *Is it lossless?* and the exhibits on speculative decoding, in a browser."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.e2e.conftest import Opener, Served, choose, run, settled
from visualizations.pages import speculative, speculative_lossless

PANEL = "[data-panel=lossless].lab-panel"


def test_the_band_narrows_with_more_draws_and_another_run_is_measured_when_asked(browse: Opener) -> None:
    page = browse("speculative")
    title, words = page.locator(f"{PANEL} .lab-title"), page.locator(f"{PANEL} .lab-text")
    amounts, figure = page.locator(f"{PANEL} .lab-choice"), page.locator(f"{PANEL} .lab-figure")
    expect(title).to_have_text(re.compile("^Lossless rules stay in the noise; .+ (is|are each) 0\\.\\d+ away"))
    expect(words).to_contain_text("written 200,000 times")
    amounts.get_by_role("button", name="1,000", exact=True).click()
    expect(words).to_contain_text("written 1,000 times")
    amounts.get_by_role("button", name="200,000", exact=True).click()
    expect(words).to_contain_text("written 200,000 times")
    choose(page, "Model", "Toy: the lecture's table")
    expect(page.get_by_label("Who drafts", exact=True)).to_have_value("Toy: a draft of the lecture’s table")
    run(page)
    settled(page)
    expect(title).to_have_text("Is it lossless?")
    expect(amounts).to_be_hidden()
    expect(figure).to_be_hidden()
    page.locator(PANEL).get_by_role("button", name="Draw and compare").click()
    expect(figure).to_contain_text("Top-K, lossy")
    expect(amounts).to_be_visible()
    expect(words).to_contain_text("of the time instead of")
    page.locator(f"{PANEL} summary").click()
    expect(page.locator(f"{PANEL} pre")).to_contain_text("def compare(")


def test_a_press_on_the_recorded_run_makes_it_the_visitors_own(browse: Opener, served: Served) -> None:
    page = browse("speculative")
    where = page.locator(".lab-where")
    page.keyboard.press("Home")
    expect(where).to_contain_text("round 1 of")
    page.locator(PANEL).get_by_role("button", name="Draw and compare").click()
    expect(page).to_have_url(re.compile(r"[?&]run=[\w-]{16}&step=0$"), timeout=120_000)
    expect(where).to_contain_text("round 1 of")
    own = served.lab.runs.get(page.url.split("run=")[1].split("&")[0])
    assert list(own.measured) == [speculative_lossless.NAME]
    assert served.lab.lesson(speculative.LESSON).measured == {}
    expect(page.locator("[data-panel=race].lab-panel .lab-text")).to_contain_text("Recorded beforehand")


def test_the_exhibits_follow_their_sliders(browse: Opener) -> None:
    page = browse("corrections")
    title = page.locator("[data-panel=verification].lab-panel .lab-title")
    expect(title).to_have_text(re.compile("^Top-K with K = 2 writes “I” 62.0"))
    page.get_by_label("K of Top-K", exact=True).fill("1")
    expect(title).to_have_text(re.compile("^Top-K with K = 1 writes “I” 70.0"))
    length = page.locator("[data-panel=length].lab-panel .lab-title")
    expect(length).to_have_text(re.compile("is best: .+ times as fast$"))
    page.get_by_label("Draft cost c", exact=True).fill("1")
    expect(length).to_have_text(re.compile("no drafting pays"))

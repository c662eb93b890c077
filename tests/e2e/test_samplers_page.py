"""The sampler laboratory: stepping a draw, many draws, laws of one's own, and measuring."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.e2e.conftest import Opener, run, settled


def test_one_draw_steps_and_plays(browse: Opener) -> None:
    page = browse("samplers")
    settled(page)
    expect(page.locator(".lab-where")).to_have_text(re.compile(r"step (\d+) of \1"))
    before = page.locator("[data-panel=play_gumbel] .lab-text").inner_text()
    page.keyboard.press("Home")
    settled(page)
    assert page.locator("[data-panel=play_gumbel] .lab-text").inner_text() != before


def test_all_four_draw_the_same_law(browse: Opener) -> None:
    page = browse("samplers")
    page.get_by_role("button", name="100,000", exact=True).click()
    settled(page)
    for name in ("direct", "binary", "alias", "gumbel"):
        expect(page.locator(f"[data-panel=tally_{name}] .lab-title")).to_contain_text("100,000")
    expect(page.locator("[data-panel=convergence] .lab-figure svg").first).to_be_visible()


def test_a_typed_law_is_drawn_from_and_a_wrong_one_refused(browse: Opener) -> None:
    page = browse("samplers")
    page.get_by_label("Your own law").fill("<b>x</b>:3 y:1")
    page.get_by_label("Your own", exact=True).check()
    expect(page.locator(".lab-about")).to_contain_text("2 items")
    settled(page)
    assert page.locator(".lab-viewer .main-svg b").count() == 0
    page.get_by_label("Your own law").fill("0.5 0.3 0.1")
    page.locator(".lab-run").click()
    expect(page.locator(".lab-message")).to_contain_text("0.9")
    expect(page.locator(".lab-about")).to_contain_text("2 items")


def test_the_alias_table_is_built_step_by_step(browse: Opener) -> None:
    page = browse("samplers")
    settled(page)
    slider = page.get_by_role("slider", name="Step", exact=True).nth(1)
    text = page.locator("[data-panel=alias_build] .lab-text")
    before = text.inner_text()
    slider.fill("1")
    settled(page)
    assert text.inner_text() != before


def test_measuring_shows_progress_and_ends(browse: Opener) -> None:
    page = browse("samplers")
    settled(page)
    before = page.locator("[data-panel=cost] .lab-figure").get_attribute("data-drawn")
    page.get_by_role("button", name="Measure on this machine").click()
    expect(page.locator(".lab-progress")).to_be_visible()
    expect(page.locator(".lab-message")).to_be_hidden()
    page.wait_for_function(f"document.querySelector('[data-panel=cost] .lab-figure').dataset.drawn !== '{before}'")


def test_a_step_of_a_run_is_a_law(browse: Opener) -> None:
    page = browse("sampling")
    settled(page)
    page.get_by_role("link", name="Draw from this step in four ways").click()
    page.wait_for_url("**/samplers?run=*")
    expect(page.locator(".lab-about")).to_contain_text("A step of the model")
    settled(page)
    expect(page.locator("[data-panel=play_direct] .lab-text")).not_to_be_empty()


def test_quiz_cards_tell_right_from_wrong(browse: Opener) -> None:
    for path in ("", "sampling", "effects", "samplers"):
        page = browse(path)
        settled(page)
        cards = page.locator(".lab-card")
        expect(cards).to_have_count(3)
        for i in range(3):
            card = cards.nth(i)
            card.get_by_role("button").first.click()
            expect(card.locator(".lab-answer")).to_contain_text(re.compile("Right|Not quite"))
            expect(card.locator("[data-verdict=right]")).to_have_count(1)


def test_the_code_of_a_panel_can_be_read(browse: Opener) -> None:
    page = browse("sampling")
    settled(page)
    page.locator("[data-panel=draw] summary").click()
    expect(page.locator("[data-panel=draw] pre")).to_contain_text("def direct")
    page.locator("[data-panel=stages] summary").click()
    expect(page.locator("[data-panel=stages] pre")).to_contain_text("class TopP")


def test_the_law_of_a_fresh_run_can_be_drawn_from(browse: Opener) -> None:
    page = browse("sampling")
    page.get_by_label("number input for New tokens, at most").fill("2")
    page.keyboard.press("Tab")
    run(page, "The sky is")
    page.get_by_role("link", name="Draw from this step in four ways").click()
    page.wait_for_url("**/samplers?run=*&step=1")
    expect(page.locator(".lab-about")).to_contain_text("A step of the model")

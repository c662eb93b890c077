"""The effects page: redraws in place, ends on the last value, draws a histogram, opens a step by address."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Opener, run, settled

MARK = "document.querySelectorAll('.lab-figure').forEach(f => f.querySelector('.main-svg').marked = true)"
SAME = "[...document.querySelectorAll('.lab-figure')].every(f => f.querySelector('.main-svg').marked)"


def slider(page: Page, name: str) -> object:
    return page.get_by_role("slider", name=re.compile(name))


def test_a_slider_keeps_the_same_nodes_and_ends_on_the_last_value(browse: Opener) -> None:
    page = browse("effects")
    settled(page)
    page.evaluate(MARK)
    page.evaluate(
        """() => { const input = document.querySelector("input[name=temperature]");
        for (let i = 0; i <= 40; i++) {
          input.value = 0.5 + i / 20;
          input.dispatchEvent(new Event("input", {bubbles: true}));
        } }"""
    )
    settled(page)
    expect(page.locator("[data-panel=law] .lab-title")).to_contain_text("2.50")
    expect(page.locator("[data-panel=entropy] .lab-text")).to_contain_text("2.50")
    assert page.evaluate(SAME)


def test_temperature_zero_is_one_token(browse: Opener) -> None:
    page = browse("effects")
    settled(page)
    slider(page, "Temperature").fill("0")  # type: ignore[attr-defined]
    settled(page)
    expect(page.locator("[data-panel=law] .lab-text")).to_contain_text("100 %")
    expect(page.locator("[data-panel=entropy] .lab-text")).to_contain_text("0.00 bits")
    for press in ("Draw 1,000", "Back to the exact bars"):
        assert "✕ cut by temperature 0.00" in (page.locator("[data-panel=law] .lab-figure").text_content() or "")
        page.get_by_role("button", name=press).click()
        settled(page)


def test_draw_a_thousand(browse: Opener) -> None:
    page = browse("effects")
    settled(page)
    page.get_by_role("button", name="Draw 1,000").click()
    settled(page)
    expect(page.locator("[data-panel=law] .lab-text")).to_contain_text(re.compile(r"came [\d,]+ times"))
    first = page.locator("[data-panel=law] .lab-text").inner_text()
    page.get_by_role("button", name="Draw 1,000").click()
    settled(page)
    assert page.locator("[data-panel=law] .lab-text").inner_text() != first


def test_what_was_drawn_can_be_left_and_names_its_temperature(browse: Opener) -> None:
    page = browse("effects")
    settled(page)
    title, back = page.locator("[data-panel=law] .lab-title"), page.get_by_role("button", name="Back to the exact bars")
    exact = title.inner_text()
    expect(back).to_be_hidden()
    page.get_by_role("button", name="Draw 1,000").click()
    settled(page)
    expect(title).to_have_text("1,000 draws after temperature 0.90 and top-p 0.90")
    slider(page, "Top-p").fill("0.5")  # type: ignore[attr-defined]
    settled(page)
    expect(title).to_have_text("1,000 draws after temperature 0.90 and top-p 0.50")
    words = page.locator("[data-panel=law] .lab-figure").text_content() or ""
    assert "✕ cut by top-p 0.50" in words
    slider(page, "Top-p").fill("0.9")  # type: ignore[attr-defined]
    back.click()
    settled(page)
    expect(title).to_have_text(exact)
    expect(back).to_be_hidden()
    expect(page.get_by_role("button", name="Draw 1,000")).to_be_focused()


def test_a_step_shows_its_text_and_leads_back(browse: Opener) -> None:
    page = browse("sampling")
    page.get_by_label("number input for New tokens, at most").fill("3")
    page.keyboard.press("Tab")
    run(page, "The capital of France is")
    page.locator(".lab-token").nth(2).click()
    settled(page)
    first = [token.inner_text().replace("␣", " ") for token in page.locator(".lab-token").all()[:2]]
    page.get_by_role("link", name="Temperature and top-p at this step").click()
    page.wait_for_url("**/effects?run=*&step=2")
    expect(page.locator(".lab-before")).to_have_text("The capital of France is" + "".join(first))
    page.get_by_role("link", name="中文").click()
    page.wait_for_url("**/zh-effects?run=*&step=2")
    expect(page.locator(".lab-before")).to_have_text("The capital of France is" + "".join(first))
    page.get_by_role("link", name="回到这次运行的这一步").click()
    page.wait_for_url("**/zh-sampling?run=*&step=2")
    expect(page.locator(".lab-where")).to_have_text("第 3 步，共 3 步")


def test_a_run_of_this_page_leads_nowhere_back_and_stays_after_a_reload(browse: Opener) -> None:
    page = browse("effects")
    run(page, "The sky is")
    expect(page.locator(".lab-before")).to_have_text("The sky is")
    page.wait_for_url("**/effects?run=*&step=0")
    page.reload()
    expect(page.locator(".lab-before")).to_have_text("The sky is")
    expect(page.locator(".lab-controls textarea").first).to_have_value("The sky is")
    expect(page.locator(".lab-back")).to_be_hidden()


def test_a_step_of_a_run_opens_by_its_address(browse: Opener) -> None:
    page = browse("sampling")
    page.get_by_label("number input for New tokens, at most").fill("3")
    page.keyboard.press("Tab")
    run(page, "The capital of France is")
    page.locator(".lab-token").nth(1).click()
    settled(page)
    page.get_by_role("link", name="Temperature and top-p at this step").click()
    page.wait_for_url("**/effects?run=*&step=1")
    expect(page.locator(".lab-about")).to_contain_text("Seed 4")
    settled(page)
    expect(page.locator("[data-panel=law] .lab-title")).to_be_visible()


def test_a_forgotten_run_is_one_sentence(browse: Opener) -> None:
    page = browse("effects?run=nowhere&step=2")
    expect(page.locator(".lab-message")).to_contain_text("no longer kept")

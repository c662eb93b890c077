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

"""The page on beam search in a real browser."""

from __future__ import annotations

import json

from playwright.sync_api import APIResponse, Page, Route, expect

from tests.e2e.conftest import Opener, choose, done, finished, settled

TREE = ".lab-panel[data-panel=tree]"
WHERE = ".lab-where"


def set_number(page: Page, label: str, value: float) -> None:
    """Type a value into a slider's field, and wait for the pictures that answer to it."""
    page.get_by_label(f"number input for {label}", exact=True).fill(str(value))
    page.keyboard.press("Tab")


def press_run(page: Page) -> None:
    """Press Run and wait for the end of that run."""
    before = done(page)
    page.locator(".lab-run").click()
    finished(page, before)
    settled(page)


def test_the_lectures_tree_stands_at_first(browse: Opener) -> None:
    page = browse("beam")
    expect(page.locator(f"{TREE} .lab-title")).to_have_text("Best: “I like singing”, probability 0.096")
    expect(page.locator(WHERE)).to_have_text("depth 3 of 3: verdict")
    expect(page.locator(".lab-table tbody tr")).to_have_count(4)
    page.keyboard.press("Home")
    expect(page.locator(WHERE)).to_have_text("depth 1 of 3: candidates")
    expect(page.locator(".lab-listing [aria-current] code").first).to_have_text("    for sequence, score in beams:")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".lab-listing [aria-current] code").first).to_have_text("    queue.drop(rules)")


def test_rules_and_widths_are_judged_without_a_run(browse: Opener) -> None:
    page = browse("beam")
    text = page.locator(f"{TREE} .lab-text")
    set_number(page, "Beams", 1)
    expect(text).to_contain_text("18 candidates considered, 15 cut")
    page.get_by_text("Pruning rules").click()
    set_number(page, "Beams", 2)
    set_number(page, "Relative threshold (0 is off)", 0.8)
    expect(text).to_contain_text("24 candidates considered, 19 cut")  # We .3 is at most .8 x .4: I goes on alone
    assert done(page) == "", "nothing ran"
    set_number(page, "Relative threshold (0 is off)", 0)
    set_number(page, "Beams", 3)
    expect(text).to_contain_text("press Run for the rest")
    expect(page.locator(WHERE)).to_have_text("depth 1 of 1: verdict")
    press_run(page)
    expect(page.locator(WHERE)).to_have_text("depth 3 of 3: verdict")
    expect(text).not_to_contain_text("press Run")


def test_greedy_loses_to_two_beams(browse: Opener) -> None:
    page = browse("beam")
    choose(page, "Model", "Toy: greedy loses")
    press_run(page)
    rows = page.locator(".lab-table tbody tr")
    expect(rows.nth(0)).to_contain_text("The cat slept")
    expect(rows.nth(1)).to_contain_text("Some cats purr")
    set_number(page, "Beams", 1)
    expect(page.locator(f"{TREE} .lab-text")).to_contain_text("with 1 beam the search missed it")


def test_ones_own_table_and_its_mistakes(browse: Opener) -> None:
    page = browse("beam")
    choose(page, "Model", "Your own table")
    table = page.locator("#own-table textarea")
    expect(table).to_be_visible()
    table.fill("(start): yes .5, no .4")
    page.locator(".lab-run").click()
    expect(page.locator(".lab-message")).to_contain_text("sums to 0.9; it must sum to 1")
    table.fill('(start): <b>x</b> .5, "><img 1$x$ .5')
    page.locator(".lab-run").click()
    expect(page.locator(".lab-message")).to_contain_text("must be one word and its probability")
    table.fill('(start): <b>x</b> .5, "><img .3, $x$ .2\n(else): <end> 1')
    press_run(page)
    expect(page.locator(f"{TREE} .lab-title")).to_contain_text("“<b>x</b>")
    drawn = page.locator(f"{TREE} .lab-figure").inner_text()
    assert "<b>x</b>" in drawn and '"><img' in drawn and "$x$" in drawn
    assert page.locator(".lab-panels img").count() == 0


def test_a_branch_is_folded_by_keyboard(browse: Opener) -> None:
    page = browse("beam")
    figure = page.locator(f"{TREE} .lab-figure")
    expect(figure).to_contain_text("singing")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator(WHERE)).to_have_text("depth 1 of 3: verdict")
    settled(page)
    row = page.get_by_role("button", name="I: hide or show what follows", exact=True)
    row.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    expect(page.locator(WHERE)).to_have_text("depth 3 of 3: verdict")
    expect(figure).to_contain_text("▸")
    expect(figure).not_to_contain_text("singing")


def test_a_phone_shows_the_tree_in_a_box_that_scrolls(browse: Opener) -> None:
    page = browse("zh-beam", width=390)
    expect(page.locator(f"{TREE} .lab-title")).to_contain_text("I like singing")
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    canvas = page.locator(f"{TREE} .lab-canvas")
    assert canvas.evaluate("box => box.scrollWidth > box.clientWidth")


def test_the_real_model_grows_a_tree(browse: Opener) -> None:
    page = browse("beam")
    choose(page, "Model", "SmolLM2 135M Instruct")
    expect(page.locator(".lab-controls textarea:visible").first).to_have_value("The best thing about rainy days is")
    set_number(page, "Depth, at most", 4)
    press_run(page)
    expect(page.locator(WHERE)).to_have_text("depth 4 of 4: verdict")
    expect(page.locator(f"{TREE} .lab-title")).to_contain_text("“that they")
    page.locator(".lab-measure").click()
    expect(page.locator(".lab-table tbody tr")).to_have_count(4)


def test_a_picture_that_comes_late_does_not_undo_the_end(browse: Opener) -> None:
    page = browse("beam")
    choose(page, "Model", "SmolLM2 135M Instruct")
    expect(page.locator(".lab-controls textarea:visible").first).to_have_value("The best thing about rainy days is")
    settled(page)
    set_number(page, "Depth, at most", 4)
    late: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        """The first picture of a search that has not ended waits until it has."""
        response = route.fetch()
        asked = route.request.post_data_json["fn_name"]
        unfinished = asked == "render" and 0 < json.loads(response.json())["count"] < 2 * 4
        if unfinished and not late:
            late.append((route, response))
        else:
            route.fulfill(response=response)

    page.route("**/component_server/**", hold)
    before = done(page)
    page.locator(".lab-run").click()
    finished(page, before)
    assert late
    for route, response in late:
        route.fulfill(response=response)
    settled(page)
    expect(page.locator(WHERE)).to_have_text("depth 4 of 4: verdict")


GIVEN_AND_DRAWN = """
() => {
  const figure = document.querySelector(".lab-panel[data-panel=queue] .lab-figure");
  const given = figure.data.filter((trace) => trace.mode === "text").flatMap((trace) => trace.text);
  return [given.length, figure.querySelectorAll(".scatterlayer .textpoint").length];
}
"""


def test_every_number_of_the_queue_is_drawn_at_every_moment(browse: Opener) -> None:
    page = browse("beam")
    for key in ("Home", *["ArrowRight"] * 5, *["ArrowLeft"] * 3, "End"):
        page.keyboard.press(key)
        settled(page)
        given, drawn = page.evaluate(GIVEN_AND_DRAWN)
        assert given == drawn > 10, key

"""The page on speculative decoding in a real browser."""

from __future__ import annotations

import re

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Opener, Served, choose, done, finished, settled

ROUNDS = ".lab-panel[data-panel=rounds]"
VERDICT = ".lab-panel[data-panel=verdict]"
CHIPS = f"{ROUNDS} .lab-fate"
WHERE = ".lab-where"


def press_run(page: Page) -> None:
    """Press Run and wait for the end of that run."""
    before = done(page)
    page.locator(".lab-run").click()
    finished(page, before)
    settled(page)


def toy(page: Page, drafter: str | None = None) -> None:
    """The lecture's table, with the draft that is offered first or another."""
    choose(page, "Model", "Toy: the lecture's table")
    expect(page.get_by_label("Who drafts", exact=True)).to_have_value("Toy: a draft of the lecture’s table")
    if drafter:
        choose(page, "Who drafts", drafter)


def test_the_recorded_run_stands_at_first(browse: Opener, served: Served) -> None:
    page = browse("speculative")
    steps = served.lab.lesson("speculative").rounds()
    expect(page.locator(f"{ROUNDS} .lab-round")).to_have_count(len(steps))
    expect(page.locator(".lab-counters dd").nth(2)).to_have_text(str(len(steps)))
    expect(page.locator(f"{ROUNDS} [aria-pressed=true]")).to_have_count(1)
    newest = page.locator(f"{ROUNDS} .lab-round[aria-current=step]")
    expect(newest.locator("span").first).to_have_text(f"round {len(steps)}")
    expect(newest).to_be_in_viewport(ratio=0.5)
    expect(page.locator(".lab-road li")).to_have_count(12)
    expect(page.locator(".lab-card")).to_have_count(3)


def test_rounds_appear_as_the_player_steps(browse: Opener) -> None:
    page = browse("speculative")
    rows = page.locator(f"{ROUNDS} .lab-round")
    page.keyboard.press("Home")
    expect(rows).to_have_count(1)
    expect(page.locator(WHERE)).to_have_text(re.compile("^round 1 of "))
    page.keyboard.press("ArrowRight")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_have_attribute("aria-current", "step")
    expect(rows.nth(0)).not_to_have_attribute("aria-current", "step")
    page.get_by_role("button", name="Play the steps").click()
    expect(rows).to_have_count(4)
    page.get_by_role("button", name="Pause").click()


def test_a_chip_tells_its_verdict(browse: Opener) -> None:
    page = browse("speculative")
    title, words = page.locator(f"{VERDICT} .lab-title"), page.locator(f"{VERDICT} .lab-text")
    chip = page.locator(f"{CHIPS}[data-fate=accepted]").first
    chip.click()
    expect(title).to_have_text(re.compile("^Why was .+ accepted\\?$"))
    expect(words).to_contain_text("p")
    expect(chip).to_have_attribute("aria-pressed", "true")
    page.locator(f"{CHIPS}[data-fate=unread]").first.click()
    expect(title).to_have_text(re.compile("not checked\\?$"))
    expect(page.locator(f"{VERDICT} .lab-figure")).to_be_hidden()
    page.locator(f"{CHIPS}[data-fate=redrawn]").first.click()
    expect(title).to_have_text(re.compile("^Where does .+ come from\\?$"))
    expect(page.locator(f"{VERDICT} .lab-figure")).to_contain_text("norm(max(0, p − q))")
    page.keyboard.press("ArrowLeft")
    expect(title).to_have_text(re.compile("^(Why was .+ rejected\\?|Where does .+ come from\\?)$"))


def test_chips_answer_to_the_keyboard(browse: Opener) -> None:
    page = browse("speculative")
    page.keyboard.press("Home")
    expect(page.locator(f"{ROUNDS} .lab-round")).to_have_count(1)
    first = page.locator(CHIPS).first
    first.focus()
    page.keyboard.press("Enter")
    expect(first).to_have_attribute("aria-pressed", "true")
    settled(page)
    expect(first).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator(CHIPS).nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(CHIPS).nth(1)).to_have_attribute("aria-label", re.compile("^Round 1, .+Show why\\.$"))


def test_a_run_on_the_lectures_table(browse: Opener, served: Served) -> None:
    page = browse("speculative")
    toy(page)
    press_run(page)
    run = served.lab.runs.get(done(page))
    assert run.header.draft is not None and run.header.draft.name == "toy:lecture-draft"
    expect(page.locator(f"{ROUNDS} .lab-round")).to_have_count(len(run.packed))
    expect(page.locator(".lab-written")).to_contain_text(run.emitted[0].text)
    expect(page.locator(".lab-about")).to_contain_text("toy:lecture")
    page.locator(f"{VERDICT} summary").click()
    expect(page.locator(f"{VERDICT} pre")).to_contain_text("class Lossless")


def test_a_lossy_rule_is_called_lossy(browse: Opener) -> None:
    page = browse("speculative")
    toy(page, "Random tokens")
    page.get_by_label("Top-K (lossy)").check()
    expect(page.get_by_label("number input for K of Top-K", exact=True)).to_be_visible()
    press_run(page)
    expect(page.locator(f"{ROUNDS} .lab-text")).to_contain_text("Lossy:")
    page.locator(f"{CHIPS}[data-fate=rejected], {CHIPS}[data-fate=accepted]").first.click()
    expect(page.locator(f"{VERDICT} .lab-text")).to_contain_text("Lossy:")
    expect(page.locator(".lab-about")).to_contain_text("Top-K (lossy)")


def test_a_run_opens_again_by_its_address(browse: Opener) -> None:
    page = browse("speculative")
    toy(page, "Oracle: the target itself")
    page.get_by_label("number input for Drafts a round, γ", exact=True).fill("2")
    page.keyboard.press("Tab")
    press_run(page)
    page.wait_for_url("**run=*")
    shown = page.locator(f"{ROUNDS} .lab-title").inner_text()
    page.reload()
    expect(page.locator(f"{ROUNDS} .lab-title")).to_have_text(shown)
    expect(page.get_by_label("Who drafts", exact=True)).to_have_value("Oracle: the target itself")
    expect(page.get_by_label("number input for Drafts a round, γ", exact=True)).to_have_value("2")
    page.get_by_role("link", name="中文").click()
    expect(page.locator("h1")).to_have_text("小模型怎样让大模型变快，却不改变它的概率？")
    expect(page.locator(f"{ROUNDS} .lab-title")).to_contain_text("轮")


def test_chinese_on_a_phone(browse: Opener) -> None:
    page = browse("zh-speculative", width=390, dark=True)
    settled(page)
    expect(page.locator(f"{ROUNDS} .lab-text")).to_contain_text("一行一轮")
    page.locator(f"{CHIPS}[data-fate=rejected]").last.click()
    expect(page.locator(f"{VERDICT} .lab-title")).to_have_text(re.compile("^为什么拒绝“.+”？$"))
    expect(page.locator(f"{VERDICT} .lab-text")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    serious = [v for v in Axe().run(page).response["violations"] if v["impact"] in ("serious", "critical")]
    assert not serious, [(v["id"], [n["html"][:160] for n in v["nodes"]]) for v in serious]


def test_a_mistake_is_a_sentence(browse: Opener) -> None:
    page = browse("speculative")
    toy(page)
    page.locator(".lab-controls textarea").first.fill("unknown")
    page.locator(".lab-run").click()
    expect(page.locator(".lab-message")).to_contain_text("'unknown' is not in the table")

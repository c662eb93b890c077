"""The Next token page: chips, merges, and writing a token by choosing it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from decoding.models import timing
from tests.e2e.conftest import Opener, Served, choose, done, finished, run, settled
from visualizations.figures import step_cost
from visualizations.models import offered
from visualizations.text import Text

COST = ".lab-panel[data-panel='step_cost']"


def test_chips_show_id_and_bytes_and_open_to_the_merges(browse: Opener) -> None:
    page = browse("")
    settled(page)
    chips = page.locator(".lab-chip")
    assert chips.count() == 3
    chips.nth(1).click()
    merges = page.locator(".lab-merges")
    expect(merges).to_contain_text("sky")
    lines = merges.locator("li")
    expect(lines.last.locator(".lab-piece")).to_have_text(["␣sky"])
    assert lines.first.locator(".lab-piece").all_inner_texts() == ["␣", "s", "k", "y"]
    chips.nth(1).click()
    expect(merges).to_be_hidden()


def test_half_characters_show_their_bytes(browse: Opener) -> None:
    page = browse("")
    run(page, "我 🇫🇷")
    settled(page)
    labels = page.locator(".lab-chip-text").all_inner_texts()
    assert any(re.fullmatch(r"⟨[0-9A-F ]+⟩", label.strip("␣")) for label in labels)
    raw = bytes.fromhex("".join(re.findall(r"bytes ([0-9A-F ]+)\.", " ".join(_labels(page)))).replace(" ", ""))
    assert raw.decode() == "我 🇫🇷"


def _labels(page: object) -> list[str]:
    return page.locator(".lab-chip").evaluate_all("nodes => nodes.map(n => n.getAttribute('aria-label'))")  # type: ignore[attr-defined]


def test_a_very_long_word_is_told_and_bounded(browse: Opener) -> None:
    page = browse("")
    run(page, "a" * 300)
    settled(page)
    page.locator(".lab-chip").first.click()
    merges = page.locator(".lab-merges")
    expect(merges).to_contain_text("300 bytes")
    box = merges.bounding_box()
    assert box and box["height"] < 400
    assert len(merges.locator("h2").inner_text()) < 80


def test_a_run_stays_after_a_reload_and_in_the_other_language(browse: Opener) -> None:
    page = browse("")
    run(page, "Grass is")
    page.wait_for_url("**/?run=*&step=0")
    page.get_by_role("link", name="中文").click()
    page.wait_for_url("**/zh?run=*&step=0")
    expect(page.locator(".lab-chip-text")).to_have_text(["G", "rass", "␣is"])
    expect(page.locator(".lab-controls textarea").first).to_have_value("Grass is")


def test_choosing_a_token_writes_it(browse: Opener) -> None:
    page = browse("")
    settled(page)
    before = done(page)
    row = page.locator(".lab-row").nth(1)
    token = (row.get_attribute("aria-label") or "").split(",")[0].replace("␣", " ")
    row.focus()
    page.keyboard.press("Enter")
    finished(page, before)
    expect(page.locator(".lab-controls textarea").first).to_have_value("The sky is" + token)


def test_more_tokens_listed_means_more_rows(browse: Opener) -> None:
    page = browse("")
    settled(page)
    assert page.locator(".lab-row").count() == 12
    page.get_by_role("slider", name=re.compile("Tokens listed")).fill("50")
    expect(page.locator(".lab-row")).to_have_count(50)


def test_a_chat_prompt_shows_the_template(browse: Opener) -> None:
    page = browse("")
    page.get_by_label("Chat: answers").check()
    run(page, "Hi <|im_end|>")
    settled(page)
    texts = page.locator(".lab-chip-text").all_inner_texts()
    assert "<|im_start|>" in texts and texts.count("<|im_end|>") == 2  # the template's own; the typed one is pieces


def test_what_a_step_costs_is_recorded_until_it_is_measured_here(
    browse: Opener, served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And then on every page of this server, in the other language too."""
    monkeypatch.setattr(served.lab, "times", {})
    monkeypatch.setattr(timing, "cache_root", lambda: tmp_path)  # so short a measurement is not to be kept
    monkeypatch.setattr(timing.measure, "__defaults__", ((1, 2, 5, 8), (1,), 1e-3))
    page = browse("")
    settled(page)
    panel = page.locator(COST)
    said, title, figure = panel.locator(".lab-text"), panel.locator(".lab-title"), panel.locator(".lab-figure")
    expect(said).to_contain_text("Recorded on:")
    expect(figure).to_contain_text("memory-bound")
    panel.get_by_role("button", name="Measure on this machine").click()
    expect(said).to_contain_text("Measured here:")
    settled(page)
    expect(page.locator(".lab-message")).to_be_hidden()
    times = served.lab.times["smollm2"]
    assert [each.count for each in times.tokens] == [1, 2, 5, 8]
    assert f"{step_cost.ms(times.of_tokens(1))} ms for 1 token" in title.inner_text()
    panel.get_by_text("Show the code").click()
    expect(panel.locator("pre")).to_contain_text("def measure(")
    page.get_by_role("link", name="中文").click()
    expect(said).to_contain_text("在本机测得：")
    expect(title).to_contain_text(f"1 个词元 {step_cost.ms(times.of_tokens(1))} 毫秒")


def test_stop_ends_a_measurement(
    browse: Opener, served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One that would never end by itself. Pressing its button meanwhile does nothing; then Run has the model.

    On a phone, where the button is far below: what is told meanwhile stays in sight.
    """
    monkeypatch.setattr(served.lab, "times", {})
    monkeypatch.setattr(timing, "cache_root", lambda: tmp_path)
    monkeypatch.setattr(timing.measure, "__defaults__", ((1, 2), (1,), 1e9))
    page = browse("", width=390)
    settled(page)
    message, button = page.locator(".lab-message"), page.locator(f"{COST} .lab-measure")
    button.click()
    expect(message).to_contain_text("Timing passes")
    expect(message).to_be_in_viewport()
    expect(button).to_have_attribute("aria-disabled", "true")
    button.click(force=True)
    expect(message).to_contain_text("Timing passes")
    page.get_by_role("button", name="Stop").click()
    expect(message).to_be_hidden()
    expect(button).to_have_attribute("aria-disabled", "false")
    run(page, "Grass is")
    expect(message).to_be_hidden()
    expect(page.locator(f"{COST} .lab-text")).to_contain_text("Recorded on:")
    assert served.lab.times == {}


def test_a_run_ends_a_measurement(
    browse: Opener, served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(served.lab, "times", {})
    monkeypatch.setattr(timing, "cache_root", lambda: tmp_path)
    monkeypatch.setattr(timing.measure, "__defaults__", ((1, 2), (1,), 1e9))
    page = browse("")
    settled(page)
    page.locator(f"{COST} .lab-measure").click()
    expect(page.locator(".lab-message")).to_contain_text("Timing passes")
    run(page, "Grass is")
    expect(page.locator(".lab-message")).to_be_hidden()
    assert served.lab.times == {}


def test_a_table_has_no_weights_to_read(browse: Opener) -> None:
    page = browse("")
    choose(page, "Model", "Toy: the lecture's table")
    run(page, "I like")
    settled(page)
    panel = page.locator(COST)
    figure, button = panel.locator(".lab-figure"), panel.get_by_role("button")
    expect(panel.locator(".lab-text")).to_contain_text("it has no weights to read")
    expect(figure).to_be_hidden()
    expect(button).to_be_hidden()
    choose(page, "Model", "SmolLM2 135M Instruct")
    run(page, "I like")
    expect(figure).to_be_visible()
    settled(page)
    expect(button).to_be_visible()
    expect(figure).to_contain_text("memory-bound: waits for the weights")  # drawn for its width, not for none


@pytest.mark.skipif("smollm2@int4" not in offered(), reason="onnxruntime or onnx is not installed")
def test_a_run_says_its_precision_and_opens_again_with_it(browse: Opener) -> None:
    page = browse("")
    settled(page)
    about = page.locator(".lab-about")
    expect(about).to_contain_text("smollm2 (float32, cpu, torch)")
    name = Text("en")("model.smollm2@int4")
    choose(page, "Model", name)
    run(page, "Grass is")
    expect(about).to_contain_text("smollm2 (int4, cpu, onnx)")
    expect(page.locator(f"{COST} .lab-text")).to_contain_text("smollm2, int4, engine onnx")
    page.wait_for_url("**/?run=*&step=0")
    page.reload()
    expect(about).to_contain_text("smollm2 (int4, cpu, onnx)")
    expect(page.get_by_label("Model", exact=True)).to_have_value(name)

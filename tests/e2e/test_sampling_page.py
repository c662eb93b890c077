"""The Sampling page: running, stepping, branching, stopping, and words that look like code."""

from __future__ import annotations

import json
import re
import threading
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from decoding import codec
from decoding.models.onnx import OnnxModel
from decoding.models.protocol import Output
from decoding.trace import Trace
from tests.e2e.conftest import Opener, Served, choose, done, finished, painted, run, settled
from visualizations.turns import Turns

NASTY = ["a<b<c", '"><img src=x onerror=alert(1)>', "**x**", "$x$", "{{7*7}}", "${7*7}", "%{x}"]


def toy(browse: Opener, path: str = "sampling", **options: object) -> Page:
    """The page with the lecture's table as its model: fast, with known answers."""
    page = browse(path, **options)
    choose(page, "Model", "Toy: the lecture's table")
    page.locator(".lab-controls textarea").first.fill("")
    return page


def text(page: Page) -> str:
    return page.locator(".lab-joined").inner_text()


def test_run_streams_the_bundled_model_and_repeats_itself(browse: Opener) -> None:
    page = browse("sampling")
    page.get_by_label("number input for New tokens, at most").fill("6")
    page.keyboard.press("Tab")
    run(page, "The capital of France is")
    first = text(page)
    assert page.locator(".lab-token").count() == 6 and first
    run(page)
    assert text(page) == first


def test_the_recorded_run_is_what_run_gives(browse: Opener) -> None:
    page = browse("sampling")
    recorded = text(page), about(page)
    run(page)
    assert (text(page), about(page)) == recorded


def about(page: Page) -> str:
    """The line that says what made the run, but for the engine: another one gives the same text."""
    return re.sub(r", (torch|onnx)\)", ")", page.locator(".lab-about").inner_text())


def test_the_toy_run_ends_at_its_end_token(browse: Opener) -> None:
    page = toy(browse)
    choose(page, "Sampler", "Greedy (argmax)")
    run(page)
    assert text(page) == "I like singing"
    assert "ended by the model" in page.locator(".lab-about").inner_text()


def test_steps_by_mouse_slider_and_keyboard(browse: Opener) -> None:
    page = browse("sampling")
    where = page.locator(".lab-where")
    expect(where).to_have_text("step 4 of 20")
    page.locator(".lab-token").nth(9).click()
    expect(where).to_have_text("step 10 of 20")
    page.keyboard.press("ArrowRight")
    expect(where).to_have_text("step 11 of 20")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(where).to_have_text("step 9 of 20")
    page.keyboard.press("Home")
    expect(page.get_by_role("button", name="Previous step")).to_be_disabled()
    page.get_by_role("button", name="Next step").click()
    expect(where).to_have_text("step 2 of 20")
    page.get_by_role("slider", name="Step", exact=True).fill("20")
    expect(where).to_have_text("step 20 of 20")
    settled(page)
    expect(page.locator("[data-panel=bars] .lab-title")).to_contain_text("Step 20")


def test_arrow_keys_in_the_prompt_do_not_step(browse: Opener) -> None:
    page = browse("sampling")
    page.locator(".lab-controls textarea").first.click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".lab-where")).to_have_text("step 4 of 20")


def test_play_walks_to_the_end_and_pause_holds(browse: Opener) -> None:
    page = browse("sampling")
    page.locator(".lab-token").nth(17).click()
    page.get_by_role("button", name="Play the steps").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator(".lab-where")).to_have_text("step 20 of 20")
    expect(page.get_by_role("button", name="Play the steps")).to_be_visible()


def test_a_click_on_another_candidate_branches(browse: Opener) -> None:
    page = toy(browse)
    choose(page, "Sampler", "Greedy (argmax)")
    run(page)
    page.locator(".lab-token").first.click()
    settled(page)
    box = page.locator(".lab-figure[data-panel=bars]").bounding_box()
    assert box
    before = done(page)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 4 + 24 * 1.5)  # the second row
    finished(page, before)
    assert text(page).startswith("We ")
    expect(page.locator(".lab-where")).to_have_text(re.compile("step 1 of"))
    page.locator(".lab-token").first.click()
    settled(page)
    expect(page.locator("[data-panel=draw] .lab-text")).to_contain_text("You chose")
    page.get_by_role("button", name="first run").click()
    expect(page.locator(".lab-joined")).to_have_text("I like singing")


def test_branching_works_by_keyboard(browse: Opener) -> None:
    page = toy(browse)
    choose(page, "Sampler", "Greedy (argmax)")
    run(page)
    page.locator(".lab-token").first.click()
    settled(page)
    row = page.get_by_role("button", name=re.compile("^We, "))
    row.focus()
    page.keyboard.press("Enter")
    page.locator(".lab-branch").nth(1).wait_for()


def test_the_draw_panel_follows_the_sampler(browse: Opener) -> None:
    page = toy(browse)
    for sampler, word in (("Binary search", "probe"), ("Alias table", "column"), ("Gumbel-max", "noise")):
        choose(page, "Sampler", sampler)
        run(page)
        settled(page)
        expect(page.locator("[data-panel=draw] .lab-text")).to_contain_text(re.compile(word, re.I))


def test_typed_code_stays_text(browse: Opener) -> None:
    page = browse("sampling")
    page.get_by_label("number input for New tokens, at most").fill("2")
    page.keyboard.press("Tab")
    for prompt in NASTY:
        run(page, prompt)
        shown = page.locator(".lab-prompt-token").all_inner_texts()
        assert "".join(shown) == prompt
        assert page.locator(".lab-viewer img, .lab-viewer b:not(svg b)").count() == 0
    assert page.evaluate("window.alerted") is None


def test_empty_and_blank_prompts_run(browse: Opener) -> None:
    page = browse("sampling")
    page.get_by_label("number input for New tokens, at most").fill("2")
    page.keyboard.press("Tab")
    for prompt in ("", "   ", "\n\n"):
        run(page, prompt)
        assert page.locator(".lab-token").count() == 2


def test_a_mistake_is_one_sentence_and_loses_nothing(browse: Opener) -> None:
    page = toy(browse)
    run(page, "I like")
    kept = text(page)
    page.locator(".lab-controls textarea").first.fill("xyzzy")
    page.locator(".lab-run").click()
    message = page.locator(".lab-message")
    expect(message).to_contain_text("xyzzy")
    assert "Traceback" not in page.content()
    assert text(page) == kept and page.locator(".lab-controls textarea").first.input_value() == "xyzzy"


def test_a_prompt_over_the_limit_is_refused_with_both_numbers(browse: Opener) -> None:
    page = browse("sampling")
    page.locator(".lab-controls textarea").first.fill("word " * 2100)
    page.locator(".lab-run").click()
    expect(page.locator(".lab-message")).to_contain_text(re.compile(r"2,1\d\d tokens.*2,000"))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled model takes a quarter of a second a step until a turn is ended: no run is over before it is ended."""
    ended = threading.Event()
    forward, halt = OnnxModel.forward, Turns.halt

    def slowly(self: OnnxModel, *given: Any, **options: Any) -> Output:
        ended.wait(0.25)
        return forward(self, *given, **options)

    def ending(self: Turns, turn: Any) -> None:
        halt(self, turn)
        if turn:
            ended.set()

    monkeypatch.setattr(OnnxModel, "forward", slowly)
    monkeypatch.setattr(Turns, "halt", ending)


@pytest.mark.usefixtures("slow")
def test_stop_ends_the_run_within_a_step(browse: Opener, served: Served) -> None:
    page = browse("sampling")
    page.get_by_label("number input for New tokens, at most").fill("200")
    page.keyboard.press("Tab")
    page.locator(".lab-controls textarea").first.fill("Once upon a time")
    page.locator(".lab-run").click()
    page.locator(".lab-viewer[data-running='true']").wait_for()
    page.wait_for_function("document.querySelectorAll('.lab-prompt-token')[0]?.textContent === 'Once'")
    page.locator(".lab-stop").click()
    idle(served)
    expect(page.locator(".lab-viewer")).to_have_attribute("data-running", "false")
    expect(page.locator(".lab-about")).to_contain_text("stopped")
    made = [run for run in served.lab.runs.latest() if run.header.prompt.text == "Once upon a time"]
    assert made[-1].finish and made[-1].finish.reason == "cancelled" and len(made[-1].packed) < 200


def asked_for(page: Page, prompt: str) -> None:
    """Wait until the run of this prompt is on the screen."""
    page.wait_for_function(
        "prompt => [...document.querySelectorAll('.lab-prompt-token')].map(n => n.textContent).join('') === prompt",
        arg=prompt,
    )


def write(page: Page, prompt: str) -> None:
    page.locator(".lab-controls textarea").first.fill(prompt)


@pytest.mark.usefixtures("slow")
def test_run_pressed_in_mid_run_ends_the_old_run_and_starts_the_new(browse: Opener, served: Served) -> None:
    page = browse("sampling")
    page.get_by_label("number input for New tokens, at most").fill("200")
    page.keyboard.press("Tab")
    write(page, "The first of two")
    page.locator(".lab-run").click()
    asked_for(page, "The first of two")
    page.get_by_label("number input for New tokens, at most").fill("4")
    page.keyboard.press("Tab")
    write(page, "The second of two")
    page.locator(".lab-run").click()
    page.locator(".lab-viewer[data-done]").wait_for()
    asked_for(page, "The second of two")
    expect(page.locator(".lab-token")).to_have_count(4)
    idle(served)
    first, second = (
        next(run for run in served.lab.runs.latest() if run.header.prompt.text == f"The {word} of two")
        for word in ("first", "second")
    )
    assert first.finish and first.finish.reason == "cancelled" and len(first.packed) < 200
    assert second.finish and second.finish.reason == "length"


def test_run_stop_run_in_one_breath_runs(browse: Opener, served: Served) -> None:
    page = browse("sampling")
    page.get_by_label("number input for New tokens, at most").fill("5")
    page.keyboard.press("Tab")
    write(page, "In one breath")
    page.evaluate("() => ['run', 'stop', 'run', 'run'].forEach(n => document.querySelector('.lab-' + n).click())")
    page.locator(".lab-viewer[data-done]").wait_for()
    asked_for(page, "In one breath")
    expect(page.locator(".lab-token")).to_have_count(5)
    idle(served)
    made = [run for run in served.lab.runs.latest() if run.header.prompt.text == "In one breath"]
    assert [run.finish.reason for run in made if run.finish and len(run.packed) == 5] == ["length"]


def test_run_then_stop_in_one_breath_stays_stopped(browse: Opener, served: Served) -> None:
    page = browse("sampling")
    settled(page)
    page.evaluate("() => ['run', 'stop'].forEach(n => document.querySelector('.lab-' + n).click())")
    expect(page.locator(".lab-message")).to_be_hidden()
    write(page, "After the stopped one")
    run(page)  # the server takes them one by one: when this has run, the other is over
    asked_for(page, "After the stopped one")
    expect(page.locator(".lab-viewer")).to_have_attribute("data-running", "false")


def test_who_waits_is_told_how_many_are_before(browse: Opener, served: Served) -> None:
    page = browse("sampling")
    turns = served.lab.turns
    with turns.running(turns.take()):  # somebody else's
        model, served.lab.models.get = served.lab.models.get, None  # type: ignore[method-assign]
        gate = threading.Event()

        def get(*given: object) -> object:
            gate.wait()
            return model(*given)  # type: ignore[arg-type]

        served.lab.models.get = get  # type: ignore[method-assign,assignment]
        try:
            page.locator(".lab-run").click()
            expect(page.locator(".lab-message")).to_have_text("Waiting: 1 run before yours")
        finally:
            served.lab.models.get = model  # type: ignore[method-assign]
            gate.set()
    page.locator(".lab-viewer[data-done]").wait_for()
    expect(page.locator(".lab-message")).to_be_hidden()


def test_the_address_keeps_the_run_its_step_and_its_settings(browse: Opener) -> None:
    page = toy(browse)
    page.get_by_label("number input for Temperature (1 is off)").fill("1.5")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Order of the rules").click()
    for _ in range(2):
        page.get_by_role("button", name="Move Temperature down").click()
    run(page, "I")
    joined, about = text(page), page.locator(".lab-about").inner_text()
    page.locator(".lab-token").first.click()
    page.wait_for_url("**/sampling?run=*&step=0")
    for lang, leave in (
        ("en", page.reload),
        ("zh", page.get_by_role("link", name="中文").click),
        ("en", page.get_by_role("link", name="EN").click),
    ):
        leave()
        page.locator(f"html[lang={lang}]").wait_for()
        painted(page)
        settled(page)
        expect(page.locator(".lab-joined")).to_have_text(joined)
        expect(page.locator(".lab-token").first).to_have_attribute("aria-current", "step")
        expect(page.locator(".lab-controls textarea").first).to_have_value("I")
        expect(page.locator(".lab-hint")).to_have_text("")
    expect(page.get_by_label("number input for Temperature (1 is off)")).to_have_value("1.5")
    page.get_by_role("button", name="Order of the rules").click()
    expect(page.locator("[data-name=top_p] ~ [data-name=temperature]")).to_be_visible()
    run(page)
    assert (text(page), page.locator(".lab-about").inner_text()) == (joined, about)


def test_the_hatched_bar_outlives_a_change_of_the_address(browse: Opener) -> None:
    page = browse("sampling")
    page.get_by_label("number input for New tokens, at most").fill("2")
    page.keyboard.press("Tab")
    run(page, "The sky is")
    settled(page)
    page.wait_for_url("**/sampling?run=*&step=1")
    page.locator(".lab-token").first.click()
    page.wait_for_url("**/sampling?run=*&step=0")
    settled(page)
    refers = page.evaluate(
        """() => [...document.querySelectorAll('.lab-figure [style*="url("], .lab-figure [clip-path]')]
        .flatMap(n => [n.style.fill, n.getAttribute('clip-path')]).filter(s => s && s.includes('url('))
        .map(s => s.match(/url\\(["']?([^#"']*)#/)[1])"""
    )
    assert refers and set(refers) <= {"", page.url}


def test_an_address_of_a_forgotten_run_says_so_and_shows_the_recorded_one(browse: Opener) -> None:
    page = browse("sampling?run=nowhere&step=2")
    settled(page)
    expect(page.locator(".lab-message")).to_contain_text("no longer kept")
    expect(page.locator(".lab-where")).to_have_text("step 4 of 20")


def test_a_choice_made_twice_is_one_branch(browse: Opener) -> None:
    page = toy(browse)
    choose(page, "Sampler", "Greedy (argmax)")
    run(page)
    page.locator(".lab-token").first.click()
    settled(page)

    def pick(word: str) -> None:
        page.get_by_role("button", name=re.compile(f"^{word}, ")).focus()
        page.keyboard.press("Enter")

    pick("I")  # the token that is there
    expect(page.locator(".lab-message")).to_be_hidden()
    expect(page.locator(".lab-branches")).to_be_hidden()
    pick("We")
    expect(page.locator(".lab-joined")).to_have_text(re.compile("^We "))
    page.locator(".lab-viewer[data-running=false]").wait_for()
    settled(page)
    page.get_by_role("button", name="first run").click()
    expect(page.locator(".lab-joined")).to_have_text("I like singing")
    settled(page)
    pick("We")
    expect(page.locator(".lab-joined")).to_have_text(re.compile("^We "))
    expect(page.locator(".lab-branch")).to_have_text(["first run", "step 1: We"])


def test_a_lesson_reopened_still_lists_ones_own_branches(browse: Opener) -> None:
    page = toy(browse)
    settled(page)
    before = done(page)
    page.locator(".lab-row").nth(2).focus()
    page.keyboard.press("Enter")
    finished(page, before)
    page.wait_for_url("**/sampling?run=*")
    page.get_by_role("button", name="first run").click()
    expect(page.locator(".lab-branch")).to_have_count(2)
    page.wait_for_function("location.search === ''")


def test_changed_controls_ask_for_a_run(browse: Opener) -> None:
    page = toy(browse)
    hint = page.locator(".lab-hint")
    expect(hint).to_have_text("Settings changed: press Run.")
    run(page)
    expect(hint).to_have_text("")
    page.get_by_label("Seed").fill("5")
    page.keyboard.press("Tab")
    expect(hint).to_have_text("Settings changed: press Run.")
    page.get_by_label("Seed").fill("4")
    page.keyboard.press("Tab")
    expect(hint).to_have_text("")
    choose(page, "Sampler", "Gumbel-max")
    expect(hint).to_have_text("Settings changed: press Run.")


def test_the_button_of_a_cut_token_says_so(browse: Opener) -> None:
    page = browse("sampling")
    settled(page)
    labels = page.locator(".lab-row").evaluate_all("rows => rows.map(row => row.getAttribute('aria-label'))")
    assert any(re.search(r", cut by top-p 0\.80, .* before\. Choose it\.", label) for label in labels)


def test_a_seed_out_of_range_is_named_as_on_the_page(browse: Opener) -> None:
    page = toy(browse)
    page.get_by_label("Seed").fill("-3")
    page.locator(".lab-run").click()
    expect(page.locator(".lab-message")).to_contain_text("“Seed” is -3; it must be 0 …")


def test_a_very_long_prompt_is_refused_by_its_length(browse: Opener) -> None:
    page = browse("sampling")
    write(page, "word " * 30_000)
    page.locator(".lab-run").click()
    expect(page.locator(".lab-message")).to_contain_text("150,000 characters; at most 100,000")


@pytest.mark.usefixtures("slow")
def test_closing_the_tab_ends_the_run(browse: Opener, served: Served) -> None:
    page = browse("sampling")
    page.get_by_label("number input for New tokens, at most").fill("200")
    page.keyboard.press("Tab")
    page.locator(".lab-controls textarea").first.fill("Far away and long ago")
    page.locator(".lab-run").click()
    page.wait_for_function("document.querySelectorAll('.lab-prompt-token')[0]?.textContent === 'Far'")
    page.close()
    idle(served)
    made = [run for run in served.lab.runs.latest() if run.header.prompt.text == "Far away and long ago"]
    assert made[-1].finish and made[-1].finish.reason == "cancelled" and len(made[-1].packed) < 200


def idle(served: Served) -> None:
    """Wait until no model runs; fails only where one never stops before its 200 tokens."""
    while served.lab.running:
        time.sleep(0.02)


def test_the_saved_file_is_the_whole_run(browse: Opener) -> None:
    page = toy(browse)
    choose(page, "Sampler", "Greedy (argmax)")
    run(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as JSON").click()
    saved = download.value.path().read_text(encoding="utf-8")
    trace = codec.loads(saved, Trace)
    assert trace.finish.text == "I like singing" and json.loads(saved)["header"]["model"]["name"] == "toy:lecture"


def test_the_order_of_the_rules_changes_what_is_kept(browse: Opener) -> None:
    page = toy(browse)
    page.get_by_label("number input for Temperature (1 is off)").fill("0.5")
    page.get_by_label("number input for Top-p (1 is off)").fill("0.55")
    page.keyboard.press("Tab")
    run(page)
    page.locator(".lab-token").first.click()
    settled(page)
    early = page.locator("[data-panel=stages] .lab-figure").get_attribute("aria-label")
    page.get_by_role("button", name="Order of the rules").click()
    for _ in range(2):
        page.get_by_role("button", name="Move Temperature down").click()
    run(page)
    page.locator(".lab-token").first.click()
    settled(page)
    about = page.locator(".lab-about").inner_text()
    assert about.index("Top-p") < about.index("Temperature")
    assert page.locator("[data-panel=stages] .lab-figure").get_attribute("aria-label") != early

"""The panel *Is it lossless?*: whose test it shows, and what it says where there can be none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from decoding import api
from visualizations.lab import Lab
from visualizations.models import Models
from visualizations.pages import speculative, speculative_lossless, view
from visualizations.pages.measuring import recorded as recorded_of
from visualizations.pages.speculative_lossless import AMOUNTS, NAME, Tests
from visualizations.runs import Run
from visualizations.text import LANGS, Text

EN = Text("en")
EACH_LANG = pytest.mark.parametrize("text", [Text(lang) for lang in LANGS], ids=LANGS)
TOY, DRAFT = "toy:lecture", "toy:lecture-draft"


@pytest.fixture
def lab() -> Iterator[Lab]:
    yield Lab(Models(("smollm2", TOY, DRAFT)))


def recorded() -> Tests:
    found = recorded_of(speculative.LESSON, NAME, Tests)
    assert found is not None
    return found


def started(lab: Lab, **options: Any) -> Run:
    """A run on the lecture's table, as the Run button makes it."""
    settings = api.speculative_settings(**{"drafter": DRAFT, "max_new_tokens": 4, "verify_top_k": 2, **options})
    model = lab.models.get(TOY)
    run = lab.runs.new(api.prepare(model, "", settings, 3, draft=lab.draft_of(model, settings)))
    for _ in lab.run(model, run, settings):
        pass
    return run


def measured(lab: Lab, run: Run) -> list[Any]:
    """Press the button."""
    return list(speculative_lossless.job(lab, EN, run, lab.model_of(run)))


def shown(lab: Lab, run: Run, text: Text = EN, **details: Any) -> dict[str, Any]:
    ask = view.read_ask(json.dumps({"run": run.id, "widths": {NAME: 700}, "details": details}))
    return speculative_lossless.shown(lab, ask, text, run)


def test_the_recorded_tests_are_of_the_real_model_and_tell_the_rules_apart(lab: Lab) -> None:
    tests = recorded()
    assert [test.draws for test in tests] == list(AMOUNTS)
    first = lab.lesson(speculative.LESSON).rounds()[0].verdicts[0].target
    assert tests[-1].draws == 200_000 and tests[-1].high < 0.01 and tests[-1].kept >= len(first.top)
    for law in tests[-1].rules:
        assert (law.measured < 0.01 and law.exact < 1e-12) if law.lossless else law.measured > 5 * tests[-1].high
    found = next(law.excess for law in tests[-1].rules if law.rule == "top_k")
    assert found is not None
    prob = {c.token: c.prob for c in first.top}[found.token]
    assert found.target_prob == pytest.approx(prob) and found.emitted_prob > prob


@EACH_LANG
def test_the_lesson_shows_what_was_recorded_by_the_amount_chosen(lab: Lab, text: Text) -> None:
    lesson = lab.lesson(speculative.LESSON)
    for test in recorded():
        panel = shown(lab, lesson, text, draws=str(test.draws))
        assert panel["figure"] and f"{test.draws:,}" in panel["text"]
    for odd in (None, "7", ["x"], {}):
        assert f"{AMOUNTS[-1]:,}" in shown(lab, lesson, text, draws=odd)["text"]


@EACH_LANG
def test_another_run_shows_no_numbers_before_its_button_was_pressed(lab: Lab, text: Text) -> None:
    run = started(lab)
    before = shown(lab, run, text)
    assert before["bare"] and "figure" not in before and not before.get("idle")
    assert measured(lab, run)[-1][1] == 1.0
    after = shown(lab, run, text)
    assert after["figure"] and "bare" not in after


def test_what_is_measured_are_the_laws_of_the_runs_first_token(lab: Lab) -> None:
    """p(I) = .4 and q(I) = .5; of Top-2, .7 pass and .3 are drawn again from p: I comes .5 + .3 x .4."""
    run = started(lab)
    measured(lab, run)
    test = run.measured[NAME][-1]
    found = {law.rule: law for law in test.rules}
    assert found["lossless"].exact < 1e-12 and found["lossless"].measured < test.high
    excess = found["top_k"].excess
    assert excess is not None and excess.token.text == "I"
    assert (excess.target_prob, excess.emitted_prob) == (pytest.approx(0.4), pytest.approx(0.62))
    assert found["top_k"].measured > test.high
    assert found["lossless"].acceptance == pytest.approx(0.4 + 0.2 + 0.1 + 0.1 + 0.01 + 0.04)


@EACH_LANG
def test_without_a_draft_there_is_nothing_to_judge(lab: Lab, text: Text) -> None:
    run = started(lab, drafter="ngram")
    assert not run.rounds()[0].nodes
    panel = shown(lab, run, text)
    assert panel["idle"] and panel["text"] == text("lossless.nothing")


@EACH_LANG
@pytest.mark.parametrize("options", [{"temperature": 0}, {"top_k": 1}], ids=str)
def test_of_one_token_it_is_said_that_all_rules_write_it(lab: Lab, text: Text, options: dict[str, Any]) -> None:
    run = started(lab, **options)
    panel = shown(lab, run, text)
    assert panel["idle"] and "“I”" in panel["text"] and "figure" not in panel
    assert panel["text"].endswith(text("lossless.greedy")) == ("temperature" in options)


@pytest.mark.parametrize("options", [{"temperature": 0}, {"top_k": 1}], ids=str)
def test_and_so_they_do(lab: Lab, options: dict[str, Any]) -> None:
    for test in speculative_lossless.tested(lab, started(lab, **options), lab.models.get(TOY)):
        assert test.kept == 1 and all(law.exact == law.measured == 0 for law in test.rules)


def test_the_code_shown_is_what_computed_the_numbers() -> None:
    code = view.source_text(speculative_lossless.sources())
    for part in ("def compare(", "def emitted(", "def draw(", "def noise("):
        assert part in code, part


def test_the_lessons_law_drawn_anew_on_the_real_model(lab: Lab, bundled_torch: Any) -> None:
    """By the lesson's prompt, settings and draft: lossless rules under 0.01 after 200,000 draws, Top-K far above.

    How far depends on q, and the recorded draft ran in int8; p is the same on each engine.
    """
    from decoding.sampling import Uniforms
    from decoding.speculative import lossless
    from decoding.speculative.drafters import drafter_of
    from decoding.speculative_settings import speculative_settings_from

    header = lab.lesson(speculative.LESSON).header
    settings = speculative_settings_from(header.settings)
    draft = api.load_draft(bundled_torch, settings)
    drafter = drafter_of(bundled_torch, draft, settings, Uniforms(header.seed))
    prompt = [token.id for token in header.prompt.tokens]
    target, drafted = lossless.first_laws(bundled_torch, drafter, prompt, settings)
    assert drafted is not None
    rules, seed = lossless.verifiers(settings), header.seed + 1
    test = lossless.compare(target, drafted, rules, AMOUNTS[-1], seed, bundled_torch.token)
    for law, kept in zip(test.rules, recorded()[-1].rules, strict=True):
        assert law.measured < 0.01 if law.lossless else law.measured > 5 * test.high
        assert law.rule == kept.rule and (law.excess is None) == (kept.excess is None) == law.lossless
        if law.excess and kept.excess:
            assert law.excess.token == kept.excess.token
            assert law.excess.target_prob == pytest.approx(kept.excess.target_prob, abs=1e-4)

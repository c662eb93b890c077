"""Quiz cards: distinct choices, an answer among them, and answers that agree with a computation of their own."""

from __future__ import annotations

import math

import pytest

from visualizations import quiz
from visualizations.lab import Lab
from visualizations.models import Models
from visualizations.pages import effects, next_token, sampling
from visualizations.quiz import Card
from visualizations.text import LANGS, Text

EN = Text("en")


@pytest.fixture(scope="module")
def lab() -> Lab:
    """The recorded lessons, and no model."""
    return Lab(Models(()))


def every_card(lab: Lab) -> list[Card]:
    found = [*next_token.cards(lab, lab.lesson(next_token.LESSON)), *sampling.cards(lab, lab.lesson(sampling.LESSON))]
    found += effects.cards(lab, lab.lesson(effects.LESSON))
    return [*found, quiz.cheapest_one, quiz.cheapest_many, quiz.frozen_noise]


def test_each_page_has_three_cards_with_distinct_choices(lab: Lab) -> None:
    cards = every_card(lab)
    assert len(cards) == 12
    for lang in LANGS:
        for card in cards:
            question = card(Text(lang))
            assert len(set(question.choices)) == len(question.choices) >= 2
            assert 0 <= question.answer < len(question.choices)
            assert question.ask and question.because and "{" not in question.ask + question.because


def test_a_gap_between_logits_is_a_ratio(lab: Lab) -> None:
    law = lab.lesson(next_token.LESSON).step(0).stages[0].result
    question = quiz.times_as_likely(law)(EN)
    gap = law.top[0].logit - law.top[1].logit  # type: ignore[operator]
    assert question.choices[question.answer] == f"{math.exp(gap):.1f} ×"


def test_adding_a_constant_changes_nothing() -> None:
    question = quiz.shifted(EN)
    assert question.choices[question.answer] == "the same" and "66.5" in question.because.replace("\u00a0", " ")


def test_the_order_card_is_case_5() -> None:
    question = quiz.order_matters(EN)
    assert question.choices[question.answer] == "temperature first"
    assert "first keeps 1, last keeps 2" in question.because


def test_another_uniform_lands_where_the_sums_say(lab: Lab) -> None:
    step = lab.lesson(sampling.LESSON).step(sampling.FIRST_STEP)
    kept = [c for c in step.stages[-1].result.top if c.kept]
    for u in (0.0, 0.5, 0.9):
        total, wanted = 0.0, kept[-1]
        for candidate in kept:
            total += candidate.prob
            if u < total:
                wanted = candidate
                break
        question = quiz.other_uniform(step, "quiz.this_run", u)(EN)
        assert wanted.token.text.strip() in question.choices[question.answer]


def test_one_draw_wants_a_scan_and_many_want_the_alias_table() -> None:
    one, many = quiz.cheapest_one(EN), quiz.cheapest_many(EN)
    assert one.choices[one.answer] == "Direct scan" and many.choices[many.answer] == "Alias table"


def test_frozen_noise_gives_one_item() -> None:
    question = quiz.frozen_noise(EN)
    assert question.choices[question.answer] == "1"


def test_temperature_cards(lab: Lab) -> None:
    hotter, warm, cold = (card(EN) for card in effects.cards(lab, lab.lesson(effects.LESSON)))
    assert hotter.choices[hotter.answer] == "it grows"
    assert cold.choices[cold.answer] == "1" and warm.choices[warm.answer] == "12,982"

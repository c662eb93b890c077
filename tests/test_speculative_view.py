"""What the page on speculative decoding shows, read from the replies that the browser gets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from decoding import api
from decoding.errors import UserError
from decoding.speculative.counts import Counts, counts
from decoding.speculative.verification import Case, Lossless
from decoding.trace import SpeculativeStep
from visualizations.figures import spec_coin
from visualizations.figures.spec_chips import chips
from visualizations.lab import KEPT_DRAFTS, Lab
from visualizations.models import Models
from visualizations.pages import speculative, speculative_quiz, speculative_road, speculative_view, view
from visualizations.runs import Run
from visualizations.text import LANGS, Text

EN = Text("en")
TOY, DRAFT = "toy:lecture", "toy:lecture-draft"


@pytest.fixture
def lab() -> Iterator[Lab]:
    yield Lab(Models(("smollm2", TOY, DRAFT, "toy:greedy-trap")))


def reply(lab: Lab, run: Run, step: int, lang: Any = "en", **details: Any) -> dict[str, Any]:
    widths = {panel.name: 400 for panel in speculative.PANELS}
    asked = {"run": run.id, "step": step, "widths": widths, "details": details}
    return speculative_view.render(lab, Text(lang), json.dumps(asked), speculative.MEASURED)


def boxes(**changed: Any) -> list[Any]:
    """What the controls say that `read_settings` reads, for a table."""
    first = {"drafter": DRAFT, "layers": 8, "gamma": 2, "verifier": "lossless", "ranks": 2, "temperature": 1}
    return list({**first, "top_k": 0, "top_p": 1, "tokens": 8, "seed": 1, **changed}.values())


def values(lab: Lab, prompt: str = "", model: str = TOY, **changed: Any) -> list[dict[str, Any]]:
    """What the Run button yields."""
    start = speculative._runner(lab, EN)
    return [json.loads(each) for each in start(model, prompt, "raw", *boxes(**changed), lab.turns.take())]


def started(lab: Lab, prompt: str = "", model: str = TOY, **changed: Any) -> Run:
    """A run as the Run button makes it."""
    return lab.runs.get(values(lab, prompt, model, **changed)[-1]["run"])


def test_the_lesson_is_the_run_that_the_controls_ask_for(lab: Lab) -> None:
    lesson = lab.lesson(speculative.LESSON)
    settings, seed = speculative.read_settings(speculative.first_values())
    assert dict(lesson.header.settings) == settings.plain() and lesson.header.seed == seed
    assert lesson.header.prompt.text == speculative.PROMPTS[speculative.FIRST_MODEL]
    assert lesson.header.draft is not None and lesson.moments == len(lesson.rounds()) > 3
    fates = {chip.fate for step in lesson.rounds() for chip in chips(step)}
    assert fates >= {"accepted", "rejected", "redrawn", "unread", "bonus"}, "the first picture shows all there is"


@pytest.mark.parametrize("lang", LANGS)
def test_rounds_grow_with_the_player(lab: Lab, lang: Any) -> None:
    lesson = lab.lesson(speculative.LESSON)
    for step in (0, 4, lesson.moments - 1, lesson.moments + 9):
        found = reply(lab, lesson, step, lang)
        at = min(step, lesson.moments - 1)
        shown = lesson.rounds()[: at + 1]
        assert len(found["panels"]["rounds"]["rounds"]["rows"]) == len(shown)
        assert found["counters"][2]["value"] == str(len(shown))
        assert found["where"] == Text(lang)("spec.moment", round=at + 1, count=lesson.moments)
        assert set(found["panels"]) == {panel.name for panel in speculative.PANELS}


def test_a_chip_is_chosen_until_the_player_moves_on(lab: Lab) -> None:
    lesson = lab.lesson(speculative.LESSON)
    first = reply(lab, lesson, 3)["panels"]
    chosen = {"chip": [1, 0], "chip_at": f"{lesson.id}/3"}
    other = reply(lab, lesson, 3, **chosen)["panels"]
    token = chips(lesson.rounds()[1])[0].token.text
    assert other["rounds"]["rounds"]["chosen"] == [1, 0] and token.strip() in other["verdict"]["title"]
    assert reply(lab, lesson, 4, **chosen)["panels"]["rounds"]["rounds"]["chosen"][0] == 4
    for odd in ([9, 0], [1, 99], [-1, 0], "x", [0], [0.5, 1], None):
        assert reply(lab, lesson, 3, **{**chosen, "chip": odd})["panels"] == first


def test_a_run_of_a_table_with_its_draft(lab: Lab) -> None:
    run = started(lab)
    assert run.header.draft is not None and run.header.draft.name == DRAFT
    assert run.finish is not None and list(run.finish.token_ids) == run.token_ids() == [t.id for t in run.emitted]
    assert run.finish.reason == "eos" and run.emitted[-1].text == "<end>"
    pieces = reply(lab, run, 9)["panels"]["written"]["written"]["pieces"]
    assert "".join(p["before"] + p["text"] for p in pieces) == " ".join(token.text for token in run.emitted)
    again = started(lab)
    assert again.trace().steps == run.trace().steps


@pytest.mark.parametrize("drafter", [DRAFT, "ngram", "random", "oracle"])
@pytest.mark.parametrize("verifier", speculative.VERIFIERS)
def test_every_drafter_and_rule_that_is_offered_runs_on_a_table(lab: Lab, drafter: str, verifier: str) -> None:
    assert drafter in [name for _, name in speculative.drafters(EN, TOY)]
    run = started(lab, drafter=drafter, verifier=verifier)
    for step in range(run.moments):
        panels = reply(lab, run, step, "zh")["panels"]
        assert panels["verdict"]["text"]
    about = view.about(EN, run)
    assert EN(f"spec.verifier_{verifier}") in about and ("K 2" in about) == (verifier == "top_k")


def test_the_bar_of_an_exact_match_is_the_scan_that_the_target_made(lab: Lab) -> None:
    rejected = 0
    for seed in range(12):
        for step in started(lab, verifier="exact", seed=seed).rounds():
            for verdict in step.verdicts:
                found = spec_coin.stretch(verdict)
                assert found is not None
                low, high = found
                assert high - low == pytest.approx(verdict.target_prob)
                if not verdict.accepted and step.added is not None:
                    rejected += 1
                    assert not low <= step.added.uniform < high
    assert rejected > 3


def test_who_can_draft_depends_on_the_model() -> None:
    assert speculative.same_words(TOY) == [DRAFT] and speculative.same_words(DRAFT) == [TOY]
    assert [name for _, name in speculative.drafters(EN, "toy:greedy-trap")] == ["ngram", "random", "oracle"]
    neural = [name for _, name in speculative.drafters(EN, "smollm2@int4", ("smollm2", "smollm2@int4", "big", TOY))]
    assert neural[-4:] == ["big", "ngram", "random", "oracle"] and "early" in neural and TOY not in neural


def test_the_controls_of_a_run_make_it_again(lab: Lab) -> None:
    changed = {"drafter": "ngram", "gamma": 3, "verifier": "top_k", "ranks": 4, "temperature": 0.5, "top_k": 3}
    run = started(lab, "I", **changed, top_p=0.9, seed=7)
    model, prompt, template, drafter, layers, gamma, verifier, ranks, *rest = speculative.restored(lab, EN, run)
    assert (model, prompt, template) == (TOY, "I", "raw")
    assert [each["visible"] for each in (layers, ranks)] == [False, True]
    given = [drafter["value"], layers["value"], gamma, verifier, ranks["value"], *rest]
    settings, seed = speculative.read_settings(given)
    assert (settings.plain(), seed) == (dict(run.header.settings), 7)


@pytest.mark.parametrize("lang", LANGS)
def test_mistakes_are_sentences(lab: Lab, lang: Any) -> None:
    assert "not in the table" in values(lab, "nonsense")[-1]["message"]
    assert "table" in values(lab, drafter="early")[-1]["message"]
    assert "toy:beam-trap" in values(lab, drafter="toy:beam-trap")[-1]["message"], "only what is offered is loaded"
    with pytest.raises(UserError) as error:
        speculative.read_settings(boxes(gamma=17))
    assert Text(lang)("spec.gamma") in Text(lang).error(error.value)


def test_a_run_of_another_page_is_told(lab: Lab) -> None:
    model = lab.models.get(TOY)
    drawn = lab.runs.new(api.prepare(model, "", api.greedy_settings(2)))
    with pytest.raises(UserError, match="another page"):
        reply(lab, drawn, 0)


def test_a_run_that_was_stopped_says_so(lab: Lab) -> None:
    turn = lab.turns.take()
    start = speculative._runner(lab, EN)
    found = map(json.loads, start(TOY, "", "raw", *boxes(drafter="random", gamma=1), turn))
    next(value for value in found if value.get("count"))
    lab.turns.halt(turn)
    last = list(found)[-1]
    assert last["count"] == 1 and last["about"].endswith("stopped")


def test_drafts_made_of_a_target_are_kept_a_few(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(
        api, "load_draft", lambda model, settings, progress=None: made.append(settings.exit_layer) or made
    )
    model = lab.models.get(TOY)
    asked = [api.speculative_settings(drafter="early", exit_layer=layers) for layers in range(1, KEPT_DRAFTS + 2)]
    for settings in [*asked, *asked[1:], asked[0]]:
        assert lab.draft_of(model, settings) is not None
    assert made == [*range(1, KEPT_DRAFTS + 2), 1]
    assert lab.draft_of(model, api.speculative_settings(drafter="ngram")) is None


def test_the_counters_are_the_counts_of_the_rounds() -> None:
    made = Counts(emitted=11, target_passes=3, draft_passes=12, drafted=12, judged=10, accepted=8)
    assert [each["value"] for each in speculative_view.counters(EN, made)] == ["3.67", "67 %", "3", "12"]
    none = Counts(emitted=3, target_passes=3, draft_passes=0, drafted=0, judged=0, accepted=0)
    assert [each["value"] for each in speculative_view.counters(EN, none)] == ["1.00", "–", "3", "0"]


# --- the quiz --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGS)
def test_each_answer_of_the_quiz_is_computed(lab: Lab, lang: Any) -> None:
    lesson = lab.lesson(speculative.LESSON)
    cards = speculative_quiz.cards(lab, lesson, speculative.LESSON)
    passes, needed, perfect = (card(Text(lang)) for card in cards)
    assert passes.choices[passes.answer] == str(len(lesson.emitted))
    assert perfect.choices[perfect.answer] == "100 %"
    for question in (passes, needed, perfect):
        assert len(set(question.choices)) == len(question.choices) > question.answer >= 0
    choices = list(map(float, needed.choices))
    index, _, verdict, u = next(speculative_quiz.rejections(lesson.rounds()))
    assert lesson.rounds()[index].verdicts[-1] == verdict
    right = choices[needed.answer]
    assert [accepts(p, verdict.draft_prob, u) for p in (right - 0.001, right + 0.001)] == [False, True]


def accepts(p: float, q: float, u: float) -> bool:
    """What the lossless rule itself says."""
    case: Any = Case(0, None, None, p, q, 1, 0.5, u)  # type: ignore[arg-type]
    return Lossless().judge(case).accepted


def test_a_run_without_a_rejection_asks_about_the_recorded_one(lab: Lab) -> None:
    run = started(lab, drafter="oracle")
    cards = speculative_quiz.cards(lab, run, speculative.LESSON)
    assert len(cards) == 3
    assert cards[0](EN).choices[cards[0](EN).answer] == str(len(run.emitted))


# --- roadmap and code ------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGS)
def test_the_roadmap_is_in_the_order_of_time(lang: Any) -> None:
    found = speculative_road.panel(Text(lang))["road"]
    links = [paper["link"].removeprefix(speculative_road.ARXIV) for paper in found]
    assert links == sorted(links) and len(set(links)) == len(links) == 12
    assert all(f"20{link[:2]}" == paper["year"] for link, paper in zip(links, found, strict=True))
    assert all(paper["said"] and paper["drafts"] and paper["who"] for paper in found)


def test_every_panel_with_numbers_shows_its_code(lab: Lab) -> None:
    run = started(lab, verifier="typical")
    for panel in speculative.PANELS:
        found = speculative.sources(panel.name, run.at(0))
        assert bool(found) == panel.code
        if panel.name == "verdict":
            assert "class Typical" in view.source_text(found)


def test_the_counts_are_those_of_the_run(lab: Lab) -> None:
    run = started(lab)
    steps: Sequence[SpeculativeStep] = run.rounds()
    made = counts(steps)
    assert made.target_passes == len(steps) and made.emitted == len(run.emitted)
    assert made.draft_passes == sum(step.draft_forwards for step in steps) > 0

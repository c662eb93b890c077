"""The panels that choose gamma and swap the drafter: what they show, for whom, and what their buttons do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from decoding import api, codec
from decoding.errors import UserError
from decoding.models import drafts, timing
from decoding.models.huggingface import HuggingFaceModel
from decoding.models.protocol import LanguageModel
from decoding.speculative.counts import Counts
from decoding.speculative.values import Alignment, Clocked, GammaSweep, LeftOut, Race
from decoding.trace import DRAFTERS, MAX_GAMMA
from decoding.values import ForwardTime, ForwardTimes
from tests.speculative_clock import Ticking, Time, target_seconds
from visualizations.lab import Lab
from visualizations.models import Models
from visualizations.pages import measuring, speculative_align, speculative_sweep, view
from visualizations.runs import Run
from visualizations.text import LANGS, Text

EN = Text("en")
TOY, DRAFT = "toy:lecture", "toy:lecture-draft"
PANELS = {"sweep": (speculative_sweep, GammaSweep), "alignment": (speculative_align, Alignment)}
EACH = pytest.mark.parametrize("name", PANELS)


@pytest.fixture
def lab() -> Lab:
    return Lab(Models(("smollm2", TOY, DRAFT)))


def run_of(lab: Lab, **options: Any) -> Run:
    """A run on the lecture's table, with all its rounds."""
    model = lab.models.get(TOY)
    settings = api.speculative_settings(**{"drafter": DRAFT, "gamma": 2, "max_new_tokens": 6, **options})
    run = lab.runs.new(api.prepare(model, "", settings, 1, draft=lab.draft_of(model, settings)))
    for _ in lab.run(model, run, settings):
        pass
    return run


def shown(lab: Lab, run: Run, name: str, text: Text = EN) -> dict[str, Any]:
    ask = view.read_ask(json.dumps({"run": run.id, "widths": {name: 700}}))
    return PANELS[name][0].shown(lab, ask, text, run)


def measured(lab: Lab, run: Run, name: str) -> Iterator[measuring.Told]:
    return PANELS[name][0].job(lab, EN, run, lab.model_of(run))


def ticking(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Only forwards of the target take time, by a clock of their own; the names of the models that are timed."""
    clock, asked, racers = Time(), [], lab.racers

    def slow(model: LanguageModel, run: Run, **changes: Any) -> Any:
        made = racers(model, run, **changes)
        return replace(made, model=Ticking(made.model, clock, target_seconds), clock=clock)  # type: ignore[arg-type]

    def forward_times(model: LanguageModel, progress: Any, fresh: bool) -> ForwardTimes:
        progress(0.5)
        asked.append(model.info.name)
        found = tuple(ForwardTime(n, 1000 * target_seconds(n)) for n in (1, 2, 5, 17))
        return ForwardTimes(model.info, "a test", 2, 100, 1000, 1e9, found, found[:1])

    monkeypatch.setattr(lab, "racers", slow)
    monkeypatch.setattr(timing, "forward_times", forward_times)
    return asked


def as_neural(run: Run) -> Run:
    """The same run, whose model says that it is none of the tables."""
    run.header = replace(run.header, model=replace(run.header.model, dtype="float32", name="someone/model"))
    return run


# --- what is shown ---------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("text", [Text(lang) for lang in LANGS], ids=LANGS)
def test_the_recorded_run_has_its_own_numbers(lab: Lab, name: str, text: Text) -> None:
    _, kind = PANELS[name]
    lesson = lab.lesson("speculative")
    found = measuring.recorded("speculative", name, kind)
    assert found is not None and found.model == lesson.header.model
    assert codec.loads(codec.dumps(found), kind) == found
    panel = shown(lab, lesson, name, text)
    assert panel["figure"] and found.model.name in panel["text"].split("\n")[-1]
    recorded = {"en": "Recorded", "zh": "预先测得"}[text.lang]
    assert panel["text"].split("\n")[-1].startswith(recorded)
    settings = lesson.header.settings
    if isinstance(found, GammaSweep):
        assert [race.gamma for race in found.races] == list(range(1, MAX_GAMMA + 1))
        assert {race.drafter for race in found.races} == {settings["drafter"]}
    else:
        assert [race.drafter for race in found.races] == list(DRAFTERS)
        assert {race.gamma for race in found.races} == {settings["gamma"]}


@EACH
def test_another_run_is_invited_to_be_measured_and_shows_no_numbers_of_the_recorded_one(lab: Lab, name: str) -> None:
    panel = shown(lab, run_of(lab), name)
    assert panel["title"] and "Not yet measured for this run" in panel["text"] and "at most 6 new" in panel["text"]
    assert "figure" not in panel and not panel.get("idle")


@EACH
def test_what_was_measured_here_is_shown(lab: Lab, name: str) -> None:
    run = run_of(lab)
    list(measured(lab, run, name))
    assert isinstance(run.measured[name], PANELS[name][1])
    panel = shown(lab, run, name)
    assert panel["figure"] and "Not yet" not in panel["text"]
    assert "is a table" in panel["text"], "its times say nothing"


@EACH
def test_the_code_shown_is_what_computed_the_numbers(name: str) -> None:
    code = view.source_text(PANELS[name][0].sources())
    wanted = {"sweep": ("def sweeping(", "def timed_round("), "alignment": ("def aligning(",)}
    assert all(part in code for part in (*wanted[name], "def draft_cost(", "def racing("))


# --- the sweep -------------------------------------------------------------------------------------


def test_the_button_tries_every_gamma_and_tells_which(lab: Lab) -> None:
    run = run_of(lab)
    told = list(measured(lab, run, "sweep"))
    words = list(dict.fromkeys(words for words, _ in told))
    assert words == [EN("spec.loading"), *(f"γ {gamma} of 16 …" for gamma in range(1, 17))]
    fractions = [done for words, done in told if words.startswith("γ")]
    assert fractions == sorted(fractions) and fractions[-1] == 1
    sweep = run.measured["sweep"]
    assert [race.gamma for race in sweep.races] == list(range(1, 17)) and sweep.target_times is None
    assert {race.drafter for race in sweep.races} == {DRAFT}


@pytest.mark.parametrize("drafter", [DRAFT, "oracle", "ngram"])
def test_passes_of_the_target_are_timed_first(lab: Lab, drafter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(lab, drafter=drafter)
    asked = ticking(lab, monkeypatch)
    model = lab.model_of(run)
    told = list(speculative_sweep.job(lab, EN, as_neural(run), model))
    assert asked == [TOY]
    first = [words for words, _ in told]
    assert first.index(EN("sweep.timing_target")) < first.index("γ 1 of 16 …")
    sweep = run.measured["sweep"]
    assert sweep.target_times is lab.times["someone/model"]
    panel = shown(lab, run, "sweep")
    assert "Measured here: a test, 2 cores" in panel["text"]


def test_times_that_the_page_has_are_not_measured_again(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(lab, drafter="random")
    asked, model = ticking(lab, monkeypatch), lab.model_of(run)
    known = timing.forward_times(model, lambda done: None, True)
    lab.times["someone/model"] = known
    asked.clear()
    list(speculative_sweep.job(lab, EN, as_neural(run), model))
    assert asked == [] and run.measured["sweep"].target_times is known


@pytest.mark.parametrize(
    ("asked", "milliseconds", "tokens"),
    [(40, 25.0, 40), (400, 25.0, 64), (40, 75.0, 25), (40, 500.0, 16), (8, 500.0, 8), (40, 0.001, 40)],
)
def test_slow_passes_leave_fewer_tokens(asked: int, milliseconds: float, tokens: int) -> None:
    one = (ForwardTime(1, milliseconds),)
    info = Models((TOY,)).get(TOY).info
    times = ForwardTimes(info, "a test", 2, 100, 1000, 1e9, one, one)
    assert speculative_sweep.new_tokens(asked, times) == tokens
    assert speculative_sweep.new_tokens(asked, None) == min(asked, 64)


def test_the_time_it_takes_is_told_by_the_pace_of_the_run_or_not_at_all(lab: Lab) -> None:
    """By a race: 32 texts of 18 tokens at .3 + .2 s, and 60 passes timed at .1 s. By passes of .5 s: 32 x 16 tokens."""
    run = as_neural(run_of(lab))
    run.header = replace(run.header, settings={**run.header.settings, "max_new_tokens": 40})
    assert "min" not in shown(lab, run, "sweep")["text"].split()
    plain, drafts = (Clocked((1, 40), (1.0, 40 * each), 0.2, 0.0, 0.1, 0.0, (40 * each,)) for each in (0.3, 0.2))
    counts = Counts(40, 2, 0, 0, 0, 0)
    run.measured["race"] = Race("ngram", 2, None, plain, drafts, counts, (), True)
    assert speculative_sweep.duration(lab, run) == pytest.approx(32 * 18 * 0.5 + 60 * 0.1)
    assert shown(lab, run, "sweep")["text"].endswith(EN("sweep.takes", minutes=5))
    run.measured.clear()
    one = (ForwardTime(1, 500.0),)
    lab.times["someone/model"] = ForwardTimes(run.header.model, "a test", 2, 100, 1000, 1e9, one, one)
    assert speculative_sweep.duration(lab, run) == pytest.approx(32 * 16 * 2 * 0.5)
    assert "at most 16 new" in shown(lab, run, "sweep")["text"]
    assert shown(lab, run, "sweep")["text"].endswith(EN("sweep.takes", minutes=9))


# --- the drafters ----------------------------------------------------------------------------------


def test_the_button_races_every_drafter_and_the_runs_own(lab: Lab) -> None:
    run = run_of(lab)
    told = list(measured(lab, run, "alignment"))
    found = run.measured["alignment"]
    assert [race.drafter for race in found.races] == [DRAFT, "ngram", "random", "oracle"]
    assert found.left_out == tuple(
        LeftOut(name, "draft_of_table", TOY) for name in ("trained", "ngram+trained", "early")
    )
    words = [words for words, _ in told]
    assert any(each.startswith("Making ready: ") for each in words)
    assert "Drafter 5 of 7: n-gram look-up …" in words and "Drafter 7 of 7: oracle …" in words
    left = "trained draft, look-up + trained draft and early layers (toy:lecture is a table and has no layers)."
    assert f"Left out: {left}" in shown(lab, run, "alignment")["text"]


def test_contestants() -> None:
    settings = api.speculative_settings(drafter="ngram")
    assert speculative_align.contestants(settings) == DRAFTERS
    other = api.speculative_settings(drafter="someone/model")
    assert speculative_align.contestants(other) == ("someone/model", *DRAFTERS)


def test_no_more_early_layers_than_the_model_has(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    model = lab.models.get(TOY)
    settings = api.speculative_settings(exit_layer=28)
    assert speculative_align._fitting(settings, model) == settings, "a table has none: the races say so"
    monkeypatch.setattr(drafts, "decoder_layers", lambda model: 12)
    assert speculative_align._fitting(settings, model).exit_layer == 11


def test_of_one_layer_only_the_early_exit_is_left_out(lab: Lab, make_module: Any, tiny_tokenizer: Any) -> None:
    model: Any = HuggingFaceModel(make_module("llama", num_hidden_layers=1), tiny_tokenizer, "tiny")
    with pytest.raises(UserError, match="tiny has one layer"):
        drafts.load("early", model, 1)
    settings = api.speculative_settings(drafter="random", gamma=2, max_new_tokens=4)
    run = lab.runs.new(api.prepare(model, "one two", settings, 1))
    list(speculative_align.job(lab, EN, run, model))
    found = run.measured["alignment"]
    assert [race.drafter for race in found.races] == ["ngram", "random", "oracle"]
    assert found.left_out == (
        LeftOut("trained", "no_draft", "tiny"),
        LeftOut("ngram+trained", "no_draft", "tiny"),
        LeftOut("early", "draft_one_layer", "tiny"),
    )
    assert "Left out: early layers (tiny has one layer only)." in shown(lab, run, "alignment")["text"]


def test_a_draft_that_is_broken_is_told(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    run, model = run_of(lab, drafter="ngram"), lab.models.get(TOY)

    def broken(model: Any, settings: Any) -> Iterator[Any]:
        raise UserError("draft_broken", path="x", reason="it is empty")
        yield

    monkeypatch.setattr(lab, "load_draft", broken)
    with pytest.raises(UserError, match="it is empty"):
        list(speculative_align.job(lab, EN, run, model))
    assert run.measured == {}


# --- Stop ------------------------------------------------------------------------------------------


@EACH
def test_stop_ends_between_two_steps_and_leaves_nothing(lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(lab)
    ticking(lab, monkeypatch)
    made: list[Any] = []
    racers = lab.racers

    def watched(*given: Any, **changes: Any) -> Any:
        made.append(racers(*given, **changes))
        return made[-1]

    monkeypatch.setattr(lab, "racers", watched)
    halted = {"now": False}
    news = measuring.told(measured(lab, run, name), lambda: halted["now"])
    while not made or not made[-1].model.seen:
        next(news)
    seen = len(made[-1].model.seen)
    halted["now"] = True
    assert list(news) == []
    assert len(made[-1].model.seen) <= seen + 1 and name not in run.measured

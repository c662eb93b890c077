"""What the pages say and do, without a browser: runs that are ended, branches, limits, rows, words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import gradio as gr
import pytest

from decoding import api
from decoding.errors import UserError
from decoding.trace import Token
from decoding.values import Merge, Word
from visualizations.components.prose import prose
from visualizations.figures import bars
from visualizations.figures.style import View
from visualizations.lab import Lab
from visualizations.models import Models
from visualizations.pages import controls, next_token, sampling, view
from visualizations.runs import Run
from visualizations.text import LANGS, Lang, Text

TOY = "toy:lecture"
EN, ZH = Text("en"), Text("zh")


@pytest.fixture(scope="module")
def model() -> Any:
    return api.load(TOY)


@pytest.fixture
def lab() -> Lab:
    return Lab(Models((TOY,)))


def started(lab: Lab, turn: str, step: int | None = None, **options: Any) -> Iterator[dict[str, Any]]:
    """The values of a run on the page, as the browser gets them."""

    def make(loaded: Any) -> tuple[Run, Any]:
        settings = api.sample_settings(**options)
        return lab.runs.new(api.prepare(loaded, "", settings, 3)), settings

    return map(json.loads, sampling.running(lab, EN, TOY, make, turn, step))


def chosen(lab: Lab, run: Run, step: int, token: int, known: list[str] | None = None) -> list[dict[str, Any]]:
    """The values after a candidate was chosen."""
    data = {"run": run.id, "step": step, "panel": "bars", "id": token, "turn": lab.turns.take(), "known": known or []}
    return [json.loads(value) for value in sampling._brancher(lab, EN)(gr.EventData(None, data))]


# --- turns -----------------------------------------------------------------------------------------


def test_a_run_says_whose_turn_it_is_and_ends_it(lab: Lab) -> None:
    turn, waits = lab.turns.take(), lab.turns.take()
    values = list(started(lab, turn))
    assert {value["turn"] for value in values} == {turn} and values[-1]["done"] and not values[-1]["running"]
    assert lab.turns.ahead(waits) == 0


def test_a_halted_run_ends_within_a_step_and_says_so(lab: Lab) -> None:
    turn = lab.turns.take()
    values = started(lab, turn)
    first = next(value for value in values if value.get("tokens"))
    lab.turns.halt(turn)
    last = list(values)[-1]
    assert len(first["tokens"]) == 1 and len(last["tokens"]) <= 2 and "stopped" not in first["about"]
    assert last["done"] and last["running"] is False and last["about"].endswith("stopped")
    finish = lab.runs.get(last["run"]).finish
    assert finish is not None and finish.reason == "cancelled" and lab.running == 0


def test_a_turn_halted_while_it_waited_makes_nothing(lab: Lab) -> None:
    turn = lab.turns.take()
    lab.turns.halt(turn)
    assert [value for value in started(lab, turn) if "run" in value] == [] and lab.runs.latest() == []


def test_a_mistake_ends_the_turn_too(lab: Lab) -> None:
    turn, waits = lab.turns.take(), lab.turns.take()
    (*_, last) = started(lab, turn, max_new_tokens=10**6)
    assert last["turn"] == turn and last["running"] is False and "1,000,000" in last["message"]
    assert lab.turns.ahead(waits) == 0


@pytest.mark.parametrize("lang", LANGS)
def test_who_waits_is_told_how_many_are_before(lab: Lab, lang: Lang) -> None:
    served = {f.__name__: f for f in view.server(lab, Text(lang), dict, lambda panel, step: [], lambda run: [])}
    ask = lambda name, **details: json.loads(served[name](json.dumps({"details": details})))  # noqa: E731
    first, second, third = ask("turn"), ask("turn"), ask("turn")
    assert first["words"] == Text(lang)("viewer.waiting")
    assert second["words"] == Text(lang)("viewer.ahead", count=1) and "1" in second["words"]
    assert third["words"] == Text(lang)("viewer.ahead", count=2) and "2" in third["words"]
    assert "1 run before" in second["words"] or lang == "zh"
    assert ask("halt", turn=first["turn"]) == {} and lab.turns.halted(first["turn"])
    assert ask("turn", turn=third["turn"]) == {"turn": third["turn"], "words": second["words"]}
    fourth = ask("turn", before=third["turn"])
    assert lab.turns.halted(third["turn"]) and fourth["words"] == second["words"]


# --- branches --------------------------------------------------------------------------------------


def test_choosing_the_token_that_is_there_makes_no_branch(lab: Lab, model: Any) -> None:
    run = lab.runs.get(list(started(lab, ""))[-1]["run"])
    (value,) = chosen(lab, run, 1, run.token_ids()[1])
    assert value["run"] == run.id and value["step"] == 1 and value["done"] and lab.runs.latest() == [run]


def test_the_same_choice_twice_is_one_branch(lab: Lab, model: Any) -> None:
    run = lab.runs.get(list(started(lab, ""))[-1]["run"])
    token = next(id for id in model.encode("He She")[1:] if id != run.token_ids()[0])
    branch = lab.runs.get(chosen(lab, run, 0, token)[-1]["run"])
    made = branch.trace()
    (again,) = chosen(lab, run, 0, token)
    assert again["run"] == branch.id and len(again["branches"]) == 2 and branch.trace() == made
    assert lab.runs.latest() == [run, branch]


def test_a_branch_that_was_stopped_goes_on(lab: Lab, model: Any) -> None:
    run = lab.runs.get(list(started(lab, ""))[-1]["run"])
    token = next(id for id in model.encode("He She")[1:] if id != run.token_ids()[0])
    data = {"run": run.id, "step": 0, "panel": "bars", "id": token, "turn": lab.turns.take(), "known": []}
    values = map(json.loads, sampling._brancher(lab, EN)(gr.EventData(None, data)))
    next(value for value in values if value.get("tokens"))
    lab.turns.halt(data["turn"])
    stopped = list(values)[-1]
    assert stopped["about"].endswith("stopped")
    whole = chosen(lab, run, 0, token)
    assert whole[-1]["run"] == stopped["run"] and len(whole[-1]["tokens"]) > len(stopped["tokens"])
    assert not whole[-1]["about"].endswith("stopped") and len(lab.runs.latest()) == 2


# --- controls --------------------------------------------------------------------------------------


def values_of(**changed: Any) -> list[Any]:
    """What the controls of the processors send at first, but for those changed."""
    return [*(changed.get(knob.name, knob.off) for knob in controls.KNOBS), changed.get("order")]


@pytest.mark.parametrize("limit", [7, 256, 5000])
def test_the_limit_of_new_tokens_is_the_servers(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DECODING_LAB_NEW_TOKENS", str(limit))
    with gr.Blocks():
        slider = controls.new_tokens(EN, 20)
    assert (slider.maximum, slider.value) == (limit, min(20, limit))
    assert controls.settings(values_of(), "direct", limit).max_new_tokens == limit
    with pytest.raises(UserError) as error:
        controls.settings(values_of(), "direct", limit + 1)
    assert EN.error(error.value).startswith(f"“New tokens, at most” is {limit + 1}; it must be 1 … {limit}:")
    assert ZH.error(error.value).startswith(f"“最多生成的词元数”是 {limit + 1}，应当为 1 … {limit}：")


def test_mistakes_name_the_control_as_the_page_does() -> None:
    for value, said in ((-3, "“Seed” is -3; it must be 0 …"), (None, "“Seed” is empty, not a number")):
        with pytest.raises(UserError) as error:
            api.prepare(api.load(TOY), "", api.greedy_settings(), value)  # type: ignore[arg-type]
        assert EN.error(error.value).startswith(said) and "“随机种子”是" in ZH.error(error.value)
        assert "seed" in str(error.value), "the command line keeps its own names"
    with pytest.raises(UserError) as error:
        api.sample_settings(top_p=2.0)
    assert EN.error(error.value) == "“Top-p” is 2.0; it must be 0 ≤ Top-p ≤ 1: choose a value in that range."


def test_a_name_that_a_visitor_typed_is_left_alone() -> None:
    error = UserError("law_name_long", name="seed", count=500, limit=40)
    assert EN.error(error) == str(error) and "seed" in ZH.error(error)


def test_the_controls_take_what_made_a_run(lab: Lab, model: Any) -> None:
    asked = {"temperature": 0.7, "top_k": 5, "frequency_penalty": 0.5}
    settings = api.sample_settings(order=("top_k", "temperature"), **asked)
    run = lab.runs.new(api.prepare(model, "I like", settings, 9))
    again = controls.settings(controls.restored(run), "direct", 32)
    assert again.plain() == {**settings.plain(), "top": again.top}
    assert controls.prompt_of(lab)(run) == ["I like", "raw", TOY]


@pytest.mark.parametrize("lang", LANGS)
def test_every_further_rule_is_explained_beside_its_slider(lang: Lang) -> None:
    text = Text(lang)
    with gr.Blocks():
        made = {knob.name: knob.slider(text) for knob in controls.KNOBS}
    assert all(made[knob.name].info for knob in controls.MORE_KNOBS)
    assert not any(" （" in (slider.label or "") for slider in made.values())


def test_a_long_prompt_reaches_the_core_that_refuses_it(model: Any) -> None:
    with gr.Blocks():
        box, _ = controls.prompt_box(EN, "")
    assert box.max_length is not None
    with pytest.raises(UserError, match=r"has 150,000 characters; at most 100,000"):
        api.prepare(model, "x" * 150_000, api.greedy_settings())
    assert box.max_length > 150_000


# --- what is shown ---------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGS)
def test_the_button_of_a_cut_token_says_which_rule_cut_it(lab: Lab, model: Any, lang: Lang) -> None:
    text = Text(lang)
    settings = api.sample_settings(top_k=3, top_p=0.8)
    (step, *_) = api.decode(model, "I", settings, 1).steps
    labels = {row["id"]: row["label"] for row in view.rows(bars.bars(step, View(text)), step, text)}
    like, am, hate = model.encode("like am hate")[1:]
    said = {id: labels[id] for id in (like, am, hate)}
    values = {"token": "am", "prob": "11.1 %", "rule": "top-p 0.80"}
    assert said[am] == text("viewer.row_cut", **values) and "top-k 3" in said[hate]
    assert said[like] == text("viewer.row", token="like", prob="50.0 %")


def test_the_text_before_a_step_ends_where_the_step_begins(lab: Lab, model: Any) -> None:
    run = lab.runs.get(list(started(lab, "", temperature=1.0))[-1]["run"])
    words = [token.text for token, _, _ in run.drawn]
    assert [view.text_before(run, step) for step in (0, 1, 2)] == [
        " ".join(["<start>", *words[:count]]) for count in (0, 1, 2)
    ]
    long = lab.runs.new(api.prepare(model, "I like " * 60, api.greedy_settings(1)))
    said = view.text_before(long, 0)
    assert len(said) == 1 + view.BEFORE_SHOWN and said.startswith("…") and said.endswith("I like")


def word(count: int, merges: tuple[Merge, ...] = ()) -> Word:
    pieces = tuple(Token(id, "aaaa") for id in range(count))
    return Word("aaaa" * count, 0, count, pieces, merges)


def test_a_word_too_long_for_its_merges_is_shown_within_bounds() -> None:
    from decoding.values import Tokenization

    shown = next_token.merges(Tokenization((), ()), EN, 0)
    assert shown is None
    words = word(75)
    shown = next_token.merges(Tokenization(words.start, (words,)), EN, 74)
    assert shown is not None and "300 bytes" in shown["text"] and len(shown["title"]) < 80
    (line,) = shown["lines"]
    assert line["pieces"] == ["aaaa"] * next_token.PIECES_SHOWN + ["…"] and line["note"] == "75 tokens"
    single = word(1)
    shown = next_token.merges(Tokenization(single.start, (single,)), EN, 0)
    assert shown is not None and "nothing to merge" in shown["text"] and shown["lines"][0]["note"] == "1 token"


def test_words_that_must_not_break_stand_in_one_span() -> None:
    top, least = (f'<span class="lab-whole">{name}</span>' for name in ("Top-p", "min-p"))
    assert prose("<b> Top-p & min-p; stop-press") == f"&lt;b&gt; {top} &amp; {least}; stop-press"

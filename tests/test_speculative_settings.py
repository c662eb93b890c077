"""Settings of speculative decoding, and what is refused before a run: a draft that is missing, foreign or too short."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import api, codec
from decoding.errors import UserError
from decoding.models import toy
from decoding.models.toy import ToyModel
from decoding.processors import Temperature, TopP
from decoding.settings import Limits
from decoding.speculative.verification import ExactMatch, Lossless, TopK, Typical
from decoding.speculative_settings import (
    DRAFTERS,
    VERIFIERS,
    SpeculativeSettings,
    speculative_settings,
    speculative_settings_from,
)
from decoding.trace import MAX_GAMMA, SpeculativeStep, Trace
from tests.speculative_toys import draft_toy, target_toy

many = settings(max_examples=60, deadline=None, derandomize=True)


# --- values ----------------------------------------------------------------------------------------


def test_the_defaults() -> None:
    asked = speculative_settings()
    assert asked == SpeculativeSettings() and asked.method == "speculate"
    assert (asked.gamma, asked.drafter, asked.verifier, asked.top) == (4, "trained", "lossless", 8)
    assert (asked.typical_epsilon, asked.typical_delta) == (0.09, pytest.approx(math.sqrt(0.09)))


def test_each_rule_gets_its_settings() -> None:
    options = {"verify_top_k": 7, "typical_epsilon": 0.2, "typical_delta": 0.4}
    rules = [speculative_settings(verifier=name, **options).rule for name in VERIFIERS]
    assert rules == [Lossless(), ExactMatch(), TopK(7), Typical(0.2, 0.4)]
    assert [rule.name for rule in rules] == list(VERIFIERS)
    assert [rule.lossless for rule in rules] == [True, True, False, False]


def test_which_drafters_need_a_model() -> None:
    needs = {name: speculative_settings(drafter=name).needs_model for name in (*DRAFTERS, "smollm2")}
    assert [name for name, needed in needs.items() if needed] == ["trained", "ngram+trained", "early", "smollm2"]


def test_looking_up_first_leaves_the_draft_models_name() -> None:
    names = ("trained", "ngram+trained", "ngram+early", "ngram+toy:draft", "ngram+organisation/model")
    found = [speculative_settings(drafter=name).draft_name for name in names]
    assert found == ["trained", "trained", "early", "toy:draft", "organisation/model"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        *(({"gamma": value}, "out_of_range") for value in (0, -1, MAX_GAMMA + 1, 2.5)),
        *(({"gamma": value}, "not_a_number") for value in ("4", True, [4])),
        ({"verifier": "fair"}, "unknown_choice"),
        ({"verifier": ["lossless"]}, "unknown_choice"),
        ({"drafter": ""}, "unknown_choice"),
        ({"drafter": 3}, "unknown_choice"),
        ({"drafter": "x" * 2000}, "unknown_choice"),
        ({"verify_top_k": 0}, "out_of_range"),
        ({"typical_epsilon": -0.1}, "out_of_range"),
        ({"typical_epsilon": math.nan}, "out_of_range"),
        ({"typical_delta": 1.5}, "out_of_range"),
        ({"ngram_max": 0}, "out_of_range"),
        ({"ngram_max": 2, "ngram_min": 3}, "out_of_range"),
        ({"exit_layer": 0}, "out_of_range"),
        ({"max_new_tokens": 0}, "out_of_range"),
        ({"top": 51}, "out_of_range"),
        ({"temperature": -1}, "out_of_range"),
        ({"sampler": "direct"}, "unknown_choice"),
        ({"order": ["gamma"]}, "unknown_choice"),
    ],
    ids=str,
)
def test_what_settings_cannot_have(options: dict[str, Any], code: str) -> None:
    with pytest.raises(UserError) as caught:
        speculative_settings(**options)
    assert caught.value.code == code and str(caught.value).endswith(".")


@many
@given(
    st.integers(1, MAX_GAMMA),
    st.sampled_from([*DRAFTERS, "toy:lecture", "naïve/model"]),
    st.sampled_from(VERIFIERS),
    st.floats(0, 1),
    st.integers(1, 9),
    st.sampled_from([{}, {"temperature": 0}, {"top_p": 0.5, "temperature": 2.0, "order": ("top_p", "temperature")}]),
)
def test_a_header_gives_the_settings_back(
    gamma: int, drafter: str, verifier: str, number: float, count: int, more: dict[str, Any]
) -> None:
    """Through JSON, as they were, the order of the processors too."""
    asked = speculative_settings(
        gamma=gamma,
        drafter=drafter,
        verifier=verifier,
        typical_epsilon=number,
        typical_delta=1 - number,
        verify_top_k=count,
        ngram_max=count,
        exit_layer=count,
        max_new_tokens=count,
        top=count,
        **more,
    )
    assert speculative_settings_from(json.loads(json.dumps(asked.plain()))) == asked


def test_a_header_with_something_else_is_refused() -> None:
    plain = speculative_settings().plain()
    for damage in ({"gamma": 99}, {"order": "temperature"}, {"surprise": 1}, {"drafter": None, "verifier": 7}):
        with pytest.raises(UserError):
            speculative_settings_from({**plain, **damage})


def test_processors_in_their_order() -> None:
    asked = speculative_settings(temperature=0.5, top_p=0.9, order=["top_p"])
    assert asked.processors == (TopP(0.9), Temperature(0.5))
    assert asked.plain()["order"] == ("top_p", "temperature")


# --- before and around a run -----------------------------------------------------------------------


class Short(ToyModel):
    """A toy that reads at most eight tokens."""

    @property
    def info(self) -> Any:
        info = super().info
        return type(info)("toy:short", info.vocab_size, 8, info.device, info.dtype, info.end_ids)


def test_a_context_too_short_is_told_before_the_run() -> None:
    """Case 14: of the target or of the draft, whichever is too short, by its name."""
    whole, short = target_toy(), Short(target_toy().table)
    asked = api.speculative_settings(drafter="toy:x", max_new_tokens=6)
    for model, draft in ((whole, short), (short, whole)):
        api.prepare(model, "a", asked, draft=draft)  # <start> a, and six more: eight
        with pytest.raises(UserError, match=r"need 9; toy:short reads at most 8") as caught:
            api.prepare(model, "a b", asked, draft=draft)
        assert caught.value.code == "context_too_short"


def test_a_draft_that_is_missing_or_foreign_is_told_before_the_run() -> None:
    model = target_toy()
    for name in ("trained", "early", "toy:draft"):
        with pytest.raises(UserError) as caught:
            api.prepare(model, "a", api.speculative_settings(drafter=name))
        assert caught.value.code == "draft_missing"
    with pytest.raises(UserError) as caught:
        api.decode(model, "a", api.speculative_settings(drafter="toy:lecture"), draft=toy.load("toy:lecture"))
    assert caught.value.code == "draft_vocabulary_size"


def test_the_limits_hold_as_for_sampling() -> None:
    with pytest.raises(UserError) as caught:
        api.prepare(target_toy(), "a", api.speculative_settings(drafter="ngram", max_new_tokens=9), limits=Limits(9, 8))
    assert caught.value.code == "too_many_new_tokens"


@pytest.mark.parametrize("drafter", ["toy:draft", "ngram", "oracle", "random"])
def test_a_run_from_a_notebook(drafter: str) -> None:
    model, draft = target_toy(), draft_toy()
    asked = api.speculative_settings(drafter=drafter, temperature=1.3)
    trace = api.decode(model, "a", asked, seed=4, draft=draft)
    header = trace.header
    assert header.method == "speculate" and speculative_settings_from(header.settings) == asked
    drafting = {"toy:draft": draft.info, "oracle": model.info}.get(drafter)
    assert header.draft == drafting and header.model == model.info
    assert api.new_tokens(trace.steps) == list(trace.finish.token_ids)
    assert trace.finish.reason == "eos" and trace.finish.text == model.decode(trace.finish.token_ids[:-1])
    assert trace == api.decode(model, "a", asked, seed=4, draft=draft)
    assert codec.loads(codec.dumps(trace)) == trace


def test_a_run_that_is_stopped() -> None:
    """Case 15: its rounds so far are a trace, and reading it again finds nothing wrong."""
    model = target_toy(max_words=40)
    asked = api.speculative_settings(drafter="random", max_new_tokens=20)
    whole = api.decode(model, "a", asked, seed=1)
    assert len(whole.steps) > 3
    for count in range(len(whole.steps)):
        header = api.prepare(model, "a", asked, seed=1)
        stream = api.stream(model, header, asked)
        steps = tuple(next(stream) for _ in range(count))
        stream.close()  # type: ignore[attr-defined]
        assert steps == whole.steps[:count]
        trace = Trace(header, steps, api.finish(model, api.new_tokens(steps), cancelled=True))
        assert trace.finish.reason == "cancelled" and codec.loads(codec.dumps(trace)) == trace
        known = api.new_tokens(steps)
        assert tuple(api.stream(model, header, asked, known)) == whole.steps[count:]


@pytest.mark.parametrize("prompt", ["", " ", "\n"])
def test_an_empty_prompt_is_a_prompt(prompt: str) -> None:
    """Case 13: a round begins from the start token."""
    trace = api.decode(target_toy(), prompt, api.speculative_settings(drafter="oracle"))
    assert trace.steps and isinstance(trace.steps[0], SpeculativeStep) and trace.steps[0].position == 0


@pytest.mark.parametrize("text", ["😊", "我很好", "🇫🇷 é שלום"])
def test_half_characters_come_back_as_they_were(tiny_llama: Any, text: str) -> None:
    """Case 11: a byte-level model, drafts and verdicts over tokens that are half a character."""
    asked = api.speculative_settings(drafter="oracle", temperature=2, max_new_tokens=6)
    trace = api.decode(tiny_llama, text, asked)
    assert codec.loads(codec.dumps(trace)) == trace
    assert trace.finish.text == tiny_llama.decode(trace.finish.token_ids)


# --- draft models by name --------------------------------------------------------------------------


def test_a_draft_is_loaded_by_name() -> None:
    model = toy.load("toy:lecture")
    for name in ("ngram", "oracle", "random"):
        assert api.load_draft(model, api.speculative_settings(drafter=name)) is None
    assert api.load_draft(model, api.greedy_settings()) is None
    draft = api.load_draft(model, api.speculative_settings(drafter="toy:lecture"), device="cpu")
    assert draft is not None and draft.info == model.info
    for name in ("trained", "early"):
        with pytest.raises(UserError, match="toy:lecture is a table"):
            api.load_draft(model, api.speculative_settings(drafter=name))


def test_the_first_layers_of_a_model_draft_for_it(
    tiny_llama: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Early exit, through the interface: at temperature 0 the text is the target's own."""
    monkeypatch.setenv("DECODING_LAB_CACHE", str(tmp_path))
    asked = api.speculative_settings(drafter="early", exit_layer=2, temperature=0, max_new_tokens=8)
    draft = api.load_draft(tiny_llama, asked)
    trace = api.decode(tiny_llama, "the sky", asked, draft=draft)
    greedy = api.decode(tiny_llama, "the sky", api.greedy_settings(8))
    assert trace.finish == greedy.finish and draft is not None and trace.header.draft == draft.info
    assert all(step.draft_forwards == len(step.nodes) > 0 for step in trace.steps)  # type: ignore[union-attr]
    with pytest.raises(UserError, match=r"exit_layer is 3; it must be 1 … 2"):
        api.load_draft(tiny_llama, api.speculative_settings(drafter="early", exit_layer=3))

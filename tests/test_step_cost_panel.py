"""The panel of what one step costs: whose times it shows, and what it says of a model that they are not of."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from decoding.trace import ModelInfo
from visualizations.lab import Lab
from visualizations.models import Models
from visualizations.pages import step_cost, view
from visualizations.runs import Run
from visualizations.text import LANGS, Text

NAMES = ("smollm2", "smollm2@int4", "toy:lecture", "someone/model")


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab(Models(NAMES))


def run_of(lab: Lab, **changes: Any) -> Run:
    """A run such as the recorded one, of another model."""
    header = lab.lesson("next-token").header
    return lab.runs.new(replace(header, model=replace(header.model, **changes)))


def shown(lab: Lab, run: Run, text: Text) -> dict[str, Any]:
    ask = view.read_ask(json.dumps({"run": run.id, "widths": {step_cost.NAME: 700}}))
    return step_cost.shown(lab, ask, text, run)


@pytest.mark.parametrize("text", [Text(lang) for lang in LANGS], ids=LANGS)
@pytest.mark.parametrize("dtype", ["float32", "int4"])
def test_the_recorded_times_are_those_of_the_runs_precision(lab: Lab, dtype: str, text: Text) -> None:
    times = step_cost.recorded(dtype)
    assert (times.model.name, times.model.dtype, times.model.engine) == ("smollm2", dtype, "onnx")
    panel = shown(lab, run_of(lab, dtype=dtype), text)
    sentence, where = panel["text"].split("\n")
    assert where == step_cost._where(times, text, "cost.recorded") and dtype in where
    assert f"{times.bandwidth / 1e9:.1f} GB" in sentence and panel["figure"]


@pytest.mark.parametrize(
    "model", [{"name": "someone/model"}, {"dtype": "bfloat16"}, {"dtype": "int4 (quantised here)"}], ids=str
)
def test_of_another_model_it_is_said_that_these_times_are_not_its_own(lab: Lab, model: dict[str, str]) -> None:
    text = Text("en")
    run = run_of(lab, **model)
    ran = run.header.model
    assert shown(lab, run, text)["text"].endswith(text("cost.other", model=ran.name, dtype=ran.dtype))


def test_what_was_measured_here_is_shown_for_its_own_model(monkeypatch: pytest.MonkeyPatch) -> None:
    lab, text = Lab(Models(NAMES)), Text("en")
    other = ModelInfo("someone/model", 100, 256, "cpu", "float32", (2,), "onnx")
    lab.times["someone/model"] = replace(step_cost.recorded("float32"), model=other, machine="this very machine")
    said = shown(lab, run_of(lab, name="someone/model"), text)["text"]
    assert "Measured here: this very machine" in said and "another model" not in said
    assert "Recorded on:" in shown(lab, run_of(lab), text)["text"]


def test_a_table_has_words_only(lab: Lab) -> None:
    panel = shown(lab, run_of(lab, name="toy:lecture", dtype="float64"), Text("en"))
    assert panel["idle"] and "figure" not in panel and "has no weights to read" in panel["text"]


def test_the_code_shown_is_what_computed_the_numbers() -> None:
    code = view.source_text(step_cost.sources())
    for part in ("def measure(", "def _milliseconds(", "def _reader(", "def floor(", "def slope(", "def ridge("):
        assert part in code, part

"""The models that pages offer: their names, how each is loaded, and which of them made a run."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from decoding import models
from decoding.trace import ModelInfo
from visualizations.lab import Lab
from visualizations.models import Choice, Models, offered
from visualizations.pages import view
from visualizations.text import LANGS, Lang, Text


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DECODING_LAB_ENGINE", "DECODING_LAB_MODELS"):
        monkeypatch.delenv(name, raising=False)


def info(name: str = "smollm2", dtype: str = "float32", engine: str = "onnx") -> ModelInfo:
    return ModelInfo(name, 10, 20, "cpu", dtype, (), engine)


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("smollm2", Choice("smollm2", "auto", "auto")),
        ("smollm2@int4", Choice("smollm2", "onnx", "int4")),
        ("smollm2@torch", Choice("smollm2", "torch", "auto")),
        ("smollm2@onnx", Choice("smollm2", "onnx", "auto")),
        ("toy:lecture", Choice("toy:lecture")),
        ("Qwen/Qwen3-0.6B@int4", Choice("Qwen/Qwen3-0.6B", "onnx", "int4")),
        ("folder@home/model", Choice("folder@home/model")),
        ("model@int8", Choice("model@int8")),
        ("@int4", Choice("@int4")),
        ("a@b@torch", Choice("a@b", "torch", "auto")),
    ],
)
def test_a_name_tells_engine_and_precision(name: str, choice: Choice) -> None:
    assert Choice.of(name) == choice


@pytest.mark.parametrize("engine", ["torch", "onnx", "auto", " torch "])
def test_the_servers_engine_is_the_default_only(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DECODING_LAB_ENGINE", engine)
    assert Choice.of("smollm2").engine == engine.strip()
    assert Choice.of("smollm2@int4") == Choice("smollm2", "onnx", "int4")


@pytest.mark.parametrize(
    ("name", "loaded"),
    [
        ("smollm2", {"device": "auto", "engine": "auto", "precision": "auto"}),
        ("smollm2@int4", {"device": "cpu", "engine": "onnx", "precision": "int4"}),
        ("smollm2@torch", {"device": "auto", "engine": "torch", "precision": "auto"}),
    ],
)
def test_each_is_loaded_as_its_name_says_and_once(
    name: str, loaded: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(models, "load", lambda model, **options: loads.append((model, options)) or object())
    shared = Models((name,))
    assert shared.get(name) is shared.get(name)
    assert loads == [("smollm2", {**loaded, "progress": None})]


@pytest.mark.parametrize("there", [True, False])
def test_int4_is_offered_where_onnx_runtime_is(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: object() if there else None)
    monkeypatch.setenv("DECODING_LAB_MODELS", "smollm2@torch, smollm2")
    names = offered()
    assert names[0] == "smollm2" and ("smollm2@int4" in names) == there
    assert names.count("smollm2") == 1 and names[-1] == "smollm2@torch"


@pytest.mark.parametrize("lang", LANGS)
def test_each_of_them_has_a_name_of_its_own(lang: Lang) -> None:
    text = Text(lang)
    named = [view.model_label(text, name) for name in ("smollm2", "smollm2@int4", "smollm2@torch", "toy:lecture")]
    assert len(set(named)) == 4 and not any("@" in name for name in named)
    assert view.model_label(text, "gpt2") == "gpt2"


ALL = ("smollm2", "smollm2@int4", "smollm2@torch", "toy:lecture")


@pytest.mark.parametrize(
    ("names", "made", "name"),
    [
        (ALL, info(), "smollm2"),
        (ALL, info(dtype="int4"), "smollm2@int4"),
        (ALL, info(dtype="int4 (quantised here)"), "smollm2@int4"),
        (ALL, info(engine="torch"), "smollm2@torch"),
        (ALL[:2], info(engine="torch"), "smollm2"),
        (ALL[:2], info(dtype="bfloat16", engine="torch"), "smollm2"),
        (ALL[:1], info(dtype="int4"), "smollm2@int4"),
        (ALL, info("toy:lecture", "float64", "torch"), "toy:lecture"),
        (ALL, info("gpt2"), "gpt2"),
    ],
)
def test_a_run_finds_its_model_again(names: tuple[str, ...], made: ModelInfo, name: str) -> None:
    assert Models(names).name_of(made) == name


def test_the_loaded_model_that_is_just_the_runs_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch is the default, a run of it goes on with the model that is there."""

    class Loaded:
        info = info(engine="torch")

    monkeypatch.setattr(models, "load", lambda *names, **options: Loaded())
    shared = Models(ALL)
    shared.get("smollm2")
    assert shared.name_of(Loaded.info) == "smollm2"


def test_the_recorded_runs_have_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab()
    for slug in ("next-token", "sampling", "effects", "beam"):
        assert lab.name_of(lab.lesson(slug)) in lab.models.names


def test_one_who_leaves_ends_the_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the times any more: the machine is free within a round."""
    import threading

    from decoding.models import timing

    ended = threading.Event()

    def forward_times(model: Any, progress: Any, fresh: bool) -> Any:
        try:
            while True:
                progress(0.5)
                ended.wait(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(timing, "forward_times", forward_times)
    lab = Lab(Models(("toy:lecture",)))
    told = lab.measure("toy:lecture")
    assert next(told) == 0 and next(done for done in told if done) == 0.5 and not ended.is_set()
    told.close()  # type: ignore[attr-defined]
    assert ended.wait(60) and lab.times == {}


def test_what_was_measured_is_kept_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from decoding.models import timing

    monkeypatch.setattr(timing, "forward_times", lambda model, progress, fresh: progress(1.0) or "times")
    lab = Lab(Models(("toy:lecture",)))
    assert list(lab.measure("toy:lecture"))[-1] == 1 and lab.times == {"toy:lecture": "times"}

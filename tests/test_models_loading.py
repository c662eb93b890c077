"""Loading a model by name on either engine: what it says of itself, what it tells meanwhile, and what it refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from decoding.errors import UserError
from decoding.models import load, text_model
from tests.conftest import NEEDS_ONNX


@pytest.fixture(params=["torch", pytest.param("onnx", marks=NEEDS_ONNX)])
def engine(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each engine, with a cache folder of the test's own."""
    monkeypatch.setenv("DECODING_LAB_CACHE", str(tmp_path / "cache"))
    return str(request.param)


@pytest.fixture
def copied(tiny_llama_folder: Path, tmp_path: Path) -> Path:
    """A copy of the model's folder that a test may harm."""
    return shutil.copytree(tiny_llama_folder, tmp_path / "copy")


def test_info_and_ends(tiny_llama: Any, tiny_llama_folder: Path) -> None:
    info = tiny_llama.info
    assert (info.name, info.context_length, info.device, info.dtype) == (str(tiny_llama_folder), 256, "cpu", "float32")
    assert info.vocab_size == 360 and tiny_llama.end_ids == {2} and tiny_llama.has_chat_template


@pytest.mark.parametrize(("ends", "expected"), [(0, {0}), ([2, 0], {0, 2}), (None, {2})])
def test_end_ids_are_those_of_generate(
    make_module: Callable[..., Any], tiny_tokenizer: Any, tmp_path: Path, engine: str, ends: Any, expected: set[int]
) -> None:
    module = make_module("llama", head_dim=16)
    module.generation_config.eos_token_id = ends
    module.save_pretrained(tmp_path)
    tiny_tokenizer.save_pretrained(tmp_path)
    assert load(str(tmp_path), device="cpu", engine=engine).end_ids == expected


@pytest.mark.parametrize("key", ["max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length"])
def test_context_length_under_other_names(key: str) -> None:
    assert text_model.context_length(SimpleNamespace(**{key: 512})) == 512
    assert text_model.context_length(SimpleNamespace(**{key: None})) == text_model.NO_LIMIT


def test_progress_is_told(tiny_llama_folder: Path, engine: str) -> None:
    """Of a graph that is built, too, once; the building is told from 0 to 1 and in order."""
    loading = [("loading", 0.0), ("loading", 0.5), ("loading", 1.0)]
    for first in (True, False):
        told: list[tuple[str, float]] = []
        load(str(tiny_llama_folder), "cpu", progress=lambda *news, told=told: told.append(news), engine=engine)
        building = [done for stage, done in told if stage == "building"]
        assert told[len(building) :] == loading and bool(building) == (first and engine == "onnx")
        assert building == sorted(building) and (not building or (building[0], building[-1]) == (0, 1))


def test_the_tokenizer_is_as_its_file_says(copied: Path, tiny_torch: Any, engine: str) -> None:
    """transformers 5 rebuilds a GPT2Tokenizer from its class, without the digits rule of SmolLM2's file."""
    config = json.loads((copied / "tokenizer_config.json").read_text())
    (copied / "tokenizer_config.json").write_text(json.dumps(config | {"tokenizer_class": "GPT2Tokenizer"}))
    model = load(str(copied), device="cpu", engine=engine)
    for text in ("a\n\n1. b", "x  12", "The sky"):
        assert model.encode(text) == tiny_torch.encode(text)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("./nowhere", r"There is no folder './nowhere', and it is not a hub id either: check the name"),
        ("/nowhere/at/all", r"There is no folder"),
        ("a/b/c", r"There is no folder"),
        ("", r"There is no folder|no config.json"),
        ("two words", r"There is no folder"),
    ],
)
def test_names_that_are_nothing(name: str, says: str, engine: str) -> None:
    with pytest.raises(UserError, match=says):
        load(name, device="cpu", engine=engine)


def test_a_folder_that_is_no_model(tmp_path: Path, engine: str) -> None:
    with pytest.raises(UserError, match=r"has no config.json, so it holds no model: choose one"):
        load(str(tmp_path), device="cpu", engine=engine)


@pytest.mark.parametrize(
    ("file", "data"),
    [
        ("config.json", b"{"),
        ("config.json", b'{"model_type": "no-such-type"}'),
        ("model.safetensors", b"\x00" * 100),
        ("model.safetensors", None),
        ("tokenizer.json", b"{}"),
    ],
)
def test_a_broken_folder_is_one_sentence(copied: Path, engine: str, file: str, data: bytes | None) -> None:
    (copied / file).unlink() if data is None else (copied / file).write_bytes(data)
    with pytest.raises(UserError, match=r"could not be loaded \(.+\): check its files") as caught:
        load(str(copied), device="cpu", engine=engine)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_missing_weights_are_not_made_up(copied: Path, engine: str) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(copied / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, copied / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lack 1 tensors, model\.layers\.1\.mlp\.up_proj\.weight for one"):
        load(str(copied), device="cpu", engine=engine)


def test_the_hub_out_of_reach(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    from huggingface_hub import HfApi

    def unreachable(*_: Any, **options: Any) -> None:
        assert options["timeout"] <= 10
        raise ConnectionError("no route")

    monkeypatch.setattr(HfApi, "model_info", unreachable)
    with pytest.raises(UserError, match=r"'someone/model' is no folder here, and the Hugging Face hub does not answer"):
        load("someone/model", device="cpu", engine=engine)


def test_a_hub_id_that_is_nothing(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    import httpx
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    response = httpx.Response(404, request=httpx.Request("GET", "https://example.org"))
    for error, says in ((RepositoryNotFoundError, "hub has no model 'a/b'"), (GatedRepoError, "log in with")):

        def answer(*_: Any, error: Any = error, **__: Any) -> None:
            raise error("no", response=response)

        monkeypatch.setattr(HfApi, "model_info", answer)
        with pytest.raises(UserError, match=says):
            load("a/b", device="cpu", engine=engine)

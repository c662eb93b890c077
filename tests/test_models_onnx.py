"""The ONNX engine's own matters: blocks of few bits, the cache of graphs, the choice of an engine, its errors."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from decoding import api, codec
from decoding.errors import UserError
from decoding.models import bundled, engines, load, onnx, onnx_build
from decoding.models.architecture import Architecture
from decoding.models.blocks import Blocks, quantize, read_gguf
from decoding.models.onnx_file import DATA, GRAPH

pytestmark = pytest.mark.skipif(not engines.is_installed(), reason="onnxruntime or onnx is not installed")

ROWS = torch.arange(3, 43).view(2, 20)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    root = tmp_path / "cache"
    monkeypatch.setenv("DECODING_LAB_CACHE", str(root))
    return root


@pytest.fixture(scope="session")
def folder(tiny_llama_folder: Path) -> Path:
    """A Llama that the graph takes, saved."""
    return tiny_llama_folder


@pytest.fixture(scope="session")
def gguf(make_module: Callable[..., Any], write_gguf: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same kind of Llama as a GGUF file in Q4_1 and Q8_0. Its head size is hidden size / heads, as Llama's."""
    path: Path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    module = make_module("llama", hidden_size=64, head_dim=16, intermediate_size=96)
    write_gguf(module, path, quantized=True)
    return path


def logits(model: Any) -> torch.Tensor:
    return model.forward(ROWS, model.new_cache(2)).logits


def graphs(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.is_dir())


# --- blocks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [4, 8])
def test_rounding_is_to_the_nearest_code(bits: int) -> None:
    weight = np.random.default_rng(0).normal(size=(6, 96)).astype(np.float32)
    weight[2, :32] = 0.25  # a block of equal weights
    weight[3, :32] = 0
    blocks = quantize(weight, bits)
    assert blocks.shape == weight.shape and blocks.packed().shape == (6, 3, 32 * bits // 8)
    error = np.abs(blocks.matrix() - weight).reshape(6, 3, 32).max(-1)
    assert (error <= blocks.scales / 2 + 1e-6).all()
    assert (error[2, 0], error[3, 0]) == pytest.approx((0, 0), abs=1e-7)
    assert blocks.codes.max() < 2**bits


def test_four_bits_are_packed_low_half_first() -> None:
    codes = np.arange(32, dtype=np.uint8).reshape(1, 1, 32) % 16
    packed = Blocks(4, codes, np.ones((1, 1), np.float32)).packed()
    assert packed.ravel().tolist() == [(2 * i + 1) % 16 * 16 + 2 * i % 16 for i in range(16)]


def test_a_gguf_file_is_read_as_it_is(gguf: Path) -> None:
    """Blocks of Q4_1 and Q8_0 give the weights that the file's own library gives."""
    from safetensors.numpy import load_file

    expected = load_file(bundled.ensure(gguf) / "model.safetensors")
    found = read_gguf(gguf)
    assert found.keys() == expected.keys()
    kinds = set()
    for name, weight in found.items():
        kinds.add((weight.bits, weight.offsets is not None) if isinstance(weight, Blocks) else None)
        matrix = weight.matrix() if isinstance(weight, Blocks) else weight
        np.testing.assert_allclose(matrix, expected[name], atol=1e-6, rtol=0, err_msg=name)
    assert kinds == {(4, True), (8, False), None}


def test_the_graph_holds_the_files_own_blocks(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rounding its inputs, the graph of blocks gives float32's logits."""
    monkeypatch.setitem(onnx_build.ACCURACY, "int4", 0)
    reference: Any = bundled.load(gguf, "small", "cpu")
    model: Any = bundled.load(gguf, "small", "cpu", engine="onnx", precision="int4")
    assert (model.info.engine, model.info.dtype) == ("onnx", "int4")
    torch.testing.assert_close(logits(model), logits(reference).clone(), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("own", [True, False], ids=["the file's blocks", "rounded here"])
def test_int4_agrees_with_itself(gguf: Path, folder: Path, own: bool) -> None:
    """As it runs, with its inputs rounded: in parts as in one pass, a row alone as in a batch, a tree as its paths."""
    model: Any = bundled.load(gguf, "small", "cpu", engine="onnx", precision="int4") if own else None
    model = model or load(str(folder), device="cpu", precision="int4")
    whole, cache = logits(model), model.new_cache(2)
    parts = [model.forward(part, cache).logits for part in torch.tensor_split(ROWS, [1, 2, 9], dim=1)]
    torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-4, rtol=0)
    alone = torch.cat([model.forward(row[None], model.new_cache()).logits for row in ROWS])
    torch.testing.assert_close(alone, whole, atol=1e-4, rtol=0)
    cache = model.new_cache()
    model.forward(ROWS[:1, :4], cache)
    mask = torch.zeros(1, 1, 2, 6)
    mask[..., 0, 5] = mask[..., 1, 4] = torch.finfo(torch.float32).min
    tree = model.forward(torch.tensor([[9, 30]]), cache, torch.tensor([[4, 4]]), mask).logits[0]
    for node, token in enumerate((9, 30)):
        path = torch.cat([ROWS[:1, :4], torch.tensor([[token]])], 1)
        torch.testing.assert_close(tree[node], model.forward(path, model.new_cache()).logits[0, -1], atol=1e-4, rtol=0)


@pytest.mark.parametrize("options", [{}, {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": False}])
def test_without_a_gguf_weights_are_rounded_here(
    make_module: Callable[..., Any], tiny_tokenizer: Any, tmp_path: Path, options: Any, monkeypatch: Any
) -> None:
    """The graph's weights are the rounded ones: torch with those gives the same logits."""
    monkeypatch.setitem(onnx_build.ACCURACY, "int4", 0)
    module = make_module("llama", head_dim=16, **options)
    module.save_pretrained(tmp_path)
    tiny_tokenizer.save_pretrained(tmp_path)
    model: Any = load(str(tmp_path), device="cpu", precision="int4")
    assert model.info.dtype == "int4 (quantised here)"
    for name, weight in module.named_parameters():
        if weight.ndim == 2:
            bits = 4 if name.endswith("_proj.weight") else 8
            weight.data = torch.from_numpy(quantize(weight.numpy(), bits).matrix())
    torch.testing.assert_close(logits(model), module(ROWS).logits, atol=1e-4, rtol=1e-5)


def test_matrices_that_do_not_split_stay_as_they_are(
    make_module: Callable[..., Any], tiny_tokenizer: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setitem(onnx_build.ACCURACY, "int4", 0)
    module = make_module("llama", hidden_size=40, head_dim=16)  # 40 is no multiple of 32, 64 is
    module.save_pretrained(tmp_path)
    tiny_tokenizer.save_pretrained(tmp_path)
    model: Any = load(str(tmp_path), device="cpu", precision="int4")
    for layer in module.model.layers:
        for part in (layer.self_attn.o_proj, layer.mlp.down_proj):
            part.weight.data = torch.from_numpy(quantize(part.weight.numpy(), 4).matrix())
    torch.testing.assert_close(logits(model), module(ROWS).logits, atol=1e-4, rtol=1e-5)


# --- the cache of graphs ---------------------------------------------------------------------------


def test_a_graph_is_built_once_and_told(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, float]] = []
    first: Any = load(str(folder), device="cpu", progress=lambda stage, done: told.append((stage, done)))
    building = [done for stage, done in told if stage == "building"]
    assert building[0] == 0 and building[-1] == 1 and building == sorted(building)
    assert told[-1] == ("loading", 1.0)
    assert len(graphs(cache)) == 1
    monkeypatch.setattr(onnx_build, "write", None)  # would fail if it were called
    told.clear()
    second: Any = load(str(folder), device="cpu", progress=lambda stage, done: told.append((stage, done)))
    assert {stage for stage, _ in told} == {"loading"}
    assert torch.equal(logits(first), logits(second))


def test_what_a_graph_depends_on(folder: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = itertools.count(1)

    def built() -> None:
        load(str(folder), device="cpu")
        assert len(graphs(cache)) == next(counts)

    built()
    monkeypatch.setattr(onnx_build, "VERSION", onnx_build.VERSION + 1)
    built()
    monkeypatch.setattr("onnxruntime.__version__", "0")
    built()
    other = shutil.copytree(folder, tmp_path / "other")
    weights = bytearray((other / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (other / "model.safetensors").write_bytes(weights)
    folder = other
    built()
    load(str(folder), device="cpu", precision="int4")
    assert len(graphs(cache)) == next(counts)


@pytest.mark.parametrize("harm", ["graph cut", "weights cut", "weights gone", "manifest gone", "folder empty"])
def test_a_broken_graph_is_built_again(folder: Path, cache: Path, harm: str) -> None:
    whole = logits(load(str(folder), device="cpu"))
    (name,) = graphs(cache)
    file = cache / name / (GRAPH if "graph" in harm else bundled.MANIFEST if "manifest" in harm else DATA)
    if harm == "folder empty":
        shutil.rmtree(cache / name)
        (cache / name).mkdir()
    elif "gone" in harm:
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-100])
    assert torch.equal(logits(load(str(folder), device="cpu")), whole)
    assert graphs(cache) == [name] and bundled.is_whole(cache / name)


def test_a_graph_that_passes_the_check_and_does_not_load_is_built_again(folder: Path, cache: Path) -> None:
    whole = logits(load(str(folder), device="cpu"))
    (path,) = (cache / name for name in graphs(cache))
    (path / GRAPH).write_bytes(b"nothing that a runtime reads")
    marks = {file.name: bundled.fingerprint(file) for file in (path / GRAPH, path / DATA)}
    (path / bundled.MANIFEST).write_text(json.dumps({"format": 1, "files": marks}))
    assert bundled.is_whole(path)
    assert torch.equal(logits(load(str(folder), device="cpu")), whole)


def test_a_build_that_dies_leaves_nothing(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(path: Path, *_: Any) -> None:
        (path / DATA).write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(onnx_build, "write", dies)
        with pytest.raises(KeyboardInterrupt):
            load(str(folder), device="cpu")
    assert graphs(cache) == []
    assert logits(load(str(folder), device="cpu")).isfinite().all()


KILLER = """
import os, signal, sys
from decoding.models import huggingface, load, onnx_build

folder, root = sys.argv[1:]
huggingface.load(folder, "x", "cpu")  # so that every fork has the libraries

def build(number):
    left = number

    def event(*_):
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def moved(*paths):
        event()
        replace(*paths)
        event()

    replace, os.replace = os.replace, moved
    os.environ["DECODING_LAB_CACHE"] = f"{root}/{number}"
    load(folder, device="cpu", engine="onnx", progress=event)

number, status = -1, signal.SIGKILL
while status == signal.SIGKILL:
    number += 1
    if (child := os.fork()) == 0:
        try:
            build(number)
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
print(status, number)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_build_killed_at_any_moment_leaves_nothing_broken(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By SIGKILL, at each of its events in turn: news told, and just before and after the folder gets its name.

    The next start has the model, and nothing that takes room is left beside it.
    """
    script = [sys.executable, "-c", KILLER, str(folder), str(cache)]
    done = subprocess.run(script, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    status, count = map(int, done.stdout.split())
    assert status == 0 and count >= 10, done.stderr
    whole = logits(load(str(folder), device="cpu", engine="torch")).clone()
    for number in range(count):
        root = cache / str(number)
        monkeypatch.setenv("DECODING_LAB_CACHE", str(root))
        assert graphs(root) or not number, "the build had begun"
        torch.testing.assert_close(logits(load(str(folder), device="cpu", engine="onnx")), whole, atol=1e-4, rtol=0)
        name, *left = graphs(root)
        assert bundled.is_whole(root / name)
        assert not [path for each in left for path in (root / each).rglob("*") if path.is_file()]


def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(onnx_build, "write", full)
    with pytest.raises(UserError, match=r"\(No space left on device\): set DECODING_LAB_CACHE to a folder with 1.5 GB"):
        load(str(folder), device="cpu")


# --- which engine ----------------------------------------------------------------------------------


def engine(folder: Path, **options: Any) -> tuple[str, str]:
    info = load(str(folder), **{"device": "cpu", **options}).info
    return info.engine, info.dtype


@pytest.fixture(scope="module")
def unfit(make_module: Callable[..., Any], tiny_tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama whose heads of 8 are none of the operator's sizes."""
    path: Path = tmp_path_factory.mktemp("llama8")
    make_module("llama").save_pretrained(path)
    tiny_tokenizer.save_pretrained(path)
    return path


def test_the_engine_chosen(folder: Path, unfit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine(folder) == engine(folder, dtype="float32") == engine(folder, engine="onnx") == ("onnx", "float32")
    assert engine(folder, engine="torch") == engine(folder, engine="torch", precision="float32") == ("torch", "float32")
    assert engine(folder, dtype="bfloat16") == ("torch", "bfloat16")
    assert engine(unfit) == ("torch", "float32")
    monkeypatch.setattr(engines, "is_installed", lambda: False)
    assert engine(folder) == ("torch", "float32")
    with pytest.raises(UserError, match="ONNX Runtime is not installed here: pip install onnxruntime onnx"):
        engine(folder, engine="onnx")


def test_on_cuda_torch_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(engines.huggingface, "resolve", lambda *_: (torch.device("cuda"), torch.bfloat16))
    monkeypatch.setattr(engines.huggingface, "load", lambda *arguments: asked.append(arguments))
    engines.load(str(folder), "x")
    assert asked == [(str(folder), "x", "auto", "auto", None)]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"engine": "jax"}, r"engine is 'jax'; it must be one of auto, torch, onnx"),
        ({"precision": "int2"}, r"precision is 'int2'; it must be one of auto, float32, int4"),
        ({"engine": "onnx", "dtype": "bfloat16"}, r"used here on the CPU in float32 or int4, not with device 'cpu'"),
        ({"precision": "int4", "dtype": "float16"}, r"not with device 'cpu' and dtype 'float16'"),
        ({"engine": "torch", "precision": "int4"}, r"Precision int4 is there on the engine onnx only"),
    ],
)
def test_what_does_not_go_together(folder: Path, options: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        engine(folder, **options)


@pytest.mark.parametrize("options", [{"engine": "onnx"}, {"precision": "int4"}])
def test_an_architecture_that_is_not_known(unfit: Path, options: dict[str, str]) -> None:
    with pytest.raises(UserError, match=r"runs models like Llama, Qwen 2 and Qwen 3 here, and '.+' is none"):
        engine(unfit, **options)


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "mistral"},
        {"hidden_act": "gelu"},
        {"head_dim": 24},
        {"use_sliding_window": True},
        {"layer_types": ["full_attention", "sliding_attention"]},
        {"rope_parameters": {"rope_type": "dynamic"}},
        {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}},
        {"quantization_config": {"bits": 4}},
    ],
)
def test_what_the_graph_is_not(make_module: Callable[..., Any], change: dict[str, Any]) -> None:
    plain = make_module("llama", head_dim=16).config.to_dict()
    assert Architecture.of(SimpleNamespace(**plain)) is not None
    assert Architecture.of(SimpleNamespace(**(plain | change))) is None


def test_the_header_says_what_ran(folder: Path) -> None:
    model = load(str(folder), device="cpu")
    trace = api.decode(model, "The sky", api.greedy_settings(2))
    again = codec.loads(codec.dumps(trace))
    assert again == trace and again.header.model.engine == "onnx" and "onnxruntime" in again.header.versions


def test_a_mask_cannot_show_what_comes_later(folder: Path) -> None:
    model: Any = load(str(folder), device="cpu")
    with pytest.raises(AssertionError, match="lets a token see a later one"):
        model.forward(ROWS[:1, :3], model.new_cache(), None, torch.zeros(1, 1, 3, 3))


def test_buffers_grow_by_doubling(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx, "FIRST_CAPACITY", 4)
    model: Any = load(str(folder), device="cpu")
    cache, sizes = model.new_cache(), []
    for _ in range(20):
        model.forward(torch.tensor([[5]]), cache)
        sizes.append(cache.buffer.shape[-2])
    assert sizes == [4] * 4 + [8] * 4 + [16] * 8 + [32] * 4

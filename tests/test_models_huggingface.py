"""The transformers adapter's own matters: sliding windows, half precision, devices, and what importing it loads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from decoding.errors import UserError
from decoding.models import huggingface, load
from decoding.models.huggingface import HuggingFaceModel
from decoding.sampling import Uniforms, sample
from decoding.settings import greedy_settings


def test_a_cache_that_forgets_is_not_cut(make_module: Callable[..., Any], tiny_tokenizer: Any) -> None:
    model = HuggingFaceModel(make_module("mistral", sliding_window=4), tiny_tokenizer, "mistral")
    cache = model.new_cache()
    model.forward(torch.tensor([model.encode("The sky is blue")]), cache)
    for cut in (lambda: cache.crop(2), lambda: cache.keep([0, 2])):
        with pytest.raises(UserError, match=r"drops old tokens, so it cannot be cut back: choose a model"):
            cut()
    cache.reorder([0, 0])
    assert model.forward(torch.tensor([[5], [5]]), cache).logits.shape[0] == 2


def test_half_precision_gives_float32_logits(tiny_llama_folder: Path) -> None:
    model: Any = load(str(tiny_llama_folder), device="cpu", dtype="bfloat16")
    mask = torch.zeros(1, 1, 2, 2)
    mask[..., 0, 1] = torch.finfo(torch.float32).min
    out = model.forward(torch.tensor([[5, 6]]), model.new_cache(), torch.tensor([[0, 1]]), mask)
    assert model.info.dtype == "bfloat16" and out.logits.dtype == torch.float32
    assert out.logits.isfinite().all()
    torch.testing.assert_close(
        out.logits, model.forward(torch.tensor([[5, 6]]), model.new_cache()).logits, atol=0.2, rtol=0
    )


@pytest.mark.parametrize(
    ("device", "dtype", "says"),
    [
        ("gpu", "auto", r"device is 'gpu'; it must be one of auto, cpu, cuda, cuda:N, mps"),
        ("cuda:x", "auto", r"device is 'cuda:x'"),
        ("cuda:99", "auto", r"device is 'cuda:99'; this machine has \d+ of kind cuda: use auto or cpu"),
        ("cpu", "int8", r"dtype is 'int8'; it must be one of auto, float32, bfloat16, float16"),
        ("cpu", "torch.float32", r"dtype is 'torch.float32'"),
    ],
)
def test_devices_and_dtypes_that_cannot_be_had(tiny_llama_folder: Path, device: str, dtype: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        load(str(tiny_llama_folder), device=device, dtype=dtype)


def test_auto_prefers_cuda_and_bfloat16_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert huggingface.resolve("auto", "auto") == (torch.device("cpu"), torch.float32)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for native, dtype in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda native=native, **_: native)
        assert huggingface.resolve("auto", "auto") == (torch.device("cuda"), dtype)
    assert huggingface.resolve("cuda:1", "float32") == (torch.device("cuda:1"), torch.float32)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_agrees_with_the_cpu(tiny_llama_folder: Path, tiny_torch: Any) -> None:
    model: Any = load(str(tiny_llama_folder), dtype="float32")
    assert model.info.device.startswith("cuda")
    ids = model.encode("The sky is")
    told = [[step.token.id for step in sample(m, ids, greedy_settings(24), Uniforms(0))] for m in (model, tiny_torch)]
    assert told[0] == told[1]


def test_importing_the_front_loads_no_torch() -> None:
    check = "import sys, decoding.models; assert not {'torch', 'transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True, cwd=Path(__file__).parents[1])

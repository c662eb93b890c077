"""How many threads torch takes during a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from decoding.models import threads

TWO = 2


@pytest.fixture(autouse=True)
def two_threads() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(TWO)
    yield
    torch.set_num_threads(before)


def on(engine: str) -> Any:
    return SimpleNamespace(info=SimpleNamespace(engine=engine))


@pytest.mark.parametrize(
    ("engines", "expected"),
    [(("onnx",), 1), (("onnx", "onnx"), 1), (("onnx", None), 1), (("torch",), TWO), (("onnx", "torch"), TWO)],
)
def test_torch_takes_one_thread_where_nothing_runs_on_it(engines: tuple[str | None, ...], expected: int) -> None:
    with threads.during_run(*(None if engine is None else on(engine) for engine in engines)):
        assert torch.get_num_threads() == expected
    assert torch.get_num_threads() == TWO


def test_the_count_comes_back_after_an_error() -> None:
    with pytest.raises(KeyError), threads.during_run(on("onnx")):
        raise KeyError
    assert torch.get_num_threads() == TWO

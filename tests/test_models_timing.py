"""Times of a forward: what is kept, where, and what lies between the counts measured. No time is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from decoding.models import load, machine, timing
from decoding.trace import ModelInfo
from decoding.values import ForwardTime, ForwardTimes
from tests.conftest import NEEDS_ONNX

INFO = ModelInfo("x", 100, 256, "cpu", "float32")


def times(*pairs: tuple[int, float]) -> ForwardTimes:
    found = tuple(ForwardTime(*pair) for pair in pairs)
    return ForwardTimes(INFO, "here", 2, 100, 5_000_000, 1e9, found, found)


def test_between_and_beyond_what_was_measured() -> None:
    found = times((1, 10.0), (2, 12.0), (4, 16.0), (8, 40.0))
    expected = {1: 10, 2: 12, 3: 14, 4: 16, 5: 22, 8: 40, 10: 52}
    assert {count: found.of_tokens(count) for count in expected} == pytest.approx(expected)
    assert found.of_rows(3) == 14
    assert times((1, 10.0)).of_tokens(7) == 10


def test_the_floor_is_bytes_over_bandwidth() -> None:
    assert times((1, 10.0)).floor == pytest.approx(5.0)  # 5 MB at 1 GB/s: 5 ms


def test_the_slope_is_that_of_the_last_half() -> None:
    """By least squares: the ridge is where as many tokens at that slope take T(1)."""
    found = times((1, 10.0), (2, 10.0), (8, 20.0), (12, 27.0), (16, 36.0))
    assert found.slope == pytest.approx(2.0) and found.ridge == pytest.approx(5.0)
    assert times((1, 10.0), (16, 10.0), (32, 9.0)).ridge == 32  # never
    assert times((1, 10.0), (16, 160.0), (32, 400.0)).ridge == 1
    assert (times((1, 10.0)).slope, times((1, 10.0)).ridge) == (0, 1)


@pytest.mark.parametrize(("size", "cores"), [(2**16, 3), (2**23, 1), (2**23, 3)])
def test_the_reader_reads_as_many_bytes_as_asked(size: int, cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    ones = np.ones
    monkeypatch.setattr(timing, "cores", lambda: cores)
    monkeypatch.setattr(timing.np, "ones", lambda count, kind: ones(count, kind).view(Noted))
    monkeypatch.setattr(Noted, "noted", read)
    with timing._reader("cpu", size) as read_all:
        read_all()
    assert sum(read) == size and len(read) == (cores if size > timing.SMALL_BYTES else 1)


class Noted(np.ndarray):
    """An array that notes how many bytes of it are looked at for their maximum."""

    noted: ClassVar[list[int]] = []

    def max(self, *args: Any, **options: Any) -> Any:
        self.noted.append(self.nbytes)
        return super().max(*args, **options)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Few counts, a small array, a cache of the test's own."""
    monkeypatch.setenv("DECODING_LAB_CACHE", str(tmp_path))
    monkeypatch.setattr(timing.measure, "__defaults__", ((1, 3), (1, 2), 1e-3))
    return tmp_path


def test_times_are_measured_once(tiny_llama: Any, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    found = timing.forward_times(tiny_llama, told.append)
    assert told == sorted(told) and told[-1] == 1
    assert [each.count for each in found.tokens] == [1, 3] and [each.count for each in found.rows] == [1, 2]
    assert all(each.milliseconds >= found.floor > 0 for each in found.tokens + found.rows)
    monkeypatch.setattr(timing, "measure", None)
    assert timing.forward_times(tiny_llama) == found
    with pytest.raises(TypeError):
        timing.forward_times(tiny_llama, fresh=True)


def test_a_broken_file_is_measured_again(tiny_llama: Any, short: Path) -> None:
    timing.forward_times(tiny_llama)
    (path,) = short.glob("times-*.json")
    path.write_text('{"model": 3}')
    assert isinstance(timing.forward_times(tiny_llama), ForwardTimes)
    assert path.read_text() != '{"model": 3}'


def test_a_cache_that_cannot_be_written_is_no_fault(tiny_llama: Any, short: Path, monkeypatch: Any) -> None:
    file = short / "file"
    file.write_text("")
    monkeypatch.setenv("DECODING_LAB_CACHE", str(file))
    assert timing.forward_times(tiny_llama).tokens


def test_every_forward_is_of_the_counts_asked_for(tiny_llama: Any, short: Path, monkeypatch: Any) -> None:
    """After CONTEXT tokens, every time."""
    seen: list[tuple[int, ...]] = []
    forward = tiny_llama.forward

    def watched(tokens: torch.Tensor, cache: Any, **options: Any) -> Any:
        seen.append((*tokens.shape, cache.length))
        return forward(tokens, cache, **options)

    monkeypatch.setattr(tiny_llama, "forward", watched)
    timing.measure(tiny_llama, lambda done: None, (1, 3), (2,), 1e-9)
    filling = (1, timing.CONTEXT, 0)
    each_round = [(1, 1, timing.CONTEXT), (1, 3, timing.CONTEXT), (2, 1, timing.CONTEXT)]
    assert seen == [filling, filling, *each_round * timing.LEAST_ROUNDS]


@pytest.mark.parametrize("engine", ["torch", pytest.param("onnx", marks=NEEDS_ONNX)])
@pytest.mark.parametrize(("tied", "left_out"), [(True, False), (False, True)])
def test_an_embedding_is_not_read_whole(
    make_module: Any, tiny_tokenizer: Any, short: Path, engine: str, tied: bool, left_out: bool
) -> None:
    """Every other weight is; ONNX Runtime's count leaves out the norms, which are vectors."""
    module = make_module("llama", head_dim=16, tie_word_embeddings=tied)
    module.save_pretrained(short / "model")
    tiny_tokenizer.save_pretrained(short / "model")
    model: Any = load(str(short / "model"), device="cpu", engine=engine)
    counted = [weight.nbytes for weight in module.parameters() if engine == "torch" or weight.ndim == 2]
    assert model.weight_bytes == sum(counted) - left_out * module.get_input_embeddings().weight.nbytes


@pytest.mark.parametrize(("text", "expected"), [("max 100000", 4), ("150000 100000", 1), ("50000 100000", 1), ("", 4)])
def test_cores_are_at_most_what_is_granted(text: str, expected: int, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(machine, "CPU_QUOTA", tmp_path / "cpu.max")
    assert machine.cores() == expected
    monkeypatch.setattr(machine, "CPU_QUOTA", tmp_path / "none")
    assert machine.cores() == 4


def test_the_processor_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Fast CPU @ 2 GHz\n")
    monkeypatch.setattr(machine, "CPU_INFO", tmp_path / "cpuinfo")
    assert machine.processor() == "Fast CPU @ 2 GHz"
    monkeypatch.setattr(machine, "CPU_INFO", tmp_path / "none")
    assert machine.processor()

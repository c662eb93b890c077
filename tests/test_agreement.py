"""Our greedy is transformers' greedy, token for token, in float32, on the same ids.

Where two logits lie within 1e-4 of each other rounding decides, and a difference there is let pass.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import prompts
from benchmarks.agreement import NEAR_TIE, difference, main, ours, theirs
from decoding.errors import UserError

PROMPTS = [
    *prompts.OWN,
    *("", " ", "\n", "a", "😊", "我很好", "1 2 3 4 5 6 7 8 9", "<|im_end|>", "the the the the the the"),
    *(f"she said it {count} times" for count in range(8)),
    *("the sea " * count for count in range(1, 8)),
]


def disagreement(model: Any, prompt: str, template: str, tokens: int) -> tuple[int, float] | None:
    """Where the two differ, and by how much; None where they do not, or only at a near-tie."""
    found = difference(model, model.encode(prompt, template), tokens)
    return None if found is None or found[1] < NEAR_TIE else found


@pytest.mark.parametrize("template", ["raw", "chat"])
def test_a_small_random_model_agrees(tiny_torch: Any, template: str) -> None:
    faults = {prompt: found for prompt in PROMPTS if (found := disagreement(tiny_torch, prompt, template, 12))}
    assert not faults


def test_both_end_on_the_same_end_tokens(make_module: Any, tiny_tokenizer: Any) -> None:
    """The model's end tokens are made two that greedy says on the way: both sides stop at the first of them."""
    from decoding.models.huggingface import HuggingFaceModel

    module = make_module("llama")
    pairs = [[first, second] for first in range(3, 9) for second in (40, 90)]
    said = [ours(HuggingFaceModel(module, tiny_tokenizer, "endless"), ids, 12) for ids in pairs]
    ends = {said[0][5], said[1][7]}
    module.generation_config.eos_token_id = sorted(ends)
    model = HuggingFaceModel(module, tiny_tokenizer, "ending")
    assert model.end_ids == ends
    for ids, whole in zip(pairs, said, strict=True):
        stops = [at for at, id in enumerate(whole) if id in ends]
        expected = whole[: stops[0] + 1] if stops else whole
        assert ours(model, ids, 12) == theirs(model, ids, 12) == expected
    assert len(ours(model, pairs[0], 12)) < 12


@pytest.mark.parametrize("family", ["gpt2", "qwen2"])
def test_other_families_agree(make_module: Any, tiny_tokenizer: Any, family: str) -> None:
    from decoding.models.huggingface import HuggingFaceModel

    model = HuggingFaceModel(make_module(family), tiny_tokenizer, family)
    assert not [prompt for prompt in PROMPTS[::4] if disagreement(model, prompt, "raw", 12)]


@pytest.mark.parametrize(("template", "which"), [("raw", slice(0, 3)), ("chat", slice(4, 7))])
def test_the_bundled_model_agrees(bundled_torch: Any, template: str, which: slice) -> None:
    assert bundled_torch.info.dtype == "float32"
    faults = [p for p in prompts.OWN[which] if disagreement(bundled_torch, p, template, 12)]
    assert not faults


# --- the check itself ------------------------------------------------------------------------------


def test_a_difference_is_found(tiny_torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `generate` that errs at its third token is caught there, with the gap; a shorter one too."""
    ids = tiny_torch.encode("the sky over the sea")
    right = ours(tiny_torch, ids, 8)
    other = next(id for id in range(100, 200) if id != right[2])
    wrong = [*right[:2], other, *right[3:]]
    monkeypatch.setattr("benchmarks.agreement.theirs", lambda model, ids, tokens: wrong)
    found = difference(tiny_torch, ids, 8)
    assert found is not None and found[0] == 2 and found[1] > NEAR_TIE
    monkeypatch.setattr("benchmarks.agreement.theirs", lambda model, ids, tokens: right[:-1])
    assert difference(tiny_torch, ids, 8) == (len(right) - 1, float("inf"))


def test_the_benchmark_runs(tiny_llama_folder: Path, tmp_path: Path, capsys: Any) -> None:
    """Both kinds of line, evenly spaced, a prompt too long left out; 0 where all agree."""
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"turns": ["the sky", "x"]}\n{"prompt": "the sea"}\n\n{"prompt": "' + "1" * 5000 + '"}\n')
    asked = ["--model", str(tiny_llama_folder), "--prompts", str(file), "--tokens", "4", "--device", "cpu"]
    assert main(asked) == 0
    assert "3 prompts, 4 new tokens each: 2 same, 0 near-tie, 0 different, 1 too long" in capsys.readouterr().out
    assert main([*asked, "--chat", "--count", "1"]) == 0
    assert main(["--model", str(tiny_llama_folder), "--prompts", str(tmp_path / "none")]) == 2


@pytest.mark.parametrize("text", ["", "x", "[]", '{"turns": []}', '{"question": 1}', '{"prompt": 3}', "\xff\n"])
def test_a_file_without_prompts_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match="JSON lines"):
        prompts.read(file)


def test_prompts_are_evenly_spaced(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text("".join(f'{{"prompt": "{number}"}}\n' for number in range(10)))
    assert prompts.read(file, 5) == ["0", "2", "4", "6", "8"] and len(prompts.read(file, 50)) == 10
    assert prompts.read(None) == list(prompts.OWN)


def test_speed_is_told(tiny_llama_folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of the other benchmark, on a small model: every contest and sampler has its row, at any speed."""
    from benchmarks import speed

    threads = torch.get_num_threads()
    monkeypatch.setattr(speed, "DECIDE_REPEATS", 1)
    asked = ["--model", str(tiny_llama_folder), "--tokens", "3", "--rounds", "1", "--count", "2", "--device", "cpu"]
    assert speed.main([*asked, "--threads", str(threads)]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("greedy", "top-p .95", "argmax", "binary", "alias", "gumbel", "Memory"))
    assert speed.main(["--model", "toy:none"]) == 2

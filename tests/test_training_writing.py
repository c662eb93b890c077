"""How a corpus is written: every row's draw at its own temperature, and answers at theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from decoding.training import corpus
from decoding.training.recipe import Writing

FALSE_ALARM = 1e-6
TIE = 1e-3
"""Logits this close may fall either way: one text is read at once, and token by token."""


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def nucleus(logits: Tensor, temperature: float, top_p: float) -> Tensor:
    """The law by definition: the fewest likeliest tokens that hold `top_p`, of softmax(logits / T)."""
    probs, order = (logits.double() / temperature).softmax(-1).sort(descending=True)
    kept = probs * (probs.cumsum(-1) - probs < top_p)
    return torch.zeros_like(probs).scatter(0, order, kept / kept.sum())


# --- the draw --------------------------------------------------------------------------------------


def test_rows_at_temperature_0_take_the_likeliest() -> None:
    """Whatever the seed and whatever rows stand beside them, those draw."""
    logits = torch.randn(400, 30, generator=seeded(1))
    temperatures = torch.arange(400) % 2 * 1.5
    cold, warm = temperatures == 0, temperatures > 0
    found = [corpus.draw(logits, temperatures, 0.9, seeded(seed)) for seed in range(3)]
    for chosen in found:
        assert torch.equal(chosen[cold], logits[cold].argmax(-1))
        assert not torch.equal(chosen[warm], logits[warm].argmax(-1))
    assert not torch.equal(found[0][warm], found[1][warm])
    assert torch.equal(corpus.draw(logits, torch.zeros(400), 0.9, seeded(0)), logits.argmax(-1))


@pytest.mark.parametrize("top_p", [0.8, 1.0])
def test_each_row_of_a_mixed_batch_follows_its_own_law(top_p: float) -> None:
    """Chi-square of 50,000 draws each, at four temperatures and from two laws, in one batch."""
    laws = 0.7 * torch.randn(2, 9, generator=seeded(2))
    kinds = [(law, temperature) for law in (0, 1) for temperature in (0.0, 0.5, 1.0, 2.0)]
    count = 50_000
    rows = torch.arange(len(kinds) * count) % len(kinds)
    logits = laws[torch.tensor([law for law, _ in kinds])][rows]
    temperatures = torch.tensor([temperature for _, temperature in kinds])[rows]
    chosen = corpus.draw(logits, temperatures, top_p, seeded(3))
    seen = set()
    for kind, (law, temperature) in enumerate(kinds):
        found = chosen[rows == kind].bincount(minlength=9)
        if temperature == 0:
            assert int(found[laws[law].argmax()]) == count
            continue
        expected = nucleus(laws[law], temperature, top_p)
        kept = expected > 0
        seen.add(int(kept.sum()))
        assert int(found[~kept].sum()) == 0
        tested = stats.chisquare(found[kept].numpy(), (expected / expected.sum() * count)[kept].numpy())
        assert tested.pvalue > FALSE_ALARM / 6
    assert len(seen) > 1 or top_p == 1, "the nuclei differ"


# --- the text --------------------------------------------------------------------------------------


HOW = Writing(rows=16, length=70, temperature=1.2, top_p=0.9, seed=3)


def write(model: Any, ends: frozenset[int], **options: Any) -> corpus.Part:
    """A part as the model writes it when these are its end tokens."""
    how = Writing(**{**{name: getattr(HOW, name) for name in HOW.__slots__}, **options})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model), "end_ids", property(lambda self: ends))
        return corpus.write_part(model, how, 0)


@pytest.fixture(scope="module")
def ends() -> frozenset[int]:
    """A tenth of all tokens, so that turns are short."""
    return frozenset(range(4, 360, 10))


def turns_of(model: Any, ids: np.ndarray, ends: frozenset[int]) -> np.ndarray:
    """Of each token after the start: how many end tokens came before it there."""
    after = ids[:, len(corpus.start_ids(model)) :]
    ended: np.ndarray = np.isin(after, sorted(ends)).cumsum(1)
    return np.pad(ended[:, :-1], ((0, 0), (1, 0)))


def gaps(model: Any, ids: np.ndarray) -> np.ndarray:
    """Of each token after the start: how far its logit is below the highest, by one forward over all."""
    start, tokens = len(corpus.start_ids(model)), torch.from_numpy(ids.astype(np.int64))
    logits = model.forward(tokens[:, :-1], model.new_cache(len(ids))).logits[:, start - 1 :]
    own = logits.gather(-1, tokens[:, start:, None])[..., 0]
    found: np.ndarray = (logits.amax(-1) - own).numpy()
    return found


def test_answers_at_temperature_0_are_what_the_model_finds_likeliest(tiny_torch: Any, ends: frozenset[int]) -> None:
    """Every token after an odd number of end tokens, the one that ends the answer too; questions are drawn."""
    ids = write(tiny_torch, ends, answers=0.0).ids
    turns, below = turns_of(tiny_torch, ids, ends), gaps(tiny_torch, ids)
    answers = turns % 2 == 1
    assert answers.sum() > 100 and (~answers).sum() > 100 and (turns >= 2).any()
    assert (below[answers] < TIE).all()
    assert (below[~answers] > TIE).mean() > 0.1
    later = (turns > 0) & ~answers
    assert (below[later] > TIE).any(), "the turn after an answer is drawn again"


def test_a_turn_is_counted_for_its_own_row_alone(tiny_torch: Any, ends: frozenset[int]) -> None:
    """Texts are in different turns at one place."""
    turns = turns_of(tiny_torch, write(tiny_torch, ends, answers=0.0).ids, ends)
    assert any(set(column % 2) == {0, 1} for column in turns.T)


def test_the_first_turn_is_a_question_whatever_the_start_holds(tiny_torch: Any) -> None:
    """End tokens in what all texts share count for nothing: else all would be an answer."""
    start = frozenset(corpus.start_ids(tiny_torch)[:1])
    ids = write(tiny_torch, start, answers=0.0).ids
    first = turns_of(tiny_torch, ids, start) == 0
    assert first[:, 0].all() and (gaps(tiny_torch, ids)[first] > TIE).any()


def test_without_end_tokens_all_is_one_question(tiny_torch: Any) -> None:
    """A model may have none: nothing breaks, and nothing is an answer."""
    same = write(tiny_torch, frozenset(), answers=0.0).ids
    assert np.array_equal(same, write(tiny_torch, frozenset(), answers=HOW.temperature).ids)


def test_answers_like_questions_change_nothing(tiny_torch: Any, ends: frozenset[int]) -> None:
    """At the same temperature the text does not depend on where turns end; at another it does."""
    plain, alike, cold = (
        write(tiny_torch, of, answers=answers).ids
        for of, answers in ((frozenset({359}), 1.2), (ends, 1.2), (ends, 0.0))
    )
    assert np.array_equal(plain, alike) and not np.array_equal(alike, cold)


# --- the command -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["-0.1", "0.001", "5.1", "nan", "inf"])
def test_a_temperature_out_of_range_is_told_in_a_sentence(tmp_path: Any, capsys: Any, value: str) -> None:
    """Before the model is looked for."""
    from decoding.__main__ import main

    assert main(["train-draft", "--model", "nowhere", "--folder", str(tmp_path / "new"), "--answers", value]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "answers is" in err and "0, 0.01 … 5" in err
    assert not (tmp_path / "new").exists()


def test_the_temperature_asked_for_is_the_one_written_with(
    tiny_llama_folder: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from decoding.__main__ import main

    asked: list[Writing] = []
    monkeypatch.setattr(corpus, "write", lambda model, folder, how, tokens: asked.append(how) or [])
    monkeypatch.setattr(corpus, "gather", lambda folder: None)
    usual = ["train-draft", "--model", str(tiny_llama_folder), "--folder", str(tmp_path), "--stage", "corpus"]
    assert main([*usual, "--answers", "0", "--seed", "4", "--length", "40"]) == 0 and main(usual) == 0
    assert [(how.answers, how.seed, how.length) for how in asked] == [(0.0, 4, 40), (1.0, 0, 256)]


@pytest.mark.parametrize("length, told", [("24", "32 tokens long, and 24"), ("0", "length is 0"), ("9999", "is 9999")])
def test_another_length_than_that_of_the_texts_there_or_none_that_can_be_is_told_in_a_sentence(
    tiny_llama_folder: Any, tmp_path: Any, capsys: Any, length: str, told: str
) -> None:
    from decoding.__main__ import main

    usual = ["train-draft", "--model", str(tiny_llama_folder), "--folder", str(tmp_path), "--stage", "corpus"]
    assert main([*usual, "--tokens", "6144", "--length", "32"]) == 0
    capsys.readouterr()
    assert main([*usual, "--length", length]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and told in err
    assert np.load(tmp_path / "corpus.npy").shape == (192, 32)

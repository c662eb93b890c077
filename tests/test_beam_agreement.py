"""Our beam search is transformers' beam search: the same texts and the same scores, in float32, on the same ids.

Where the two differ on purpose, a test says in what and why.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LogitsProcessorList, TopKLogitsWarper

from benchmarks import beam as benchmark
from benchmarks import prompts
from benchmarks.beam import NEAR_TIE, Difference, difference, main, ours, theirs
from decoding.beam.candidates import count_possible
from decoding.beam.results import results
from decoding.beam.search import beam, law_of
from decoding.models.huggingface import HuggingFaceModel
from decoding.sampling import Uniforms, logits_after
from decoding.settings import BeamSettings, beam_settings
from decoding.trace import BeamStep

PROMPTS = ["the sky over the sea", "she said it", "1 2 3 4", "naïve 我", "a", "def forward(self"]
EARLY: tuple[Any, ...] = (False, True, "never")
PENALTIES = (-1.0, 0.0, 1.0, 2.5)


def faults(model: Any, settings: BeamSettings, texts: list[str] = PROMPTS) -> list[Any]:
    """Differences that rounding cannot explain."""
    found = [(text, difference(model, model.encode(text), settings)) for text in texts]
    return [(text, settings, fault) for text, fault in found if fault is not None and fault.kind == "different"]


def asked(width: int, **options: Any) -> BeamSettings:
    return BeamSettings(num_beams=width, num_return_sequences=width, **{"max_new_tokens": 10, **options})


@pytest.fixture(scope="module")
def ending_model(make_module: Callable[..., Any], tiny_tokenizer: Any) -> Any:
    """A random Llama that ends texts often: at any of the four tokens its beams take most."""
    module = make_module("llama")
    model = HuggingFaceModel(module, tiny_tokenizer, "endless")
    taken: Counter[int] = Counter()
    for text in PROMPTS:
        _, steps = ours(model, model.encode(text), asked(4))
        taken.update(n.token.id for s in steps if isinstance(s, BeamStep) for n in s.nodes if n.fate == "kept")
    module.generation_config.eos_token_id = [id for id, _ in taken.most_common(4)]
    return HuggingFaceModel(module, tiny_tokenizer, "ending")


# --- the same ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", range(1, 9))
def test_every_width_agrees(tiny_torch: Any, width: int) -> None:
    assert not [fault for penalty in (0.0, 1.0) for fault in faults(tiny_torch, asked(width, length_penalty=penalty))]


@pytest.mark.parametrize("early", EARLY)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_texts_that_end_agree(ending_model: Any, early: Any, penalty: float) -> None:
    """All three ways to stop, four end tokens, penalties that favour short and long texts."""
    for width in (2, 3, 5):
        assert not faults(ending_model, asked(width, length_penalty=penalty, early_stopping=early), PROMPTS[:4])


def test_all_endings_occur_in_what_agrees(ending_model: Any) -> None:
    """The test above is no empty one: searches end for each reason, texts are held and displaced."""
    endings: Counter[Any] = Counter()
    rules: Counter[str] = Counter()
    for text, early, penalty in itertools.product(PROMPTS[:4], EARLY, (-1.0, 1.0, 2.5)):
        settings = asked(3, length_penalty=penalty, early_stopping=early)
        _, steps = ours(ending_model, ending_model.encode(text), settings)
        beams = [step for step in steps if isinstance(step, BeamStep)]
        endings[beams[-1].ending] += 1
        rules.update(node.rule.rule for step in beams for node in step.nodes if node.rule)
    assert min(endings[why] for why in ("full", "hopeless", "length")) > 0
    assert min(rules[rule] for rule in ("width", "late_end", "worse_finish")) > 0


@pytest.mark.parametrize("family", ["gpt2", "qwen2"])
def test_other_families_agree(make_module: Callable[..., Any], tiny_tokenizer: Any, family: str) -> None:
    model = HuggingFaceModel(make_module(family), tiny_tokenizer, family)
    assert not faults(model, asked(4))


@pytest.mark.parametrize(("text", "width", "template"), [(prompts.OWN[0], 4, "raw"), (prompts.OWN[5], 2, "chat")])
def test_the_bundled_model_agrees(bundled_torch: Any, text: str, width: int, template: str) -> None:
    ids = bundled_torch.encode(text, template)
    found = difference(bundled_torch, ids, asked(width, max_new_tokens=8))
    assert found is None or found.kind == "near-tie"


# --- different on purpose ---------------------------------------------------------------------------


def test_one_beam_that_never_gives_up_is_no_greedy(make_module: Callable[..., Any], tiny_tokenizer: Any) -> None:
    """`generate` takes num_beams=1 for greedy, whatever early_stopping says; here it is a beam of one.

    With "never" the open beam is credited with its score at the greatest length, so the search goes on after the
    end that greedy stops at, and returns a text at least as good.
    """
    module = make_module("llama")
    model = HuggingFaceModel(module, tiny_tokenizer, "endless")
    ids = model.encode("the sky over the sea")
    plain, _ = ours(model, ids, asked(1))
    module.generation_config.eos_token_id = plain[0][0][2]
    model = HuggingFaceModel(module, tiny_tokenizer, "ending")
    never = asked(1, early_stopping="never", length_penalty=2.0)
    ((text, score),), steps = ours(model, ids, never)
    ((greedy, at_first),) = theirs(model, ids, never)
    assert len(steps) > len(greedy) and score >= at_first - NEAR_TIE
    assert difference(model, ids, asked(1, length_penalty=2.0)) is None
    assert text[: len(greedy) - 1] == greedy[:-1]


def generated(model: Any, ids: list[int], **options: Any) -> Any:
    """What `generate` makes of these ids, with its scores."""
    prompt = torch.tensor([ids])
    kept = {"return_dict_in_generate": True, "output_scores": True, "pad_token_id": 0}
    return model.module.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, **kept, **options)


def test_processors_leave_a_law(tiny_torch: Any) -> None:
    """transformers applies them to log-probabilities and does not normalise again: what it sums is none.

    A penalty of 1.3 lowers every repeated token, none goes up, and the shares sum to less than 1. Ours act on
    the logits, as in sampling, and what is left is a law.
    """
    ids = tiny_torch.encode("the sky over the sea")
    made = generated(tiny_torch, ids, num_beams=3, max_new_tokens=1, repetition_penalty=1.3)
    assert bool((made.scores[0].exp().sum(-1) < 1 - 1e-3).all())
    asked = beam_settings(repetition_penalty=1.3, top_k=5, temperature=0.7)
    law = law_of(logits_after(tiny_torch, ids)[None], torch.tensor([ids]), asked, 0)
    assert float(law.exp().sum()) == pytest.approx(1, abs=1e-6) and count_possible(law) == 5


def test_fewer_texts_than_beams_are_returned_as_they_are(tiny_torch: Any) -> None:
    """Where fewer extensions are possible than there are beams, `generate` fills up with some of score -inf or -1e9.

    Ours has fewer beams then, and returns only texts that the law allows.
    """
    ids = tiny_torch.encode("the")
    only = beam_settings(num_beams=4, num_return_sequences=4, max_new_tokens=1, top_k=2)
    assert len(results(list(beam(tiny_torch, ids, only, Uniforms(0))), only)) == 2
    narrow = LogitsProcessorList([TopKLogitsWarper(2)])
    made = generated(tiny_torch, ids, num_beams=4, num_return_sequences=4, max_new_tokens=1, logits_processor=narrow)
    assert sorted((made.sequences_scores < -1e6).tolist()) == [False, False, True, True]


# --- the check itself -------------------------------------------------------------------------------


def test_a_difference_is_found(tiny_torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another token, another score, a text missing, and texts in another order."""
    ids = tiny_torch.encode("the sky over the sea")
    right, steps = ours(tiny_torch, ids, asked(3))
    narrowest = min(benchmark.margins(steps))
    assert narrowest > 0
    (first, score), *others = right
    wrong = [
        [((*first[:-1], first[-1] + 1), score), *others],
        [(first, score + 0.01), *others],
        right[:2],
        [right[1], right[0], right[2]],
    ]
    for number, texts in zip((1, 1, 3, 1), wrong, strict=True):
        monkeypatch.setattr(benchmark, "theirs", lambda model, ids, settings, texts=texts: texts)
        found = difference(tiny_torch, ids, asked(3))
        assert found == Difference(number, narrowest)
    assert (Difference(1, 1e-5).kind, Difference(1, 1e-3).kind) == ("near-tie", "different")


def test_the_benchmark_runs(tiny_llama_folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    common = ["--model", str(tiny_llama_folder), "--device", "cpu", "--tokens", "3"]
    pairs = ["agreement", *common, "--count", "2", "--widths", "1", "2", "--penalties", "0", "1"]
    assert main(pairs) == 0
    assert "3 new tokens: 8 same, 0 near-tie, 0 different" in capsys.readouterr().out
    assert main(["speed", *common, "--count", "2", "--rounds", "1", "--threads", str(torch.get_num_threads())]) == 0
    assert "4 beams" in capsys.readouterr().out
    assert main(["agreement", *common, "--prompts", "/nowhere"]) == 2
    assert main([*pairs, "--longest", "1"]) == 2
    assert "No prompt has at most 1 tokens" in capsys.readouterr().err
    monkeypatch.setattr(benchmark, "theirs", lambda model, ids, settings: [((1,), 0.0)])
    assert main(pairs) == 1
    assert "different at text 1" in capsys.readouterr().out

"""Text that a target writes, and drafts distilled on it."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from decoding import api
from decoding.errors import UserError
from decoding.models import draft_file, drafts
from decoding.models.draft_file import Draft
from decoding.models.huggingface import HuggingFaceModel
from decoding.models.reduction import Reduction
from decoding.training import command, corpus, distil
from decoding.training.recipe import Recipe, Writing

HOW = Writing(rows=6, length=24, seed=5)
FALSE_ALARM = 1e-6


@pytest.fixture(scope="module")
def written(tiny_torch: Any, tmp_path_factory: Any) -> Path:
    """Four batches of short texts."""
    folder: Path = tmp_path_factory.mktemp("corpus")
    assert list(corpus.write(tiny_torch, folder, HOW, 500)) == [144, 288, 432, 576]
    return folder


# --- the corpus ------------------------------------------------------------------------------------


def test_a_text_starts_where_the_users_words_would(tiny_torch: Any) -> None:
    assert tiny_torch.decode(corpus.start_ids(tiny_torch)) == "<|im_start|>user\n"


def test_the_draw_follows_the_nucleus() -> None:
    """Chi-square of 200,000 draws against the law cut at top-p; a false alarm once in a million."""
    probs = torch.tensor([0.02, 0.3, 0.03, 0.25, 0.2, 0.1, 0.1])
    nucleus = torch.tensor([0, 0.3, 0, 0.25, 0.2, 0.1, 0.1])  # the fewest that hold 0.9
    count = 200_000
    generator = torch.Generator().manual_seed(1)
    found = corpus.draw(probs.log().expand(count, -1), torch.ones(count), 0.9, generator).bincount(minlength=7)
    assert found[0] == found[2] == 0
    kept = nucleus > 0
    expected = (nucleus.double() / nucleus.double().sum() * count)[kept].numpy()
    assert stats.chisquare(found[kept].numpy(), expected).pvalue > FALSE_ALARM


def test_a_corpus_is_the_same_again_and_goes_on(tiny_torch: Any, written: Path, tmp_path: Path) -> None:
    list(corpus.write(tiny_torch, tmp_path, HOW, 200))
    (tmp_path / "part-00000.npz").unlink()
    list(corpus.write(tiny_torch, tmp_path, HOW, 500))
    (texts, laws), (expected, own) = corpus.read(tmp_path), corpus.read(written)
    assert np.array_equal(texts, expected)
    assert np.array_equal(laws.ids, own.ids) and np.array_equal(laws.probs, own.probs)


def test_recorded_laws_are_the_models_own(tiny_torch: Any, written: Path) -> None:
    """Of every token after the start: the 32 likeliest, with their probabilities at temperature 1."""
    texts, laws = corpus.read(written)
    ids = torch.from_numpy(texts[:3].astype(np.int64))
    whole = tiny_torch.forward(ids, tiny_torch.new_cache(3)).logits.softmax(-1)
    start = len(corpus.start_ids(tiny_torch))
    found = whole.gather(-1, torch.from_numpy(laws.ids[:3].astype(np.int64))).numpy()
    assert np.abs(found - laws.probs[:3])[:, start - 1 : -1].max() < 1e-3
    assert (laws.probs[:, : start - 1] == 0).all() and (laws.probs[:, -1] == 0).all()
    assert np.allclose(laws.probs[:3, start:-1, 0], whole.amax(-1)[:, start:-1].numpy(), atol=1e-3)


def test_laws_are_found_again_from_the_ids_alone(tiny_torch: Any, written: Path, tmp_path: Path) -> None:
    assert list(corpus.read_again(tiny_torch, corpus.gather(written), tmp_path)) == [576]
    (texts, laws), (same, own) = corpus.read(tmp_path), corpus.read(written)
    assert np.array_equal(texts, same)
    assert np.abs(laws.probs.astype(float) - own.probs).max() < 2e-3


@pytest.mark.parametrize("what", [b"", b"no array", None])
def test_a_file_that_is_no_corpus(tiny_torch: Any, tmp_path: Path, what: bytes | None) -> None:
    path = tmp_path / "corpus.npy"
    if what is None:
        np.save(path, np.full((2, 8), 60_000, np.uint16))  # ids beyond the vocabulary
    else:
        path.write_bytes(what)
    with pytest.raises(UserError, match="holds no corpus"):
        list(corpus.read_again(tiny_torch, path, tmp_path / "new"))
    with pytest.raises(UserError, match="holds no corpus"):
        corpus.read(tmp_path / "nothing")


def test_the_manner_of_writing_is_kept_with_each_batch(tiny_torch: Any, written: Path, tmp_path: Path) -> None:
    """Those of one manner are told together; what was read again has none."""
    everyday, cold = replace(HOW, rows=2), replace(HOW, rows=2, answers=0.0)
    list(corpus.write(tiny_torch, tmp_path, everyday, 96))
    list(corpus.write(tiny_torch, tmp_path, cold, 144))
    assert corpus.manners(tmp_path) == [
        {"tokens": 96, "writing": asdict(everyday)},
        {"tokens": 48, "writing": asdict(cold)},
    ]
    list(corpus.read_again(tiny_torch, corpus.gather(tmp_path), tmp_path / "again"))
    assert corpus.manners(tmp_path / "again") == [{"tokens": 144, "writing": None}]


def test_ids_beyond_16_bits_take_32() -> None:
    """A vocabulary of more than 65,536 tokens, as of Qwen and Llama 3: no id is cut."""
    assert corpus.id_type(2**16) is np.uint16 and corpus.id_type(2**16 + 1) is np.uint32
    logits = torch.zeros(1, 2**16 + 50)
    logits[0, -1] = 20
    assert corpus.top_of_law(logits)[0][0, 0] == 2**16 + 49


def test_a_large_vocabulary_is_written_read_again_and_learnt(
    make_module: Any, tiny_tokenizer: Any, tmp_path: Path
) -> None:
    module = make_module("llama", vocab_size=2**16 + 400, num_hidden_layers=1)
    model: Any = HuggingFaceModel(module, tiny_tokenizer, "large")
    list(corpus.write(model, tmp_path, replace(HOW, rows=12), 100))
    texts, laws = corpus.read(tmp_path)
    assert texts.dtype == laws.ids.dtype == np.uint32 and laws.ids.max() >= 2**16
    assert list(corpus.read_again(model, corpus.gather(tmp_path), tmp_path / "again")) == [texts.size]
    again = corpus.read(tmp_path / "again")
    assert np.array_equal(again[0], texts) and again[1].ids.dtype == np.uint32
    run = distil.Distillation(module, texts, laws, recipe(layers=(0,), vocabulary=600, steps=2), tmp_path)
    list(run.run())
    draft_file.save(run.draft("large"), tmp_path / "draft")
    said = draft_file.read(tmp_path / "draft").vocabulary
    assert np.array_equal(said, run.vocabulary) and said.max() >= 2**16
    np.save(tmp_path / "halves.npy", texts.astype(np.uint16))
    with pytest.raises(UserError, match="holds no corpus"):
        list(corpus.read_again(model, tmp_path / "halves.npy", tmp_path / "third"))


@pytest.mark.parametrize("name", ["part-00001.npz", distil.CHECKPOINT])
@pytest.mark.parametrize("left", [0, 100])
def test_a_damaged_file_is_named(tiny_torch: Any, written: Path, tmp_path: Path, name: str, left: int) -> None:
    shutil.copytree(written, tmp_path / "new")
    texts, laws = corpus.read(written)
    list(distil.Distillation(tiny_torch.module, texts, laws, recipe(steps=1), tmp_path / "new").run())
    damaged = tmp_path / "new" / name
    damaged.write_bytes(damaged.read_bytes()[:left])
    with pytest.raises(UserError, match=f"{name} could not be read"):
        texts, laws = corpus.read(tmp_path / "new")
        distil.Distillation(tiny_torch.module, texts, laws, recipe(steps=1), tmp_path / "new")


def test_a_file_in_place_of_the_folder_is_told(tiny_llama_folder: Path, tmp_path: Path, capsys: Any) -> None:
    from decoding.__main__ import main

    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        assert main(["train-draft", "--model", str(tiny_llama_folder), "--folder", str(path)]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and f"Nothing can be kept in the folder {path}" in err
    assert (tmp_path / "file").read_text() == "mine"


# --- the distillation ------------------------------------------------------------------------------


def recipe(**options: Any) -> Recipe:
    usual = {"layers": (0, 2), "vocabulary": 300, "steps": 12, "rows": 4, "rate": 3e-3, "warmup": 2}
    return Recipe(**(usual | {"held_out": 4, "every": 4, "bfloat16": False} | options))


def test_all_layers_and_tokens_are_the_target(tiny_torch: Any, written: Path, tmp_path: Path) -> None:
    """A student with everything of the target accepts everything: sum min(p, q) is the mass recorded."""
    texts, laws = corpus.read(written)
    every = recipe(layers=(0, 1, 2), vocabulary=tiny_torch.info.vocab_size)
    score = distil.Distillation(tiny_torch.module, texts, laws, every, tmp_path).score()
    held = laws.probs[-4:]
    mass = held[held[..., 0] > 0].astype(np.float32).sum(-1).mean()
    assert score.acceptance == pytest.approx(float(mass), abs=1e-3)
    assert score.agreement > 0.99  # ties of the halves recorded may fall the other way


def test_training_lowers_the_loss_and_leaves_the_target_alone(tiny_torch: Any, written: Path, tmp_path: Path) -> None:
    texts, laws = corpus.read(written)
    before = {name: weight.clone() for name, weight in tiny_torch.module.state_dict().items()}
    run = distil.Distillation(tiny_torch.module, texts, laws, recipe(steps=40), tmp_path)
    first = run.score()
    lines = list(run.run())
    assert [line["step"] for line in lines] == list(range(4, 41, 4))
    assert lines[-1]["loss"] < first.loss - 0.05 and lines[-1]["acceptance"] > first.acceptance
    assert all(torch.equal(weight, before[name]) for name, weight in tiny_torch.module.state_dict().items())
    logged = [json.loads(line) for line in (tmp_path / distil.LOG).read_text().splitlines()]
    assert logged == lines


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(tiny_torch: Any, written: Path, tmp_path: Path) -> None:
    texts, laws = corpus.read(written)
    whole = distil.Distillation(tiny_torch.module, texts, laws, recipe(), tmp_path / "whole")
    *_, expected = whole.run()
    stopped = distil.Distillation(tiny_torch.module, texts, laws, recipe(), tmp_path / "parts")
    next(stopped.run())
    *_, found = distil.Distillation(tiny_torch.module, texts, laws, recipe(), tmp_path / "parts").run()
    assert found["step"] == expected["step"] == 12
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-5)


def test_a_checkpoint_of_another_recipe_is_refused(tiny_torch: Any, written: Path, tmp_path: Path) -> None:
    """More steps are no other recipe; other layers would be taken for those trained."""
    texts, laws = corpus.read(written)
    list(distil.Distillation(tiny_torch.module, texts, laws, recipe(steps=4), tmp_path).run())
    assert distil.Distillation(tiny_torch.module, texts, laws, recipe(steps=8), tmp_path).step == 4
    for other in ({"layers": (0, 1)}, {"vocabulary": 200}, {"seed": 9}):
        with pytest.raises(UserError, match="another recipe"):
            distil.Distillation(tiny_torch.module, texts, laws, recipe(**other), tmp_path)


def test_a_checkpoint_of_another_corpus_or_start_is_refused(tiny_torch: Any, written: Path, tmp_path: Path) -> None:
    """Where one draft goes on from another, the one it began with is told in draft.json: it must be the same again."""
    texts, laws = corpus.read(written)
    first = distil.Distillation(tiny_torch.module, texts, laws, recipe(steps=4), tmp_path / "first")
    list(first.run())
    start, folder = first.draft("tiny"), tmp_path / "second"
    list(distil.Distillation(tiny_torch.module, texts, laws, recipe(steps=4), folder, start).run())
    assert distil.Distillation(tiny_torch.module, texts, laws, recipe(steps=4), folder, start).step == 4
    norm = {"model.norm.weight": start.weights["model.norm.weight"] + 1}
    for other in (None, replace(start, weights={**start.weights, **norm})):
        with pytest.raises(UserError, match="another recipe"):
            distil.Distillation(tiny_torch.module, texts, laws, recipe(steps=4), folder, other)
    changed = texts.copy()
    changed[0, -1] ^= 1
    with pytest.raises(UserError, match="another recipe or corpus"):
        distil.Distillation(tiny_torch.module, changed, laws, recipe(steps=4), folder, start)


def test_a_corpus_too_small_is_refused(tiny_torch: Any, written: Path, tmp_path: Path) -> None:
    texts, laws = corpus.read(written)
    with pytest.raises(UserError, match="24 texts; at least 25"):
        distil.Distillation(tiny_torch.module, texts, laws, recipe(rows=21), tmp_path)


def test_the_frequent_tokens_hold_the_most_probability() -> None:
    laws = corpus.Laws(np.array([[[7, 3], [3, 9]]], np.uint16), np.array([[[0.6, 0.4], [0.5, 0.2]]], np.float16))
    assert distil.frequent_tokens(laws, 2).tolist() == [3, 7]  # 0.9, 0.6, and 0.2


def test_a_draft_trained_before_is_gone_on_from(tiny_torch: Any, written: Path, tmp_path: Path) -> None:
    """What comes out of one run is what the next begins with, tokens and all."""
    texts, laws = corpus.read(written)
    first = distil.Distillation(tiny_torch.module, texts, laws, recipe(), tmp_path / "first")
    list(first.run())
    start = first.draft("tiny")
    again = distil.Distillation(tiny_torch.module, texts, laws, recipe(layers=(0, 1)), tmp_path / "second", start)
    assert again.score() == first.score() and again.step == 0
    with pytest.raises(UserError, match="has 2 layers, and 3"):
        distil.Distillation(tiny_torch.module, texts, laws, recipe(layers=(0, 1, 2)), tmp_path / "third", start)


def test_a_draft_gone_on_from_can_learn_to_say_more_tokens(tiny_torch: Any, written: Path, tmp_path: Path) -> None:
    """Its weights are kept, the tokens are chosen anew from the corpus at hand."""
    texts, laws = corpus.read(written)
    first = distil.Distillation(tiny_torch.module, texts, laws, recipe(), tmp_path / "first")
    list(first.run())
    more = recipe(vocabulary=350)
    wider = distil.Distillation(tiny_torch.module, texts, laws, more, tmp_path / "wider", first.draft("tiny"))
    read = corpus.Laws(laws.ids[:-4], laws.probs[:-4])  # those held out do not choose
    assert np.array_equal(wider.vocabulary, distil.frequent_tokens(read, 350))
    learnt = wider.student.learnt()
    assert all(torch.equal(learnt[name], weight) for name, weight in first.student.learnt().items())


# --- the draft -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def draft(tiny_torch: Any, written: Path, tmp_path_factory: Any) -> Draft:
    texts, laws = corpus.read(written)
    run = distil.Distillation(tiny_torch.module, texts, laws, recipe(), tmp_path_factory.mktemp("run"))
    list(run.run())
    return run.draft("tiny")


def test_a_draft_survives_its_folder(draft: Draft, tmp_path: Path) -> None:
    draft_file.save(draft, tmp_path, steps=12)
    again = draft_file.read(tmp_path)
    assert (again.target, again.layers, again.vocab_size) == (draft.target, draft.layers, draft.vocab_size)
    assert again.lead == draft.lead
    assert np.array_equal(again.vocabulary, draft.vocabulary)
    assert set(again.weights) == set(draft.weights)
    for name, weight in draft.weights.items():
        assert np.allclose(again.weights[name], weight, atol=1e-3)
    assert draft_file.is_draft(tmp_path) and json.loads((tmp_path / "draft.json").read_text())["steps"] == 12


def test_a_draft_keeps_what_all_its_texts_begin_with(draft: Draft, tiny_torch: Any) -> None:
    assert list(draft.lead) == corpus.start_ids(tiny_torch)


@pytest.mark.parametrize("spoil", ["draft.json", "vocabulary.npy", "layer-1.safetensors"])
def test_a_broken_draft_is_told_in_a_sentence(draft: Draft, tmp_path: Path, spoil: str) -> None:
    draft_file.save(draft, tmp_path)
    (tmp_path / spoil).write_bytes(b"{")
    with pytest.raises(UserError, match="could not be read"):
        draft_file.read(tmp_path)


@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_a_draft_on_an_engine_says_what_its_student_says(
    draft: Draft, tiny_llama_folder: Path, engine: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """On ONNX Runtime its matrices are rounded to 8 bits: close in probability, not equal."""
    monkeypatch.setenv("DECODING_LAB_CACHE", str(tmp_path / "cache"))
    target: Any = api.load(str(tiny_llama_folder), device="cpu", engine=engine)
    model: Any = drafts.reduced(target, Reduction.trained(draft))
    ids = torch.tensor([[1, 40, 77, 120, 5, 9]])
    logits = model.forward(ids, model.new_cache()).logits
    said = torch.from_numpy(draft.vocabulary)
    unsaid = torch.ones(model.info.vocab_size, dtype=torch.bool).index_fill(0, said, False)
    assert unsaid.any() and (logits[..., unsaid] == -torch.inf).all()
    student = _student(
        draft, target if engine == "torch" else api.load(str(tiny_llama_folder), device="cpu", engine="torch")
    )
    expected = student(ids, torch.ones_like(ids, dtype=torch.bool)).softmax(-1)
    tolerance = 1e-5 if engine == "torch" else 0.1
    assert (logits[0][:, said].softmax(-1) - expected).abs().max() < tolerance
    assert model.info.vocab_size == target.info.vocab_size and "trained draft" in model.info.name
    assert model.lead == draft.lead


def _student(draft: Draft, target: Any) -> distil.Student:
    student = distil.Student(target.module, (0, 2), draft.vocabulary)
    student.learn(draft.weights)
    return student.eval().requires_grad_(False)


@pytest.mark.parametrize("engine", ["torch", "onnx"])
def test_early_exit_is_the_targets_own_first_layers(tiny_llama_folder: Path, engine: str) -> None:
    target: Any = api.load(str(tiny_llama_folder), device="cpu", engine=engine)
    reference: Any = api.load(str(tiny_llama_folder), device="cpu", engine="torch")
    ids = torch.tensor([[1, 40, 77, 120, 5, 9]])
    states = reference.module(ids, output_hidden_states=True).hidden_states[2]
    expected = reference.module.lm_head(reference.module.model.norm(states))
    model = drafts.load("early", target, exit_layer=2)
    assert torch.allclose(model.forward(ids, model.new_cache()).logits, expected, atol=1e-4)
    cache = model.new_cache()
    model.forward(ids[:, :4], cache)
    assert torch.allclose(model.forward(ids[:, 4:], cache).logits, expected[:, 4:], atol=1e-4)


def test_a_draft_of_another_target_is_refused(draft: Draft, tiny_llama_folder: Path, tmp_path: Path) -> None:
    other = Draft(draft.target, draft.layers, draft.vocab_size, draft.vocabulary, draft.weights, -draft.sample)
    target: Any = api.load(str(tiny_llama_folder), device="cpu", engine="torch")
    with pytest.raises(UserError, match="trained for tiny"):
        drafts.reduced(target, Reduction.trained(other))


@pytest.mark.parametrize("layer", [0, 3, 99])
def test_an_exit_that_is_not_there(tiny_torch: Any, layer: int) -> None:
    with pytest.raises(UserError, match="exit_layer"):
        drafts.load("early", tiny_torch, layer)


def test_models_that_no_draft_can_be_made_of(tiny_torch: Any) -> None:
    with pytest.raises(UserError, match="is a table"):
        drafts.load("early", api.load("toy:lecture"))
    with pytest.raises(UserError, match="No trained draft"):
        drafts.load("trained", tiny_torch)


# --- the command -----------------------------------------------------------------------------------


def test_the_command_trains_a_draft_from_nothing(tiny_llama_folder: Path, tmp_path: Path, capsys: Any) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    command.add(parser)
    words = ["--model", str(tiny_llama_folder), "--folder", str(tmp_path), "--tokens", "100", "--vocabulary", "300"]
    assert command.run(parser.parse_args([*words, "--layers", "0,2", "--steps", "2", "--rows", "4"])) == 0
    assert draft_file.is_draft(tmp_path / "draft") and (tmp_path / corpus.IDS).is_file()
    target = api.load(str(tiny_llama_folder), device="cpu", engine="torch")
    model = api.load_draft(target, api.speculative_settings(drafter=str(tmp_path / "draft")))
    assert model is not None and model.info.vocab_size == target.info.vocab_size
    assert "draft:" in capsys.readouterr().err
    assert len(draft_file.read(tmp_path / "draft").vocabulary) == 300


@pytest.mark.parametrize(("asked", "found"), [([], 300), (["--vocabulary", "280"], 280)])
def test_a_draft_gone_on_from_keeps_its_tokens_unless_another_number_is_asked_for(
    tiny_torch: Any, tiny_llama_folder: Path, tmp_path: Path, asked: list[str], found: int
) -> None:
    import argparse

    list(corpus.write(tiny_torch, tmp_path / "new", Writing(rows=32, length=16), 512))
    texts, laws = corpus.read(tmp_path / "new")
    first = distil.Distillation(tiny_torch.module, texts, laws, recipe(), tmp_path / "first")
    draft_file.save(first.draft("tiny"), tmp_path / "start")
    parser = argparse.ArgumentParser()
    command.add(parser)
    words = ["--model", str(tiny_llama_folder), "--folder", str(tmp_path / "new"), "--stage", "distil", *asked]
    words += ["--init", str(tmp_path / "start"), "--layers", "0,2", "--steps", "1", "--rows", "4"]
    assert command.run(parser.parse_args(words)) == 0
    said = draft_file.read(tmp_path / "new" / "draft").vocabulary
    held = Recipe(()).held_out
    read = corpus.Laws(laws.ids[:-held], laws.probs[:-held])
    assert np.array_equal(said, first.vocabulary if not asked else distil.frequent_tokens(read, found))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--layers", "0,7"], "layers is '7'"),
        (["--layers", "0,x"], "layers is 'x'"),
        (["--layers", "-1"], "layers is '-1'"),
        (["--rate", "nan"], "rate"),
        (["--steps", "0"], "steps is 0"),
        (["--device", "cuda:99"], "device"),
        (["--init", "no-such-draft"], "no-such-draft could not be read"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    tiny_llama_folder: Path, tmp_path: Path, capsys: Any, words: list[str], said: str
) -> None:
    from decoding.__main__ import main

    given = ["train-draft", "--model", str(tiny_llama_folder), "--folder", str(tmp_path / "new"), *words]
    assert main(given) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and said in err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        (lambda draft: {"sample": -draft.sample}, [], "was trained for elsewhere and does not fit"),
        (lambda draft: {"vocab_size": draft.vocab_size + 1}, [], "was trained for elsewhere and does not fit"),
        (lambda draft: {"sample": draft.sample[:, 1:]}, [], "was trained for elsewhere and does not fit"),
        (lambda draft: {}, ["--layers", "0,1,2"], "has 2 layers, and 3 were asked for"),
    ],
    ids=["another embedding", "another vocabulary", "another width", "other layers"],
)
@pytest.mark.parametrize("stage", [[], ["--stage", "corpus"], ["--stage", "distil"]], ids=["both", "corpus", "distil"])
def test_a_draft_that_cannot_be_gone_on_from_is_told_before_the_work(
    draft: Draft, tiny_llama_folder: Path, tmp_path: Path, capsys: Any, change: Any, words: list[str], said: str,
    stage: list[str], written: Path,
) -> None:  # fmt: skip
    """Not after hours of writing: nothing is written and no checkpoint made."""
    from decoding.__main__ import main

    start, folder = tmp_path / "start", tmp_path / "new"
    draft_file.save(replace(draft, target="elsewhere", **change(draft)), start)
    if stage[1:] == ["distil"]:
        shutil.copytree(written, folder)
    before = sorted(folder.glob("*"))
    usual = ["--model", str(tiny_llama_folder), "--folder", str(folder), "--layers", "0,2", "--init", str(start)]
    assert main(["train-draft", *usual, *words, *stage]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and said in err and ("elsewhere" not in said or str(start) in err)
    assert sorted(folder.glob("*")) == before


def test_a_draft_that_fits_is_gone_on_from(
    draft: Draft, tiny_llama_folder: Path, written: Path, tmp_path: Path, capsys: Any
) -> None:
    """Whatever its target was called then."""
    from decoding.__main__ import main

    start, folder = tmp_path / "start", tmp_path / "new"
    draft_file.save(replace(draft, target="elsewhere"), start)
    shutil.copytree(written, folder)
    shutil.copy(folder / "part-00000.npz", folder / "part-00004.npz")
    usual = ["--model", str(tiny_llama_folder), "--folder", str(folder), "--layers", "0,2", "--init", str(start)]
    assert main(["train-draft", *usual, "--stage", "distil", "--steps", "1", "--rows", "2"]) == 0
    assert draft_file.is_draft(folder / "draft"), capsys.readouterr().err


def test_a_table_has_no_layers_to_train(tmp_path: Path, capsys: Any) -> None:
    from decoding.__main__ import main

    assert main(["train-draft", "--model", "toy:lecture", "--folder", str(tmp_path / "new")]) == 2
    assert "is a table" in capsys.readouterr().err and not (tmp_path / "new").exists()

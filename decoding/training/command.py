"""`python -m decoding train-draft`: write a corpus, distil a draft on it, and save it. Every stage can be resumed."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from decoding.errors import UserError
from decoding.training.recipe import Recipe, Writing

STAGES = ("corpus", "distil")
USUAL, USUAL_WRITING = Recipe(layers=()), Writing()
"""Their numbers are the options' usual values."""
AS_MANY = f"default: those of --init, without it {USUAL.vocabulary:,}"
COLDEST, HOTTEST = 0.01, 5
"""Temperatures of answers, where not 0: logits divided by less could overflow."""


def add(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    command.add_argument("--model", default="smollm2", help="the target: smollm2, a folder, or a hub id")
    command.add_argument("--folder", type=Path, required=True, help="where everything is kept; run again to go on")
    command.add_argument("--stage", choices=STAGES, help="only this one; default: both")
    command.add_argument("--tokens", type=int, default=1_000_000, help="length of the corpus; default 1,000,000")
    command.add_argument("--length", type=int, default=USUAL_WRITING.length, help="of a text, in tokens; default 256")
    command.add_argument(
        "--answers",
        type=float,
        default=1.0,
        help="temperature of answers, 0: the likeliest token; batches written before stay; default 1",
    )
    command.add_argument("--corpus", type=Path, help="a corpus.npy that is there already; its laws are computed anew")
    command.add_argument(
        "--layers", default="", help="of the target, to start from, e.g. 0,1,29; default: 0,1 and last"
    )
    command.add_argument("--init", type=Path, help="a draft to go on from; --layers says how many it has")
    command.add_argument("--vocabulary", type=int, help="most frequent tokens that the draft can say; " + AS_MANY)
    command.add_argument("--steps", type=int, default=USUAL.steps)
    command.add_argument("--rows", type=int, default=USUAL.rows, help="texts a step")
    command.add_argument("--rate", type=float, default=USUAL.rate, help="the highest learning rate")
    command.add_argument("--seed", type=int, default=USUAL.seed)
    command.add_argument("--device", default="auto", help="where the target writes; the draft learns on the CPU")


def run(options: argparse.Namespace) -> int:
    """Run the stages asked for; a line on stderr for each batch of texts and each score."""
    from decoding.processor_base import check_number
    from decoding.settings import check_float, check_int
    from decoding.training.quick import keep_freed_memory

    if options.vocabulary is not None:
        check_int("vocabulary", options.vocabulary, 1, 2**31)
    for name, low in (("tokens", 1), ("steps", 1), ("rows", 1), ("seed", 0)):
        check_int(name, getattr(options, name), low, 2**31)
    check_float("rate", options.rate, 0, 1)
    if options.answers:
        check_number("answers", options.answers, COLDEST, HOTTEST, f"0, {COLDEST} … {HOTTEST}")
    if options.init:
        _start(options.init)
    keep_freed_memory()
    if options.stage != "distil":
        _corpus(options)
    if options.stage != "corpus":
        _distil(options)
    return 0


def _start(folder: Path) -> Any:
    """The draft to go on from. Raises UserError for a folder that holds none."""
    from decoding.models import draft_file

    return draft_file.read(folder)


def _tell(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _target(options: argparse.Namespace, device: str, dtype: str) -> Any:
    """The target on torch. Raises UserError for a model that no draft can be made of, or not from the one given."""
    from decoding.models import drafts, load

    model: Any = load(options.model, device, dtype, engine="torch")
    layers = _check_layers(options.layers, drafts.decoder_layers(model))
    if options.init:
        _check_start(options.init, model, len(layers))
    return model


def _check_start(folder: Path, model: Any, layers: int) -> None:
    """Raise UserError for a draft of another target, or with another number of layers than are to be trained."""
    start = _start(folder)
    if not start.fits(model.module.get_input_embeddings().weight.detach().float().cpu().numpy()):
        raise UserError("init_other_target", path=str(folder), target=start.target, name=model.info.name)
    if start.layers != layers:
        raise UserError("draft_other_layers", count=start.layers, asked=layers)


def _check_layers(text: str, count: int) -> tuple[int, ...]:
    """The layers asked for; where none are, the first two and the last. Raises UserError for one that is not there."""
    found = tuple(part.strip() for part in text.split(",")) if text else ("0", "1", str(count - 1))
    for part in found:
        if not part.isdecimal() or int(part) >= count:
            raise UserError("out_of_range", name="layers", value=repr(part), limit=f"0 … {count - 1}")
    return tuple(map(int, found))


def _corpus(options: argparse.Namespace) -> None:
    """The target writes; on a CPU in 16-bit numbers where it has a quick product of them."""
    from decoding.models import huggingface
    from decoding.training import corpus
    from decoding.training.quick import bfloat16_is_quick

    place, _ = huggingface.resolve(options.device, "auto")
    dtype = "bfloat16" if place.type == "cpu" and bfloat16_is_quick() else "auto"
    model = _target(options, options.device, dtype)
    if options.corpus is not None:
        for done in corpus.read_again(model, options.corpus, options.folder):
            _tell(f"corpus: {done:,} tokens read again")
        return
    how = Writing(length=options.length, answers=options.answers, seed=options.seed)
    for done in corpus.write(model, options.folder, how, options.tokens):
        _tell(f"corpus: {done:,} of {options.tokens:,} tokens")
    corpus.gather(options.folder)


def _distil(options: argparse.Namespace) -> None:
    from decoding.models import draft_file, drafts
    from decoding.training import corpus, distil
    from decoding.training.quick import bfloat16_is_quick

    texts, laws = corpus.read(options.folder)
    model = _target(options, "cpu", "float32")
    start = _start(options.init) if options.init else None
    recipe = Recipe(
        layers=_check_layers(options.layers, drafts.decoder_layers(model)),
        vocabulary=options.vocabulary or (len(start.vocabulary) if start else USUAL.vocabulary),
        steps=options.steps,
        rows=options.rows,
        rate=options.rate,
        seed=options.seed,
        bfloat16=bfloat16_is_quick(),
    )
    run = distil.Distillation(model.module, texts, laws, recipe, options.folder, start)
    for line in run.run():
        _tell(json.dumps(line))
    facts: dict[str, object] = {"corpus_tokens": int(texts.size), "corpus": corpus.manners(options.folder)}
    facts |= {"recipe": asdict(recipe), "held_out": asdict(run.score())}
    if options.init:
        facts["init"] = draft_file.facts(options.init)
    draft_file.save(run.draft(options.model), options.folder / "draft", **facts)
    _tell(f"draft: {options.folder / 'draft'}")

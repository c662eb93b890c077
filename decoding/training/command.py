"""`python -m decoding train-draft`: write a corpus, distil a draft on it, and save it. Every stage can be resumed."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

STAGES = ("corpus", "distil")


def add(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    command.add_argument("--model", default="smollm2", help="the target: smollm2, a folder, or a hub id")
    command.add_argument("--folder", type=Path, required=True, help="where everything is kept; run again to go on")
    command.add_argument("--stage", choices=STAGES, help="only this one; default: both")
    command.add_argument("--tokens", type=int, default=1_000_000, help="length of the corpus; default 1,000,000")
    command.add_argument("--corpus", type=Path, help="a corpus.npy that is there already; its laws are computed anew")
    command.add_argument(
        "--layers", default="", help="of the target, to start from, e.g. 0,1,29; default: 0,1 and last"
    )
    command.add_argument("--vocabulary", type=int, default=8192, help="most frequent tokens that the draft can say")
    command.add_argument("--steps", type=int, default=3000)
    command.add_argument("--rows", type=int, default=8, help="texts a step")
    command.add_argument("--rate", type=float, default=1e-3, help="the highest learning rate")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--device", default="auto", help="where the target writes; the draft learns on the CPU")


def run(options: argparse.Namespace) -> int:
    """Run the stages asked for; a line on stderr for each batch of texts and each score."""
    from decoding.settings import check_int

    for name, low in (("tokens", 1), ("vocabulary", 1), ("steps", 1), ("rows", 1), ("seed", 0)):
        check_int(name, getattr(options, name), low, 2**31)
    if options.stage != "distil":
        _corpus(options)
    if options.stage != "corpus":
        _distil(options)
    return 0


def _tell(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _corpus(options: argparse.Namespace) -> None:
    """The target writes, in 16-bit numbers where a quick matrix product of them is here."""
    from decoding.models import load
    from decoding.training import corpus
    from decoding.training.quick import bfloat16_is_quick

    on_gpu = options.device.startswith("cuda")
    dtype = "bfloat16" if not on_gpu and bfloat16_is_quick() else "auto"
    model = load(options.model, options.device, dtype, engine="torch")
    if options.corpus is not None:
        for done in corpus.read_again(model, options.corpus, options.folder):
            _tell(f"corpus: {done:,} tokens read again")
        return
    for done in corpus.write(model, options.folder, corpus.Writing(seed=options.seed), options.tokens):
        _tell(f"corpus: {done:,} of {options.tokens:,} tokens")
    corpus.gather(options.folder)


def _distil(options: argparse.Namespace) -> None:
    from decoding.models import draft_file, load
    from decoding.settings import check_int
    from decoding.training import corpus, distil
    from decoding.training.quick import bfloat16_is_quick

    texts, laws = corpus.read(options.folder)
    loaded: Any = load(options.model, "cpu", "float32", engine="torch")
    module = loaded.module
    last = module.config.num_hidden_layers - 1
    layers = tuple(int(layer) for layer in options.layers.split(",")) if options.layers else (0, 1, last)
    for layer in layers:
        check_int("layers", layer, 0, last)
    recipe = distil.Recipe(
        layers=layers,
        vocabulary=options.vocabulary,
        steps=options.steps,
        rows=options.rows,
        rate=options.rate,
        seed=options.seed,
        bfloat16=bfloat16_is_quick(),
    )
    run = distil.Distillation(module, texts, laws, recipe, options.folder)
    for line in run.run():
        _tell(json.dumps(line))
    facts = {"corpus_tokens": int(texts.size), "recipe": asdict(recipe), "held_out": asdict(run.score())}
    draft_file.save(run.draft(options.model), options.folder / "draft", **facts)
    _tell(f"draft: {options.folder / 'draft'}")

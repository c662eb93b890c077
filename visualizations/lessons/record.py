"""Record the lessons' runs anew: `python -m visualizations.lessons.record`. Needs the default model.

The runs are those that the pages' controls ask for as they stand at first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

from decoding import api, codec
from decoding.models.protocol import LanguageModel
from decoding.sampling import logits_after
from decoding.settings import TOP_LIMIT, SampleSettings
from decoding.trace import Trace
from visualizations.pages import controls, effects, next_token, sampling

HERE = Path(__file__).parent


def main() -> None:
    """Write trace.json of every lesson, and what else its page needs to paint."""
    model = api.load()
    first: list[Any] = [knob.first for knob in controls.KNOBS]
    shown = controls.settings([*first, None], "direct", sampling.NEW_TOKENS)
    one = api.greedy_settings(max_new_tokens=1, top=TOP_LIMIT)
    _record(model, sampling.LESSON, sampling.PROMPT, shown, sampling.SEED)
    _record(model, next_token.LESSON, next_token.PROMPT, one)
    words = model.tokenization(next_token.PROMPT)
    (HERE / next_token.LESSON / "tokenization.json").write_text(codec.dumps(words) + "\n", encoding="utf-8")
    run = _record(model, effects.LESSON, effects.PROMPT, one)
    logits = logits_after(model, [token.id for token in run.header.prompt.tokens])
    numpy.save(HERE / effects.LESSON / "logits.npy", logits.numpy())


def _record(model: LanguageModel, slug: str, prompt: str, settings: SampleSettings, seed: int = 0) -> Trace:
    folder = HERE / slug
    folder.mkdir(exist_ok=True)
    trace = api.decode(model, prompt, settings, seed)
    api.save(trace, folder / "trace.json")
    print(f"{slug}: {trace.finish.text!r}")
    return trace


if __name__ == "__main__":
    main()

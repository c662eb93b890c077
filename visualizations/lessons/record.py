"""Record the lessons' runs anew: `python -m visualizations.lessons.record`. Needs the default model.

The runs are those that the pages' controls ask for as they stand at first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

from decoding import api, codec
from decoding.models import timing
from decoding.models.protocol import LanguageModel
from decoding.sampling import logits_after
from decoding.settings import TOP_LIMIT
from decoding.trace import Trace
from visualizations.lab import Lab
from visualizations.pages import (
    beam,
    controls,
    effects,
    next_token,
    sampling,
    speculative,
    speculative_align,
    speculative_lossless,
    speculative_race,
    speculative_sweep,
)
from visualizations.runs import Runs
from visualizations.text import Text

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
    record_search()
    record_rounds(model)
    record_race()
    record_lossless()
    record_gammas()
    record_drafters()
    record_times()


def record_times() -> None:
    """What a forward takes here, on ONNX Runtime in both precisions: the best over a minute and a half."""
    for precision, file in (("float32", "times.json"), ("int4", "times-int4.json")):
        model: Any = api.load(engine="onnx", device="cpu", precision=precision)
        times = timing.measure(model, lambda done: None, seconds=90)
        (HERE / next_token.LESSON / file).write_text(codec.dumps(times) + "\n", encoding="utf-8")
        print(f"{file}: T(1) = {times.of_tokens(1):.1f} ms, floor {times.floor:.1f} ms")


def record_search() -> None:
    """The lecture's tree, and other searches beside it."""
    table = api.load(beam.FIRST_MODEL)
    searched = api.beam_settings(num_beams=beam.BEAMS, max_new_tokens=beam.TOKENS, top=beam.TOP)
    run = Runs().pin(beam.LESSON, _record(table, beam.LESSON, "", searched))
    for _ in Lab().compare(run, table):
        pass
    assert run.comparison is not None
    (HERE / beam.LESSON / "compare.json").write_text(codec.dumps(run.comparison) + "\n", encoding="utf-8")


def record_rounds(model: LanguageModel) -> None:
    """Rounds of speculative decoding."""
    settings, seed = speculative.read_settings(speculative.first_values())
    _record(model, speculative.LESSON, speculative.PROMPTS[speculative.FIRST_MODEL], settings, seed)


def record_race() -> None:
    """The lesson's rounds against plain decoding, by the clock: on an idle machine."""
    _record_panel(speculative_race)


def record_lossless() -> None:
    """Which rules keep the target's law, on the first token of the recorded rounds."""
    lab = Lab()
    run = lab.lesson(speculative.LESSON)
    found = tuple(speculative_lossless.tested(lab, run, lab.model_of(run)))
    (HERE / speculative.LESSON / "lossless.json").write_text(codec.dumps(found) + "\n", encoding="utf-8")
    print(f"lossless.json: {[(law.rule, law.measured) for law in found[-1].rules]}")


def record_gammas() -> None:
    """The lesson's prompt with every gamma, beside what a forward takes: on an idle machine."""
    _record_panel(speculative_sweep)


def record_drafters() -> None:
    """The lesson's prompt with every drafter: on an idle machine."""
    _record_panel(speculative_align)


def _record_panel(part: Any) -> None:
    """What the button of a panel measures for the recorded rounds, on ONNX Runtime in float32."""
    lab, text = Lab(), Text("en")
    model = api.load(engine="onnx", device="cpu", precision="float32")
    run = lab.lesson(speculative.LESSON)
    for words, done in part.job(lab, text, run, model):
        print(f"\r{words} {100 * (done or 0):.0f} %", end="", flush=True)
    path = HERE / speculative.LESSON / f"{part.NAME}.json"
    path.write_text(codec.dumps(run.measured[part.NAME]) + "\n", encoding="utf-8")
    print(f"\n{path.name}")


def _record(model: LanguageModel, slug: str, prompt: str, settings: api.Settings, seed: int = 0) -> Trace:
    folder = HERE / slug
    folder.mkdir(exist_ok=True)
    trace = api.decode(model, prompt, settings, seed, draft=api.load_draft(model, settings))
    api.save(trace, folder / "trace.json")
    print(f"{slug}: {trace.finish.text!r}")
    return trace


if __name__ == "__main__":
    main()

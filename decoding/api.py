"""What a notebook imports: load a model, decode a prompt, save and open runs.

from decoding import api
model = api.load()
run = api.decode(model, "The sky is", api.sample_settings(temperature=0.8, top_p=0.9), seed=1)
print(run.finish.text)
tree = api.decode(model, "The sky is", api.beam_settings(num_beams=4, num_return_sequences=2))
print([(best.text, best.score) for best in tree.finish.returned])
asked = api.speculative_settings(drafter="trained", gamma=4)
rounds = api.decode(model, "The sky is", asked, draft=api.load_draft(model, asked))
print([[token.text for token in step.emitted] for step in rounds.steps])
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import overload

from decoding import codec
from decoding.beam.results import results
from decoding.beam.search import beam
from decoding.errors import UserError
from decoding.models import load, threads
from decoding.models.protocol import LanguageModel, Progress, Template, text_of
from decoding.sampling import Uniforms, sample
from decoding.settings import (
    BeamSettings,
    Limits,
    SampleSettings,
    beam_settings,
    check_seed,
    greedy_settings,
    sample_settings,
)
from decoding.speculative.drafters import drafter_of, drafting_model
from decoding.speculative.loop import speculate
from decoding.speculative_settings import SpeculativeSettings, speculative_settings
from decoding.trace import (
    MADE_OF_TARGET,
    SCHEMA,
    BeamStep,
    Finish,
    Header,
    ModelInfo,
    Prompt,
    Returned,
    SampleStep,
    SpeculativeStep,
    Step,
    Trace,
)

__all__ = [
    "beam_settings",
    "decode",
    "finish",
    "finish_beams",
    "greedy_settings",
    "load",
    "load_draft",
    "new_tokens",
    "open",
    "prepare",
    "sample_settings",
    "save",
    "speculative_settings",
    "stream",
]

Settings = SampleSettings | BeamSettings | SpeculativeSettings
"""Their class chooses the method."""

CHARACTERS_PER_TOKEN = 50
"""A prompt with more characters than this per allowed token is refused before it is split into tokens."""


def decode(
    model: LanguageModel,
    prompt: str,
    settings: Settings | None = None,
    seed: int = 0,
    template: Template = "raw",
    limits: Limits | None = None,
    draft: LanguageModel | None = None,
) -> Trace:
    """Run to the end and return the whole trace. Raises UserError before the run where it cannot be made.

    `draft`: the draft model of speculative decoding, where its drafter is one.
    """
    settings = settings or greedy_settings()
    header = prepare(model, prompt, settings, seed, template, limits, draft)
    with threads.during_run(model, draft):
        steps = tuple(stream(model, header, settings, draft=draft))
    if isinstance(settings, BeamSettings):
        return Trace(header, steps, finish_beams(model, settings, steps))
    return Trace(header, steps, finish(model, new_tokens(steps)))


def prepare(
    model: LanguageModel,
    prompt: str,
    settings: Settings,
    seed: int = 0,
    template: Template = "raw",
    limits: Limits | None = None,
    draft: LanguageModel | None = None,
) -> Header:
    """Check everything that can be checked before a run, and return the trace's header."""
    seed = check_seed(seed)
    limits = limits or Limits.from_environment()
    new = settings.max_new_tokens
    if new > limits.new_tokens:
        raise UserError("too_many_new_tokens", tokens=new, limit=limits.new_tokens)
    if len(prompt) > (most := CHARACTERS_PER_TOKEN * limits.prompt_tokens):
        raise UserError("prompt_too_many_characters", count=len(prompt), limit=most)
    ids = model.encode(prompt, template)
    if len(ids) > limits.prompt_tokens:
        raise UserError("prompt_too_long", tokens=len(ids), limit=limits.prompt_tokens)
    info = model.info
    drafting = _drafting(model, draft, settings)
    for reader in (info, *([drafting] if drafting else [])):
        if len(ids) + new > reader.context_length:
            values = {"prompt": len(ids), "new": new, "total": len(ids) + new}
            raise UserError("context_too_short", model=reader.name, limit=reader.context_length, **values)
    for token in settings.forced.values() if isinstance(settings, SampleSettings) else ():
        if not 0 <= token < info.vocab_size:
            raise UserError("unknown_token", value=token, limit=info.vocab_size, last=info.vocab_size - 1)
    tokens = tuple(model.token(id) for id in ids)
    asked = Prompt(prompt, template, tokens)
    versions = _versions(info, drafting)
    return Header(SCHEMA, info, settings.method, asked, settings.plain(), seed, versions, drafting)


def _drafting(model: LanguageModel, draft: LanguageModel | None, settings: Settings) -> ModelInfo | None:
    """The model that drafts, checked, of a run that has one."""
    if not isinstance(settings, SpeculativeSettings):
        return None
    if settings.needs_model:
        return drafting_model(model, draft, settings).info
    return model.info if settings.drafter == "oracle" else None


@overload
def stream(
    model: LanguageModel, header: Header, settings: SampleSettings, known: Sequence[int] = ()
) -> Iterator[SampleStep]: ...
@overload
def stream(
    model: LanguageModel,
    header: Header,
    settings: Settings,
    known: Sequence[int] = (),
    draft: LanguageModel | None = None,
) -> Iterator[Step]: ...
def stream(
    model: LanguageModel,
    header: Header,
    settings: Settings,
    known: Sequence[int] = (),
    draft: LanguageModel | None = None,
) -> Iterator[Step]:
    """The run's steps as they are made; close the iterator to stop. `known`: go on after these new tokens.

    Of a beam search, only tokens sampled before it can be known. `draft`: as `prepare` was given.
    """
    prompt = [token.id for token in header.prompt.tokens]
    uniforms = Uniforms(header.seed)
    if isinstance(settings, BeamSettings):
        return beam(model, prompt, settings, uniforms, known)
    if isinstance(settings, SpeculativeSettings):
        return speculate(model, drafter_of(model, draft, settings, uniforms), prompt, settings, uniforms, known)
    return sample(model, prompt, settings, uniforms, known)


def load_draft(
    model: LanguageModel, settings: Settings, progress: Progress | None = None, **where: str
) -> LanguageModel | None:
    """The draft model that the settings name; None where they need none.

    One made of the target, also one trained for it that lies in a folder, is on the target's engine. `where`: device,
    dtype, engine and precision, as `load` takes them, of one with a name of its own. Raises UserError where it cannot
    be had.
    """
    if not isinstance(settings, SpeculativeSettings) or not settings.needs_model:
        return None
    from decoding.models import draft_file

    name = settings.draft_name
    if name in MADE_OF_TARGET or draft_file.is_draft(Path(name)):
        from decoding.models import drafts

        return drafts.load(name, model, settings.exit_layer, progress)
    return load(name, progress=progress, **where)


def finish(model: LanguageModel, ids: Sequence[int], cancelled: bool = False) -> Finish:
    """How a run with these new tokens ended: `eos` if the last ends a text, else `length` or `cancelled`."""
    ended = bool(ids) and ids[-1] in model.end_ids
    reason = "eos" if ended else "cancelled" if cancelled else "length"
    return Finish(reason, tuple(ids), text_of(model, ids))  # type: ignore[arg-type]


def finish_beams(
    model: LanguageModel, settings: BeamSettings, steps: Sequence[Step], cancelled: bool = False
) -> Finish:
    """How a beam search with these steps ended, and the texts it returns; the best one's reason, tokens and text.

    Of a search that was cancelled, its best texts so far.
    """
    best = results(steps, settings)
    if not best:  # nothing was searched: a sampled token ended the text, or somebody the run
        return finish(model, new_tokens(steps), cancelled)
    returned = tuple(
        Returned(each.token_ids, text_of(model, each.token_ids), each.logprob, each.score) for each in best
    )
    first = finish(model, best[0].token_ids)
    stopped = cancelled and isinstance(steps[-1], BeamStep) and steps[-1].ending is None
    return Finish("cancelled" if stopped else first.reason, first.token_ids, first.text, returned)


def new_tokens(steps: Sequence[Step]) -> list[int]:
    """Ids of the tokens that sampled steps and rounds of speculative decoding wrote, in order."""
    ids: list[int] = []
    for step in steps:
        if isinstance(step, SampleStep):
            ids.append(step.token.id)
        elif isinstance(step, SpeculativeStep):
            ids += [token.id for token in step.emitted]
    return ids


def save(trace: Trace, path: str | Path) -> None:
    """Write a trace as JSON."""
    Path(path).write_text(codec.dumps(trace) + "\n", encoding="utf-8")


def open(path: str | Path) -> Trace:
    """Read a trace written by `save`; raises UserError where the file is none."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(codec.MAX_BYTES + 1)
            if len(data) > codec.MAX_BYTES:
                size = max(len(data), path.stat().st_size)
                raise UserError("trace_too_large", size=size, limit=codec.MAX_BYTES)
    except UserError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        why = getattr(error, "strerror", None) or "cannot be read"
        raise UserError("no_such_file", path=str(path), why=why) from None
    return codec.loads(data)


def _versions(*infos: ModelInfo | None) -> dict[str, str]:
    """Python, torch and the engines of these models as they run now."""
    import torch

    versions = {"python": sys.version.split()[0], "torch": str(torch.__version__)}
    used = {info.engine for info in infos if info is not None}
    return versions | {"onnxruntime": version("onnxruntime")} if "onnx" in used else versions

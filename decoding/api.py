"""What a notebook imports: load a model, decode a prompt, save and open runs.

from decoding import api
model = api.load()
run = api.decode(model, "The sky is", api.sample_settings(temperature=0.8, top_p=0.9), seed=1)
print(run.finish.text)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from decoding import codec
from decoding.errors import UserError
from decoding.models import load
from decoding.models.protocol import LanguageModel, Template
from decoding.sampling import Uniforms, sample
from decoding.settings import Limits, SampleSettings, check_seed, greedy_settings, sample_settings
from decoding.trace import SCHEMA, Finish, Header, ModelInfo, Prompt, SampleStep, Trace

__all__ = ["decode", "finish", "greedy_settings", "load", "open", "prepare", "sample_settings", "save", "stream"]


CHARACTERS_PER_TOKEN = 50
"""A prompt with more characters than this per allowed token is refused before it is split into tokens."""


def decode(
    model: LanguageModel,
    prompt: str,
    settings: SampleSettings | None = None,
    seed: int = 0,
    template: Template = "raw",
    limits: Limits | None = None,
) -> Trace:
    """Run to the end and return the whole trace. Raises UserError before the run where it cannot be made."""
    settings = settings or greedy_settings()
    header = prepare(model, prompt, settings, seed, template, limits)
    steps = tuple(stream(model, header, settings))
    return Trace(header, steps, finish(model, [step.token.id for step in steps]))


def prepare(
    model: LanguageModel,
    prompt: str,
    settings: SampleSettings,
    seed: int = 0,
    template: Template = "raw",
    limits: Limits | None = None,
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
    if len(ids) + new > info.context_length:
        values = {"prompt": len(ids), "new": new, "total": len(ids) + new}
        raise UserError("context_too_short", model=info.name, limit=info.context_length, **values)
    for token in settings.forced.values():
        if not 0 <= token < info.vocab_size:
            raise UserError("unknown_token", value=token, limit=info.vocab_size, last=info.vocab_size - 1)
    tokens = tuple(model.token(id) for id in ids)
    return Header(
        SCHEMA, info, settings.method, Prompt(prompt, template, tokens), settings.plain(), seed, _versions(info)
    )


def stream(
    model: LanguageModel, header: Header, settings: SampleSettings, known: Sequence[int] = ()
) -> Iterator[SampleStep]:
    """The run's steps as they are made; close the iterator to stop. `known`: go on after these new tokens."""
    prompt = [token.id for token in header.prompt.tokens]
    return sample(model, prompt, settings, Uniforms(header.seed), known)


def finish(model: LanguageModel, ids: Sequence[int], cancelled: bool = False) -> Finish:
    """How a run with these new tokens ended: `eos` if the last ends a text, else `length` or `cancelled`."""
    ended = bool(ids) and ids[-1] in model.end_ids
    reason = "eos" if ended else "cancelled" if cancelled else "length"
    return Finish(reason, tuple(ids), model.decode(ids[:-1] if ended else ids))  # type: ignore[arg-type]


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


def _versions(info: ModelInfo) -> dict[str, str]:
    """Python, torch and the model's engine as they run now."""
    import torch

    versions = {"python": sys.version.split()[0], "torch": str(torch.__version__)}
    return versions | {"onnxruntime": version("onnxruntime")} if info.engine == "onnx" else versions

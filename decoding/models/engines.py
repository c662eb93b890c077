"""Which engine runs a model: torch wherever torch runs, or ONNX Runtime, the quicker one on a CPU."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch

from decoding.errors import UserError
from decoding.models import huggingface
from decoding.models.architecture import Architecture
from decoding.models.protocol import LanguageModel, Progress

ENGINES = ("auto", "torch", "onnx")
PRECISIONS = ("auto", "float32", "int4")


def load(
    source: str,
    name: str,
    device: str = "auto",
    dtype: str = "auto",
    progress: Progress | None = None,
    engine: str = "auto",
    precision: str = "auto",
    gguf: Path | None = None,
) -> LanguageModel:
    """The model in a folder or of a hub id, on the engine asked for.

    `auto` is ONNX Runtime on a CPU in float32 where it is installed and knows the architecture, else torch.
    `gguf`: the file that the folder was converted from, whose own blocks int4 then holds.
    Raises UserError for what cannot be had or does not go together.
    """
    place, number = huggingface.resolve(device, dtype)
    _check("engine", engine, ENGINES)
    _check("precision", precision, PRECISIONS)
    fits = place.type == "cpu" and number == torch.float32
    wants = engine == "onnx" or (engine == "auto" and precision == "int4")
    if wants and not fits:
        raise UserError("onnx_only_cpu", device=device, dtype=dtype)
    if engine != "torch" and fits and (found := _onnx(source, wants, name)) is not None:
        from decoding.models import onnx

        local_source, local, arch = found
        # float32 by default: int4 rounds inputs to 8 bits, and one likeliest token in 23 is another then.
        chosen = "float32" if precision == "auto" else precision
        return onnx.load(onnx.Origin(local_source, local, arch, name, chosen, gguf), progress)
    if precision == "int4":
        raise UserError("precision_needs_onnx", precision=precision)
    return huggingface.load(source, name, device, "float32" if precision == "float32" else dtype, progress)


def is_installed() -> bool:
    """Whether ONNX Runtime and the library that writes its graphs are there."""
    return all(importlib.util.find_spec(package) is not None for package in ("onnx", "onnxruntime"))


def _onnx(source: str, demanded: bool, name: str) -> tuple[str, bool, Architecture] | None:
    """Where the model is and its architecture; None where ONNX Runtime cannot run it and need not."""
    if not is_installed():
        if demanded:
            raise UserError("onnx_missing")
        return None
    where, local = huggingface.locate(source)
    with huggingface.reading(name):
        arch = Architecture.of(huggingface.read_configs(where, local)[0])
    if arch is None and demanded:
        raise UserError("onnx_unknown_architecture", name=name)
    return None if arch is None else (where, local, arch)


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UserError("unknown_choice", name=name, value=value, choices=", ".join(choices))

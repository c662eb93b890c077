"""How many threads torch takes during a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from decoding.models.protocol import LanguageModel


@contextlib.contextmanager
def during_run(*models: LanguageModel | None) -> Iterator[None]:
    """One where all models of the run are on ONNX Runtime, which has threads of its own; as many as before elsewhere.

    Torch then only works on laws, too small to gain from a second thread, and its threads would wait busily on cores
    that ONNX Runtime's need. `api.decode`, `api.stream` and the benchmarks run in this.
    """
    before = torch.get_num_threads()
    alone = before > 1 and all(model.info.engine == "onnx" for model in models if model is not None)
    if alone:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if alone:
            torch.set_num_threads(before)

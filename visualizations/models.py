"""The models the pages may run, each loaded once, on first use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

from decoding.errors import UserError
from decoding.models.engines import is_installed
from decoding.models.protocol import LanguageModel
from decoding.models.table import names
from decoding.trace import ModelInfo

Progress = Callable[[str, float], None]

DEFAULT = "smollm2"
MANNERS = {"torch": ("torch", "auto"), "onnx": ("onnx", "auto"), "int4": ("onnx", "int4")}
"""What may stand after a model's name and an @: the engine and the precision it asks for."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A model and how to run it; `engine` and `precision` as `decoding.models.load` takes them."""

    model: str
    engine: str = "auto"
    precision: str = "auto"

    @classmethod
    def of(cls, name: str) -> Choice:
        """What a name such as `smollm2`, `smollm2@int4` or `smollm2@torch` asks for.

        Without an @ the engine is $DECODING_LAB_ENGINE: auto (where it is not set), torch or onnx.
        """
        model, _, manner = name.rpartition("@")
        if model and manner in MANNERS:
            return cls(model, *MANNERS[manner])
        return cls(name, os.environ.get("DECODING_LAB_ENGINE", "").strip() or "auto")

    def load(self, progress: Progress | None = None) -> LanguageModel:
        """The model itself. ONNX Runtime is for CPUs, whatever else the machine has."""
        from decoding.models import load

        device = "cpu" if self.engine == "onnx" else "auto"
        return load(self.model, device=device, progress=progress, engine=self.engine, precision=self.precision)

    def made(self, info: ModelInfo) -> bool:
        """Whether a model loaded so may have been the one that a run's header tells of."""
        int4 = info.dtype.startswith("int4")
        return self.model == info.name and int4 == (self.precision == "int4")


class Models:
    """Loads a model at its first use and keeps it; safe to call from many threads.

    A page can run only the names offered, so that a visitor cannot make a server load anything else.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._loaded: dict[str, LanguageModel] = {}
        self._lock = threading.Lock()

    def get(self, name: str, progress: Progress | None = None) -> LanguageModel:
        """The model called `name`; raises UserError for one that is not offered."""
        if name not in self.names:
            raise UserError("unknown_choice", name="model", value=name, choices=", ".join(self.names))
        if (model := self._loaded.get(name)) is not None:
            return model
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = Choice.of(name).load(progress)
            return self._loaded[name]

    def is_loaded(self, name: str) -> bool:
        """Whether `get` would return at once."""
        return name in self._loaded

    def name_of(self, info: ModelInfo) -> str:
        """The name under which the model that made a run is offered; one that is not, where none is.

        Of several, the one loaded that is just this model, else the one that asks for its engine, else the first.
        """
        fitting = [name for name in self.names if Choice.of(name).made(info)]
        same = [name for name in fitting if name in self._loaded and self._loaded[name].info == info]
        asks = [name for name in fitting if Choice.of(name).engine == info.engine]
        return next(iter(same + asks + fitting), f"{info.name}@int4" if info.dtype.startswith("int4") else info.name)


def offered() -> tuple[str, ...]:
    """The bundled model, the lecture's table and the others, and what $DECODING_LAB_MODELS adds (comma-separated).

    Where ONNX Runtime is there, the bundled model also with weights of 4 bits.
    """
    toys = [f"toy:{name}" for name in names()]
    extra = [name.strip() for name in os.environ.get("DECODING_LAB_MODELS", "").split(",")]
    quick = [f"{DEFAULT}@int4"] if is_installed() else []
    return tuple(dict.fromkeys([DEFAULT, *quick, "toy:lecture", *toys, *filter(None, extra)]))

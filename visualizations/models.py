"""The models the pages may run, each loaded once, on first use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from decoding.errors import UserError
from decoding.models.protocol import LanguageModel
from decoding.models.table import names

Progress = Callable[[str, float], None]

DEFAULT = "smollm2"


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
                from decoding.models import load  # imports torch: not before a model is wanted

                self._loaded[name] = load(name, progress=progress)
            return self._loaded[name]

    def is_loaded(self, name: str) -> bool:
        """Whether `get` would return at once."""
        return name in self._loaded


def offered() -> tuple[str, ...]:
    """The bundled model, the lecture's table and the others, and what $DECODING_LAB_MODELS adds (comma-separated)."""
    toys = [f"toy:{name}" for name in names()]
    extra = [name.strip() for name in os.environ.get("DECODING_LAB_MODELS", "").split(",")]
    return tuple(dict.fromkeys([DEFAULT, "toy:lecture", *toys, *filter(None, extra)]))

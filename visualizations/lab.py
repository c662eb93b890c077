"""What all pages share: the models, the runs, the recorded lessons, and how a run is made for a page."""

from __future__ import annotations

import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from decoding import codec
from decoding.trace import Finish, Trace
from decoding.values import Tokenization
from visualizations.models import Models, offered
from visualizations.runs import Run, Runs

if TYPE_CHECKING:
    from torch import Tensor

    from decoding.experiments.cost_values import CostTable
    from decoding.models.protocol import LanguageModel
    from decoding.settings import SampleSettings

LESSONS = Path(__file__).with_name("lessons")
KEPT_LOGITS = 64
"""Steps whose full logits are kept (0.2 MB each) for the effects page."""

log = logging.getLogger("decoding_lab")


@dataclass(frozen=True, slots=True)
class Loading:
    """A model is being made ready: what is done now, and how far (0 to 1, None if unknown)."""

    what: str
    fraction: float | None


class Lab:
    """The state behind the pages of one server."""

    def __init__(self, models: Models | None = None) -> None:
        self.models = models or Models(offered())
        self.runs = Runs()
        self.running = 0
        self.costs: list[CostTable] = []
        self._count = threading.Lock()
        self._recorded: dict[tuple[str, int], Path] = {}
        self._logits: OrderedDict[tuple[str, int], Tensor] = OrderedDict()

    def lesson(self, slug: str) -> Run:
        """The recorded run of a lesson, pinned under its slug; read once."""
        if (kept := self.runs.pinned(slug)) is not None:
            return kept
        folder = LESSONS / slug
        run = self.runs.pin(slug, codec.loads((folder / "trace.json").read_bytes(), Trace))
        if (words := folder / "tokenization.json").exists():
            run.tokenization = codec.loads(words.read_bytes(), Tokenization)
        if (logits := folder / "logits.npy").exists():
            self._recorded[(slug, 0)] = logits
        return run

    def load(self, name: str) -> Iterator[Loading]:
        """Make the model ready, yielding progress meanwhile; `models.get` returns at once afterwards."""
        if self.models.is_loaded(name):
            return
        yield Loading("", None)
        news: queue.Queue[Loading | BaseException | None] = queue.Queue()

        def work() -> None:
            try:
                self.models.get(name, lambda what, fraction: news.put(Loading(what, fraction)))
                news.put(None)
            except BaseException as error:  # handed to the page that waits
                news.put(error)

        threading.Thread(target=work, daemon=True).start()
        while (item := news.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    def run(self, model: LanguageModel, run: Run, settings: SampleSettings) -> Iterator[None]:
        """Continue `run` to its end, yielding after each step it got; closing this stops the model."""
        from decoding import api

        known = run.token_ids()
        steps = api.stream(model, run.header, settings, known)
        ended = False
        with self._count:
            self.running += 1
        try:
            for step in steps:
                run.append(step)
                yield
            ended = True
        finally:
            steps.close()  # type: ignore[attr-defined]
            with self._count:
                self.running -= 1
            run.finish = self.finish(model, run, cancelled=not ended)
            self.runs.trim()

    def finish(self, model: LanguageModel, run: Run, cancelled: bool) -> Finish:
        """How the run ended, from the tokens it has."""
        from decoding import api

        return api.finish(model, run.token_ids(), cancelled)

    def logits(self, run: Run, index: int, model: LanguageModel) -> Tensor:
        """The model's full logits (V,) at one step of a run: kept from before, or one forward again."""
        from decoding.sampling import logits_after

        if (kept := self.kept_logits(run, index)) is not None:
            return kept
        prompt = [token.id for token in run.header.prompt.tokens]
        logits = logits_after(model, [*prompt, *run.token_ids(index)])
        self.keep_logits(run, index, logits)
        return logits

    def kept_logits(self, run: Run, index: int) -> Tensor | None:
        """The full logits of a step, where they are kept."""
        if (file := self._recorded.get((run.id, index))) is not None:
            import numpy
            import torch

            return torch.from_numpy(numpy.load(file))
        if (kept := self._logits.get((run.id, index))) is not None:
            self._logits.move_to_end((run.id, index))
        return kept

    def keep_logits(self, run: Run, index: int, logits: Tensor) -> None:
        """Keep a step's full logits for a while."""
        self._logits[(run.id, index)] = logits
        while len(self._logits) > KEPT_LOGITS:
            self._logits.popitem(last=False)

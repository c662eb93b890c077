"""What all pages share: the models, the runs, the recorded lessons, and how a run is made for a page."""

from __future__ import annotations

import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from decoding import codec
from decoding.trace import MADE_OF_TARGET, Finish, Trace
from decoding.values import Comparison, Exhausted, ForwardTimes, Tokenization
from visualizations.models import Models, Progress, offered
from visualizations.runs import Run, Runs
from visualizations.turns import Turns

if TYPE_CHECKING:
    from torch import Tensor

    from decoding.experiments.cost_values import CostTable
    from decoding.models.protocol import LanguageModel
    from decoding.settings import BeamSettings, SampleSettings
    from decoding.speculative.race import Racers
    from decoding.speculative_settings import SpeculativeSettings

    Settings = SampleSettings | BeamSettings | SpeculativeSettings

LESSONS = Path(__file__).with_name("lessons")
BEAT = 0.2
"""Seconds between two looks at a page that waits for a model: it may have left."""
KEPT_DRAFTS = 4
"""Draft models made of their targets that are kept."""
KEPT_LOGITS = 64
"""Steps whose full logits are kept (0.2 MB each) for the effects page."""

log = logging.getLogger("decoding_lab")

News = TypeVar("News")


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
        self.turns = Turns()
        self.running = 0
        self.costs: list[CostTable] = []
        self.times: dict[str, ForwardTimes] = {}
        self._count = threading.Lock()
        self._making = threading.Lock()
        self._recorded: dict[tuple[str, int], Path] = {}
        self._logits: OrderedDict[tuple[str, int], Tensor] = OrderedDict()
        self._drafts: OrderedDict[tuple[Any, ...], LanguageModel] = OrderedDict()

    def lesson(self, slug: str) -> Run:
        """The recorded run of a lesson, pinned under its slug; read once."""
        if (kept := self.runs.pinned(slug)) is not None:
            return kept
        folder = LESSONS / slug
        run = self.runs.pin(slug, codec.loads((folder / "trace.json").read_bytes(), Trace))
        if (words := folder / "tokenization.json").exists():
            run.tokenization = codec.loads(words.read_bytes(), Tokenization)
        if (compared := folder / "compare.json").exists():
            run.comparison = codec.loads(compared.read_bytes(), Comparison)
        if (logits := folder / "logits.npy").exists():
            self._recorded[(slug, 0)] = logits
        return run

    def table_lines(self, name: str) -> str:
        """A toy model's table as lines that a visitor may change."""
        from decoding.models import table, table_text

        return table_text.write_text(table.read(table.TABLES / f"{name.removeprefix('toy:')}.json"))

    def load(self, name: str) -> Iterator[Loading]:
        """Make the model ready, yielding progress meanwhile; `models.get` returns at once afterwards.

        Where there is no news the last is told again, so that one who waits can leave.
        """
        if self.models.is_loaded(name):
            return
        yield from _told(
            lambda tell: self.models.get(name, lambda what, fraction: tell(Loading(what, fraction))), Loading("", None)
        )

    def measure(self, name: str) -> Iterator[float]:
        """Time the forwards of a loaded model into `times`, yielding the fraction done; closing this ends it."""
        self.times[name] = yield from self.timing(self.models.get(name), fresh=True)

    def timing(self, model: LanguageModel, fresh: bool = False) -> Generator[float, None, ForwardTimes]:
        """Time the forwards of a model, yielding the fraction done; closing this ends it.

        Those measured on this machine before are taken from the cache folder, unless asked for `fresh`.
        """
        from decoding.models.timing import Weighed, forward_times

        found: list[ForwardTimes] = []

        def work(tell: Callable[[float], None]) -> None:
            found.append(forward_times(cast("Weighed", model), tell, fresh))

        yield from _told(work, 0.0, ends=True)
        return found[0]

    def run(self, model: LanguageModel, run: Run, settings: Settings) -> Iterator[None]:
        """Continue `run` to its end, yielding after each step it got; closing this stops the model."""
        from decoding import api

        known, run.finish = run.token_ids(), None
        steps = api.stream(model, run.header, settings, known, self.draft_of(model, settings))
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
            cancelled = not ended and max(len(run.packed), len(run.emitted)) < settings.max_new_tokens
            run.finish = self.finish(model, run, settings, cancelled)
            self.runs.trim()

    def finish(self, model: LanguageModel, run: Run, settings: Settings, cancelled: bool) -> Finish:
        """How the run ended, from the tokens or the depths it has."""
        from decoding import api
        from decoding.settings import BeamSettings

        if isinstance(settings, BeamSettings):
            return api.finish_beams(model, settings, run.trace().steps, cancelled)
        return api.finish(model, run.token_ids(), cancelled)

    def draft_of(
        self, model: LanguageModel, settings: Settings, progress: Progress | None = None
    ) -> LanguageModel | None:
        """The draft model that the settings name for this target; None where they need none.

        One with a name of its own must be offered, as any model. Raises UserError where it cannot be had.
        """
        from decoding import api
        from decoding.speculative_settings import SpeculativeSettings

        if not isinstance(settings, SpeculativeSettings) or not settings.needs_model:
            return None
        name = settings.draft_name
        if name not in MADE_OF_TARGET:
            return self.models.get(name, progress)
        layers = settings.exit_layer if name == "early" else 0
        key = (model.info, name, layers)
        with self._making:
            if key not in self._drafts:
                made = api.load_draft(model, settings, progress)
                assert made is not None
                self._drafts[key] = made
            self._drafts.move_to_end(key)
            while len(self._drafts) > KEPT_DRAFTS:
                self._drafts.popitem(last=False)
            return self._drafts[key]

    def load_draft(self, model: LanguageModel, settings: Settings) -> Iterator[Loading]:
        """Make the draft model ready, yielding progress meanwhile; `draft_of` returns at once afterwards."""
        yield from _told(
            lambda tell: self.draft_of(model, settings, lambda what, fraction: tell(Loading(what, fraction))),
            Loading("", None),
        )

    def racers(self, model: LanguageModel, run: Run, **changes: Any) -> Racers:
        """Plain decoding and speculation from a run's prompt, by its settings or some changed, for timing.

        The draft model is loaded where it is not. Raises UserError where it cannot be had.
        """
        from decoding.speculative.race import Racers
        from decoding.speculative_settings import speculative_settings_from

        settings = replace(speculative_settings_from(run.header.settings), **changes)
        prompt = [token.id for token in run.header.prompt.tokens]
        return Racers(model, self.draft_of(model, settings), prompt, settings, run.header.seed)

    def model_of(self, run: Run) -> LanguageModel:
        """The model that made the run, which is loaded. Raises UserError where nobody has it."""
        return run.model or self.models.get(self.name_of(run))

    def name_of(self, run: Run) -> str:
        """The name under which the run's model is offered."""
        return self.models.name_of(run.header.model)

    def compare(self, run: Run, model: LanguageModel) -> Iterator[tuple[float, str]]:
        """Other searches from the run's prompt, yielding the fraction done and the name of each; kept with the run."""
        from decoding.beam.compare import CONTESTS, contests, exhausted
        from decoding.settings import beam_settings_from

        settings = beam_settings_from(run.header.settings)
        prompt = [token.id for token in run.header.prompt.tokens] + run.token_ids()
        found = []
        for contest in contests(model, prompt, settings, run.header.seed):
            found.append(contest)
            yield len(found) / len(CONTESTS), contest.name
        small = exhausted(model, prompt, settings) if run.header.model.is_table else None
        run.comparison = Comparison(tuple(found), small)

    def exhausted(self, run: Run, settings: Mapping[str, Any]) -> Exhausted | None:
        """The best of all texts by these settings, where the run's comparison looked at all of them."""
        known = run.comparison.exhausted if run.comparison else None
        if known is None or settings["length_penalty"] == run.header.settings["length_penalty"]:
            return known
        from decoding.beam.compare import exhausted
        from decoding.settings import beam_settings_from

        prompt = [token.id for token in run.header.prompt.tokens] + run.token_ids()
        return exhausted(self.model_of(run), prompt, beam_settings_from(settings))

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


class _Left(Exception):
    """Nobody waits any more."""


def _told(work: Callable[[Callable[[News], None]], object], first: News, ends: bool = False) -> Iterator[News]:
    """What `work` tells while it runs in a thread of its own; `first` at once.

    Where there is no news the last is told again, so that one who waits can leave; `ends`: then the work ends too.
    """
    news: queue.Queue[tuple[News] | BaseException | None] = queue.Queue()
    left = threading.Event()

    def tell(item: News) -> None:
        if ends and left.is_set():
            raise _Left
        news.put((item,))

    def run() -> None:
        try:
            work(tell)
            news.put(None)
        except BaseException as error:  # handed to the page that waits
            news.put(error)

    threading.Thread(target=run, daemon=True).start()
    last = first
    try:
        yield last
        while True:
            try:
                item = news.get(timeout=BEAT)
            except queue.Empty:
                yield last
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            last = item[0]
            yield last
    finally:
        left.set()

"""One prompt by plain decoding and by speculation, timed in turns: same engine, same law, same seed.

Both loops record every step, as a page shows it. The clock is an argument: seconds from any start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from decoding.models.protocol import LanguageModel, Output
from decoding.sampling import Uniforms, sample
from decoding.settings import SampleSettings
from decoding.speculative.cost import by_place
from decoding.speculative.counts import counts
from decoding.speculative.drafters import drafter_of
from decoding.speculative.loop import speculate
from decoding.speculative.values import Clocked, Race
from decoding.speculative_settings import SpeculativeSettings
from decoding.trace import SampleStep, SpeculativeStep

Clock = Callable[[], float]
Result = TypeVar("Result")
REPEATS = 3
WARM_STEPS = 2
"""Steps of each loop that are run before anything is timed."""


class Timed:
    """A model whose forwards are timed: `seconds` so far, and those of the `first`."""

    def __init__(self, model: LanguageModel, clock: Clock) -> None:
        self._model, self._clock = model, clock
        self.seconds = self.first = 0.0
        self._any = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def forward(self, *given: Any, **options: Any) -> Output:
        """As the model's own."""
        started = self._clock()
        output = self._model.forward(*given, **options)
        output.own[-1, -1, -1].item()  # waits for a GPU
        taken = self._clock() - started
        self.first, self._any = self.first if self._any else taken, True
        self.seconds += taken
        return output


@dataclass(frozen=True, slots=True)
class Racers:
    """Both loops from one prompt; `draft`: the model that drafts, where the settings need one."""

    model: LanguageModel
    draft: LanguageModel | None
    prompt: Sequence[int]
    settings: SpeculativeSettings
    seed: int
    clock: Clock = time.perf_counter

    def plain(self, exactly: int | None = None) -> _Run:
        """Every token drawn by a direct scan of the law that speculation has for its target.

        `exactly`: so many tokens, past an end token too.
        """
        own, reader = self.settings, self._timed(self.model)
        settings = SampleSettings(own.processors, "direct", exactly or own.max_new_tokens, own.top)
        if exactly:
            reader.end_ids = frozenset()
        return _Run(sample(reader, self.prompt, settings, Uniforms(self.seed)), reader, None, self.clock)

    def speculative(self) -> _Run:
        """In rounds."""
        reader, uniforms = self._timed(self.model), Uniforms(self.seed)
        drafting = self._timed(self.model if self.draft is None else self.draft)
        drafter = (
            drafter_of(drafting, None, self.settings, uniforms)
            if self.draft is None
            else drafter_of(self.model, drafting, self.settings, uniforms)
        )
        steps = speculate(reader, drafter, self.prompt, self.settings, uniforms)
        return _Run(steps, reader, drafting, self.clock)

    def _timed(self, model: LanguageModel) -> Any:
        return Timed(model, self.clock)


class _Run:
    """One of the two loops; iterated to its end it has been timed, without what happens between its steps."""

    def __init__(self, steps: Any, target: Timed, draft: Timed | None, clock: Clock) -> None:
        self._made, self._target, self._draft, self._clock = steps, target, draft, clock
        self.steps: list[SampleStep | SpeculativeStep] = []
        self.ids: list[int] = []
        self._written: list[int] = []
        self._seconds: list[float] = []

    def __iter__(self) -> Iterator[int]:
        """The number of tokens written after each step."""
        elapsed = 0.0
        with closing(self._made) as made:
            started = self._clock()
            for step in made:
                elapsed += self._clock() - started
                self.steps.append(step)
                self.ids += [step.token.id] if isinstance(step, SampleStep) else [token.id for token in step.emitted]
                self._written.append(len(self.ids))
                self._seconds.append(elapsed)
                yield len(self.ids)
                started = self._clock()

    @property
    def total(self) -> float:
        """Seconds of all steps."""
        return self._seconds[-1]

    def clocked(self, totals: Sequence[float]) -> Clocked:
        """As a value, beside the totals of its repeats."""
        target, draft = self._target, self._draft
        return Clocked(
            written=tuple(self._written),
            seconds=tuple(self._seconds),
            target=target.seconds,
            draft=draft.seconds if draft else 0.0,
            first_target=target.first,
            first_draft=draft.first if draft else 0.0,
            totals=tuple(totals),
        )


def racing(racers: Racers, repeats: int = REPEATS, warm: bool = True) -> Generator[float, None, Race]:
    """Yield the fraction done after every step, and return the race.

    `warm`: run the first steps of each before. Then whole runs alternate, and who begins alternates too. Plain
    decoding writes as many tokens as speculation did. Raises UserError as the loops do.
    """
    for start in (racers.plain, racers.speculative) if warm else ():
        for _ in islice(start(), WARM_STEPS):
            yield 0.0
    runs: dict[str, list[_Run]] = {"plain": [], "speculative": []}
    for turn in range(repeats):
        for name in ("speculative", "plain") if turn % 2 == 0 else ("plain", "speculative"):
            as_many = name == "plain" and len(runs["speculative"][0].ids)
            runs[name].append(racers.plain(as_many) if as_many else racers.speculative())
            before = sum(map(len, runs.values())) - 1
            for written in runs[name][-1]:
                yield (before + written / racers.settings.max_new_tokens) / (2 * repeats)
    yield 1.0
    return _race(racers, runs["plain"], runs["speculative"])


def result(running: Generator[object, None, Result]) -> Result:
    """What a measurement returns, run to its end."""
    while True:
        try:
            next(running)
        except StopIteration as end:
            return end.value


def _race(racers: Racers, plain: Sequence[_Run], speculative: Sequence[_Run]) -> Race:
    """Of each loop the run in the middle by time."""
    rounds = [step for step in speculative[0].steps if isinstance(step, SpeculativeStep)]
    settings = racers.settings
    drafting = racers.model if settings.drafter == "oracle" else racers.draft
    return Race(
        drafter=settings.drafter,
        gamma=settings.gamma,
        draft=None if drafting is None else drafting.info,
        plain=_middle(plain),
        speculative=_middle(speculative),
        counts=counts(rounds),
        places=by_place(rounds),
        same_text=plain[0].ids == speculative[0].ids,
    )


def _middle(runs: Sequence[_Run]) -> Clocked:
    by_time = sorted(runs, key=lambda run: run.total)
    return by_time[(len(runs) - 1) // 2].clocked([run.total for run in runs])

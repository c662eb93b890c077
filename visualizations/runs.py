"""The runs people look at, kept on the server by an id that cannot be guessed.

A step is kept as compressed JSON (a few KB), and read back when somebody looks at it. The store
holds a fixed number of bytes and forgets the run that was looked at longest ago; recorded lessons
are never forgotten.
"""

from __future__ import annotations

import itertools
import secrets
import threading
import zlib
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from decoding import codec
from decoding.errors import UserError
from decoding.trace import BeamStep, Finish, Header, SampleStep, SpeculativeStep, Step, Token, Trace
from decoding.values import Comparison, Tokenization

if TYPE_CHECKING:
    from decoding.models.protocol import LanguageModel

STORE_BYTES = 96_000_000
FAMILY_LIMIT = 12
"""Most branches of one run that are kept to return to."""

_births = itertools.count()


@lru_cache(maxsize=256)
def _unpack(packed: bytes) -> Step:
    """Reading a step takes 5 ms, and one that is looked at is asked for again and again."""
    return codec.loads(zlib.decompress(packed), Step)


@dataclass
class Run:
    """A run in the making or finished. `drawn`: token, probability, model's probability per token sampled.

    `emitted`: the tokens that rounds of speculative decoding gave. `model`: where it is the visitor's own, and no
    server has it by name. `comparison`: other searches beside it. `measured`: what its page measured, by panel.
    `lesson`: the recorded run that it is, is a copy of, or branched from.
    """

    id: str
    header: Header
    family: str
    branched_at: int | None = None
    lesson: str | None = None
    packed: list[bytes] = field(default_factory=list)
    drawn: list[tuple[Token, float, float]] = field(default_factory=list)
    emitted: list[Token] = field(default_factory=list)
    finish: Finish | None = None
    tokenization: Tokenization | None = None
    text: str = ""
    model: LanguageModel | None = None
    comparison: Comparison | None = None
    measured: dict[str, Any] = field(default_factory=dict)
    born: int = field(default_factory=_births.__next__)

    @property
    def recording(self) -> str | None:
        """The lesson whose recorded run this is, or is a visitor's copy of."""
        return self.lesson if self.branched_at is None else None

    @property
    def size(self) -> int:
        """Bytes the steps take, roughly."""
        return 2000 + sum(map(len, self.packed))

    def append(self, step: Step) -> None:
        """Keep one more step."""
        self.packed.append(zlib.compress(codec.dumps(step).encode(), 1))
        if isinstance(step, SampleStep):
            self.drawn.append((step.token, step.prob, step.model_prob))
        if isinstance(step, SpeculativeStep):
            self.emitted += step.emitted

    def step(self, index: int) -> SampleStep:
        """Step `index`, from 0, of a run that samples; raises UserError for one that searches."""
        step = _unpack(self.packed[index])
        if not isinstance(step, SampleStep):
            raise UserError("run_elsewhere")
        return step

    def at(self, moment: int) -> Step:
        """The step that the player's picture `moment` is of; the last one for a moment beyond."""
        place = len(self.drawn) + moment // 2 if self.header.method == "beam" else moment
        return _unpack(self.packed[max(0, min(place, len(self.packed) - 1))])

    def searched(self) -> tuple[BeamStep, ...]:
        """The depths of a beam search, without the tokens sampled before it."""
        steps = map(_unpack, self.packed[len(self.drawn) :])
        return tuple(step for step in steps if isinstance(step, BeamStep))

    def rounds(self) -> tuple[SpeculativeStep, ...]:
        """The rounds of speculative decoding."""
        return tuple(step for step in map(_unpack, self.packed) if isinstance(step, SpeculativeStep))

    @property
    def moments(self) -> int:
        """How many pictures a player goes through: one a sampled token or a round; two a depth of a search."""
        return len(self.packed) if self.header.method != "beam" else 2 * (len(self.packed) - len(self.drawn))

    def token_ids(self, count: int | None = None) -> list[int]:
        """Ids of the first `count` new tokens."""
        return [token.id for token in (self.emitted or [token for token, _, _ in self.drawn])[:count]]

    def trace(self) -> Trace:
        """The whole run, to save."""
        steps = tuple(map(_unpack, self.packed))
        return Trace(self.header, steps, self.finish or Finish("cancelled", tuple(self.token_ids()), ""))


class Runs:
    """Run id -> Run, bounded in bytes; least recently used first out."""

    def __init__(self, limit: int = STORE_BYTES) -> None:
        self._limit = limit
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._pinned: dict[str, Run] = {}
        self._lock = threading.Lock()

    def new(self, header: Header) -> Run:
        """An empty run, the first of its family."""
        id = secrets.token_urlsafe(12)
        return self.add(Run(id, header, family=id))

    def branch(self, parent: Run, at: int, header: Header, known: Collection[str] = ()) -> Run:
        """A new run that shares `parent`'s first `at` steps; `known`: ids of runs that the visitor has seen."""
        id = secrets.token_urlsafe(12)
        family, lesson = parent.family, parent.lesson
        if parent.id in self._pinned:  # everybody sees it; nobody sees what another branched from it
            family, lesson = next(iter(self._own(parent, known)), id), parent.id
        run = Run(id, header, family, at, lesson, parent.packed[:at], parent.drawn[:at])
        return self.add(run)

    def own(self, run: Run) -> Run:
        """A visitor's copy of a run that everybody sees, to keep what only this visitor made; not kept before `add`."""
        id = secrets.token_urlsafe(12)
        lists = {"packed": [*run.packed], "drawn": [*run.drawn], "emitted": [*run.emitted]}
        born = {"measured": dict(run.measured), "born": next(_births)}
        return replace(run, id=id, family=id, **lists, **born)

    def find(self, parent: Run, at: int, token: int, known: Collection[str] = ()) -> Run | None:
        """The run that took `token` after `parent`'s first `at` steps and was left to go on alone; None if none did."""
        wanted = [*parent.token_ids(at), token]
        for run in self.family(parent, known):
            forced = [int(position) for position in run.header.settings.get("forced", {})]
            if run.token_ids(at + 1) == wanted and max(forced, default=0) <= at:
                return run
        return None

    def pin(self, id: str, trace: Trace) -> Run:
        """Keep a recorded trace for good under a fixed id."""
        run = Run(id, trace.header, family=id, lesson=id)
        for step in trace.steps:
            run.append(step)
        run.finish = trace.finish
        self._pinned[id] = run
        return run

    def pinned(self, id: str) -> Run | None:
        """The recorded run of this name, where it has been read."""
        return self._pinned.get(id)

    def get(self, id: Any) -> Run:
        """The run; raises UserError where it is no longer (or never was) here."""
        with self._lock:
            if not isinstance(id, str) or not (id in self._pinned or id in self._runs):
                raise UserError("run_forgotten")
            if id in self._pinned:
                return self._pinned[id]
            self._runs.move_to_end(id)
            return self._runs[id]

    def family(self, run: Run, known: Collection[str] = ()) -> list[Run]:
        """This run's relatives and itself, oldest first; of a recorded run's, those among the `known`."""
        with self._lock:
            families = {run.family, *self._own(run, known)}
            others = [r for r in self._runs.values() if r.family in families]
            pinned = [r for r in self._pinned.values() if r.id in (run.id, run.lesson)]
        members = pinned + sorted(others, key=lambda r: r.born)
        return members[:1] + members[1:][-FAMILY_LIMIT + 1 :]  # the first run always stays

    def _own(self, recorded: Run, known: Collection[str]) -> list[str]:
        """The families of known runs that branched from a recorded one."""
        runs = [self._runs[id] for id in known if id in self._runs]
        return [run.family for run in runs if run.lesson == recorded.id]

    def latest(self) -> list[Run]:
        """All runs kept, oldest first, without the recorded ones."""
        with self._lock:
            return sorted(self._runs.values(), key=lambda run: run.born)

    def trim(self) -> None:
        """Forget the runs looked at longest ago until the store fits its limit."""
        with self._lock:
            total = sum(run.size for run in self._runs.values())
            while total > self._limit and len(self._runs) > 1:
                _, run = self._runs.popitem(last=False)
                total -= run.size

    def add(self, run: Run) -> Run:
        """Keep a run under its id."""
        with self._lock:
            self._runs[run.id] = run
        self.trim()
        return run

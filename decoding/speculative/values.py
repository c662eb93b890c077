"""What measuring speculative decoding gives: races, sweeps, and laws compared. Standard library only."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

from decoding.speculative.counts import Counts
from decoding.trace import ModelInfo, Token
from decoding.values import ForwardTimes


@dataclass(frozen=True, slots=True)
class Clocked:
    """One run by the clock: `written[i]` tokens after `seconds[i]`, counted from before the prompt is read.

    Of all these seconds `target` and `draft` went into forwards of the two models, the rest into everything else;
    `first_target` and `first_draft` into the first forward of each, which reads the prompt.
    `totals`: seconds of each repeat, in turn; the run told here is the one in the middle of them.
    """

    written: tuple[int, ...]
    seconds: tuple[float, ...]
    target: float
    draft: float
    first_target: float
    first_draft: float
    totals: tuple[float, ...]

    @property
    def total(self) -> float:
        """Seconds of the whole run."""
        return self.seconds[-1]

    @property
    def rest(self) -> float:
        """Seconds in which no model was read: laws, draws, verdicts, and the record of all of them."""
        return max(0.0, self.total - self.target - self.draft)

    @property
    def per_token(self) -> float:
        """Seconds per new token."""
        return self.total / self.written[-1]

    @property
    def durations(self) -> tuple[float, ...]:
        """Seconds of each step."""
        return tuple(end - start for start, end in zip((0.0, *self.seconds), self.seconds, strict=False))

    def written_by(self, seconds: float) -> int:
        """Tokens written so many seconds after the start."""
        steps = bisect_right(self.seconds, seconds)
        return self.written[steps - 1] if steps else 0


@dataclass(frozen=True, slots=True)
class Judged:
    """How many drafts were judged, and how many of those accepted."""

    judged: int
    accepted: int

    @property
    def share(self) -> float | None:
        """Accepted of those judged; None where none was."""
        return self.accepted / self.judged if self.judged else None


@dataclass(frozen=True, slots=True)
class Race:
    """One prompt by plain decoding and by speculation, in turns on one machine: same engine, law, seed and length.

    `places[i]`: the drafts that stood (i + 1)th in their round. `same_text`: whether both wrote the same tokens.
    """

    drafter: str
    gamma: int
    draft: ModelInfo | None
    plain: Clocked
    speculative: Clocked
    counts: Counts
    places: tuple[Judged, ...]
    same_text: bool

    @property
    def speedup(self) -> float:
        """Plain seconds per token by speculative seconds per token."""
        return self.plain.per_token / self.speculative.per_token

    @property
    def speedups(self) -> tuple[float, ...]:
        """That of each repeat."""
        tokens = self.speculative.written[-1] / self.plain.written[-1]
        pairs = zip(self.plain.totals, self.speculative.totals, strict=True)
        return tuple(tokens * plain / speculative for plain, speculative in pairs)

    @property
    def draft_cost(self) -> float | None:
        """c: a forward of the draft model by a plain step's, both means of this race; None where no model drafts.

        Here and in the costs below the first forward counts only where there is no other: it reads the prompt.
        """
        run, passes = self.speculative, self.counts.draft_passes
        return _mean(run.draft, run.first_draft, passes) / self.plain_forward if passes else None

    @property
    def check_cost(self) -> float:
        """A round's forward of the target by a plain step's, both means of this race."""
        run = self.speculative
        return _mean(run.target, run.first_target, self.counts.target_passes) / self.plain_forward

    @property
    def plain_forward(self) -> float:
        """Seconds of a plain step's forward, on average."""
        return _mean(self.plain.target, self.plain.first_target, len(self.plain.written))


def _mean(seconds: float, first: float, count: int) -> float:
    """Of so many forwards without the first, or of the only one."""
    return (seconds - first) / (count - 1) if count > 1 else seconds


@dataclass(frozen=True, slots=True)
class GammaSweep:
    """The same race for each gamma, ascending; and what a forward of the target takes, where that can be measured."""

    model: ModelInfo
    races: tuple[Race, ...]
    target_times: ForwardTimes | None = None

    @property
    def acceptance(self) -> float | None:
        """alpha over all races: accepted of all drafts judged."""
        return Judged(*map(sum, zip(*((r.counts.judged, r.counts.accepted) for r in self.races), strict=True))).share

    @property
    def places(self) -> tuple[Judged, ...]:
        """By position in the round, over all races."""
        longest = max(len(race.places) for race in self.races)
        found = [[race.places[at] for race in self.races if at < len(race.places)] for at in range(longest)]
        return tuple(Judged(sum(p.judged for p in some), sum(p.accepted for p in some)) for some in found)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A drafter that this model cannot have: the error's `code`, and the name of the `model`."""

    drafter: str
    code: str
    model: str


@dataclass(frozen=True, slots=True)
class Alignment:
    """The same prompt raced with each drafter, all else alike."""

    model: ModelInfo
    races: tuple[Race, ...]
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Excess:
    """The token that a rule writes most too often: its probability in the target's law, and in what the rule emits."""

    token: Token
    target_prob: float
    emitted_prob: float


@dataclass(frozen=True, slots=True)
class EmittedLaw:
    """What one rule emits where p is the target's law and q the draft's.

    `exact`: total variation between the law of what it emits, all cases summed, and p; `measured`: that of the draws.
    `acceptance`: chance that a draft is accepted, exactly; None for plain sampling.
    """

    rule: Literal["plain", "lossless", "exact", "top_k", "typical"]
    lossless: bool
    exact: float
    measured: float
    acceptance: float | None
    excess: Excess | None


@dataclass(frozen=True, slots=True)
class LawTest:
    """One token drawn `draws` times by every rule, and how far each is from the target's law.

    `kept`: tokens that the target can draw. `expected`: mean total variation of so many fair draws, which stays below
    `high` with probability `level` at least.
    """

    draws: int
    seed: int
    kept: int
    expected: float
    high: float
    level: float
    rules: tuple[EmittedLaw, ...]

"""Values beside a run: how a prompt was split, and sweeps over one step's law. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import linear_regression

from decoding.trace import Distribution, ModelInfo, Returned, Token


@dataclass(frozen=True, slots=True)
class Merge:
    """One byte-pair merge: its `rank` in the merge list (lower was learned earlier), then the pieces."""

    rank: int
    pieces: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A pre-token: tokens `first` to `first + count - 1` of the prompt, and the merges that made them."""

    text: str
    first: int
    count: int
    start: tuple[Token, ...]
    merges: tuple[Merge, ...]


@dataclass(frozen=True, slots=True)
class Tokenization:
    """A prompt as the tokenizer sees it."""

    tokens: tuple[Token, ...]
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Effects:
    """One step's law under temperature T, and under T then top-p, over a grid.

    `probs[i][j]`: probability of `tokens[i]` at `temperatures[j]`; `entropies[j]` in bits;
    `kept[k][j]`: tokens that top-p at `top_ps[k]` keeps at `temperatures[j]`.
    """

    tokens: tuple[Token, ...]
    temperatures: tuple[float, ...]
    probs: tuple[tuple[float, ...], ...]
    entropies: tuple[float, ...]
    top_ps: tuple[float, ...]
    kept: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """`draws` independent draws from one law: how often each token of `law.top` came, and the rest.

    `total_variation`: half the sum of |empirical - exact| over the whole vocabulary; `expected`: its mean
    for so many fair draws, exactly.
    """

    law: Distribution
    draws: int
    counts: tuple[int, ...]
    tail_count: int
    total_variation: float
    expected: float


@dataclass(frozen=True, slots=True)
class Contest:
    """One of several searches from the same prompt: `name`, its width and rules, the text it found.

    `logprob`: nats, of the new tokens from where the search starts; `score`: that by length. `forwards`: of the
    model, whatever the batch. `expanded`: beams whose extensions were computed, the root included. `considered`:
    those extensions.
    """

    name: str
    num_beams: int
    rules: Mapping[str, float]
    text: str
    token_ids: tuple[int, ...]
    logprob: float
    score: float
    forwards: int
    expanded: int
    considered: int


@dataclass(frozen=True, slots=True)
class Exhausted:
    """All texts of a small model counted: how many there are, and the best of them by score.

    `left_out`: those with the word that stands for all words not named.
    """

    texts: int
    best: Returned
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Searches side by side; `exhausted` where the model is small enough to look at every text."""

    contests: tuple[Contest, ...]
    exhausted: Exhausted | None = None


@dataclass(frozen=True, slots=True)
class ForwardTime:
    """The time of one forward of so many new tokens, or rows with one each."""

    count: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class ForwardTimes:
    """What a forward takes on one machine, after `context` tokens: the best of several.

    `tokens`: of one text with n new tokens, T(n); `rows`: of b texts with one new token each, B(b).
    `weight_bytes`: what every forward reads of the weights. `bandwidth`: bytes a second that the same
    machine reads at best of as many bytes in memory. `cores`: those the process may use.
    """

    model: ModelInfo
    machine: str
    cores: int
    context: int
    weight_bytes: int
    bandwidth: float
    tokens: tuple[ForwardTime, ...]
    rows: tuple[ForwardTime, ...]

    @property
    def floor(self) -> float:
        """Milliseconds that reading the weights takes at that bandwidth: no forward is quicker."""
        return 1000 * self.weight_bytes / self.bandwidth

    @property
    def slope(self) -> float:
        """Milliseconds that each further token adds at the end: of the line of least squares, n >= last / 2."""
        last = self.tokens[-1].count
        late = [time for time in self.tokens if 2 * time.count >= last]
        if len(late) < 2:
            return 0.0
        return linear_regression([time.count for time in late], [time.milliseconds for time in late]).slope

    @property
    def ridge(self) -> float:
        """The n whose arithmetic takes as long as one whole step: T(1) / slope, between 1 and the last n."""
        last = float(self.tokens[-1].count)
        return min(max(self.of_tokens(1) / self.slope, 1.0), last) if self.slope > 0 else last

    def of_tokens(self, count: int) -> float:
        """T(count) in milliseconds, on the line between the two measured counts around it."""
        return _between(self.tokens, count)

    def of_rows(self, count: int) -> float:
        """B(count) in milliseconds, in the same way."""
        return _between(self.rows, count)


def _between(times: tuple[ForwardTime, ...], count: int) -> float:
    """Linear interpolation; the last two go on beyond the last."""
    above = next((i for i, time in enumerate(times) if time.count >= count), len(times) - 1)
    high, low = times[above], times[max(above - 1, 0)]
    if high.count == low.count or high.count == count:
        return high.milliseconds
    slope = (high.milliseconds - low.milliseconds) / (high.count - low.count)
    return low.milliseconds + slope * (count - low.count)

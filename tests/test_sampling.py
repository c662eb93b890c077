"""The token loop: exact laws by enumeration, ends, branches, seeds, and what it leaves in memory (nothing)."""

from __future__ import annotations

import itertools
import json
import math
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from scipy.stats import chi2
from torch import Tensor

from decoding.errors import UserError
from decoding.models import load
from decoding.models.toy import ToyCache, ToyModel
from decoding.observe import HEADS
from decoding.processors import FrequencyPenalty, NoRepeatNGram, PresencePenalty, RepetitionPenalty
from decoding.samplers import SAMPLERS
from decoding.sampling import Uniforms, decide, logits_after, sample
from decoding.settings import SampleSettings, greedy_settings, sample_settings
from decoding.trace import ForcedDraw, SampleStep, Token
from tests.conftest import keys_of

FALSE_ALARM = 1e-6
"""Odds that right code fails one chi-square test. The seeds are fixed, so a pass stays a pass."""

TABLE = {
    "name": "quarters",
    "end": "<end>",
    "max_words": 3,
    "rows": {
        "": {"a": 0.5, "b": 0.25, "c": 0.25},
        "a": {"a": 0.25, "b": 0.25, "c": 0.25, "<end>": 0.25},
        "b": {"c": 0.75, "<end>": 0.25},
        "a b": {"a": 0.5, "b": 0.5},
        "b c": {"a": 0.25, "b": 0.5, "<end>": 0.25},
    },
    "default": {"c": 0.75, "a": 0.25},
}
"""Every probability is a multiple of a quarter, so a grid of uniforms gives the law exactly."""

Output = tuple[str, ...]
Law = dict[Output, float]


@pytest.fixture(scope="module")
def quarters(tmp_path_factory: Any) -> Any:
    path = tmp_path_factory.mktemp("tables") / "quarters.json"
    path.write_text(json.dumps(TABLE))
    return load(f"toy:{path}")


def conditional(words: Output) -> dict[str, float]:
    """The table's next word, read from the table itself."""
    if len(words) == TABLE["max_words"]:
        return {"<end>": 1.0}
    rows: dict[str, dict[str, float]] = TABLE["rows"]  # type: ignore[assignment]
    return rows.get(" ".join(words), TABLE["default"])  # type: ignore[arg-type]


def outputs(change: Any = lambda law: law, words: Output = (), prob: float = 1.0) -> Law:
    """Every output and its probability: the product of the conditionals, each changed first."""
    law: Law = {}
    for word, p in change(conditional(words)).items():
        if word == "<end>":
            law[(*words, word)] = prob * p
        elif p > 0:
            law |= outputs(change, (*words, word), prob * p)
    return law


def said(model: Any, steps: Sequence[SampleStep] | Iterator[SampleStep]) -> Output:
    return tuple(step.token.text for step in steps)


class Grid:
    """Uniforms chosen beforehand, one row per position, in place of the seed's."""

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        self.rows = rows

    def at(self, position: int, count: int) -> Tensor:
        row = self.rows[position] if position < len(self.rows) else (0.5, 0.5)
        return torch.tensor(row[:count], dtype=torch.float64)


# --- laws by enumeration ---------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["direct", "binary"])
def test_a_grid_of_uniforms_gives_the_exact_law(quarters: Any, sampler: str) -> None:
    """Three draws, each with the four midpoints of the quarters: no chance in it, so equality and not odds."""
    cells = [(i + 0.5) / 4 for i in range(4)]
    asked = sample_settings(sampler=sampler, max_new_tokens=4)
    found: Counter[Output] = Counter()
    for rows in itertools.product(cells, repeat=3):
        steps = sample(quarters, quarters.encode(""), asked, Grid([[u] for u in rows]))  # type: ignore[arg-type]
        found[said(quarters, steps)] += 1
    law = outputs()
    assert {words: count / 64 for words, count in found.items()} == pytest.approx(law, abs=1e-12)
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)


def test_a_grid_of_columns_and_coins_gives_the_exact_law(quarters: Any) -> None:
    """Alias: twelve columns' midpoints (for two, three or four columns) times four coins, for two draws."""
    columns, coins = [(i + 0.5) / 12 for i in range(12)], [(i + 0.5) / 4 for i in range(4)]
    asked = sample_settings(sampler="alias", max_new_tokens=1)
    for words in [(), ("a",), ("b",), ("a", "b"), ("b", "c"), ("c",)]:
        prompt = quarters.encode(" ".join(words))
        found: Counter[str] = Counter()
        for row in itertools.product(columns, coins):
            (step,) = sample(quarters, prompt, asked, Grid([row]))  # type: ignore[arg-type]
            found[step.token.text] += 1
        assert {word: count / 48 for word, count in found.items()} == pytest.approx(conditional(words), abs=1e-12)


def test_gumbel_on_a_grid_is_the_law_in_the_limit(quarters: Any) -> None:
    """Two tokens, p = (.75, .25): the midpoints of a 40 x 40 grid count each cell right but those cut by the border.

    The border is one curve that crosses at most 2 * 40 cells, so the count is off by at most 2 / 40.
    """
    asked = sample_settings(sampler="gumbel", max_new_tokens=1)
    prompt = quarters.encode("b")
    cells = [(i + 0.5) / 40 for i in range(40)]
    wins = sum(
        next(sample(quarters, prompt, asked, Grid([row]))).token.text == "c"  # type: ignore[arg-type]
        for row in itertools.product(cells, repeat=2)
    )
    assert wins / 1600 == pytest.approx(0.75, abs=0.05)


def scaled(law: dict[str, float]) -> dict[str, float]:
    """T = 2, then the three most likely, lowest id first on ties: by definition, apart from our code."""
    order = sorted(law, key=lambda word: (-law[word], ["a", "b", "c", "<end>"].index(word)))[:3]
    weights = {word: law[word] ** 0.5 for word in order}
    return {word: weight / sum(weights.values()) for word, weight in weights.items()}


@pytest.mark.parametrize("sampler", ["direct", "binary", "alias", "gumbel"])
@pytest.mark.parametrize("options", [{}, {"temperature": 2.0, "top_k": 3}], ids=["plain", "processed"])
def test_over_seeds_every_sampler_has_the_law(quarters: Any, sampler: str, options: dict[str, Any]) -> None:
    """600 seeds against the product of the conditionals, outputs below 5 expected counts put together."""
    asked = sample_settings(sampler=sampler, max_new_tokens=4, top=1, **options)
    prompt, runs = quarters.encode(""), 600
    found = Counter(said(quarters, sample(quarters, prompt, asked, Uniforms(seed))) for seed in range(runs))
    law = outputs(scaled) if options else outputs()
    assert set(found) <= set(law)
    rare = {words for words, p in law.items() if p * runs < 5}
    cells = [(found[words], p * runs) for words, p in law.items() if words not in rare]
    if rare:
        cells.append((sum(found[words] for words in rare), sum(law[words] for words in rare) * runs))
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in cells)
    assert chi2.sf(statistic, len(cells) - 1) > FALSE_ALARM


def test_scan_and_search_draw_the_same_token() -> None:
    """The same uniform on a law of many ties: direct scans heads of the ranks, binary searches all of them."""
    logits = (torch.randn(6000, generator=torch.Generator().manual_seed(3))).bfloat16().float()
    for kept in (logits, torch.zeros(6000), logits.masked_fill(torch.arange(6000) % 3 == 0, -math.inf)):
        for seed in range(25):
            drawn = {
                decide(kept, torch.tensor([0]), 0, sample_settings(sampler=name), Uniforms(seed), _token).token.id
                for name in ("direct", "binary")
            }
            assert len(drawn) == 1


def test_a_direct_scan_reaches_every_token_of_a_flat_law() -> None:
    """Case 6's kind: where all tie, each token covers one interval of its own, whichever head it is in."""
    size = HEADS[0] + 44
    asked = sample_settings(top=1)
    drawn = [
        decide(torch.zeros(size), torch.tensor([0]), 0, asked, Grid([[(i + 0.5) / size]]), _token).token.id  # type: ignore[arg-type]
        for i in range(size)
    ]
    assert drawn == list(range(size))


def _token(id: int) -> Token:
    return Token(id, str(id))


# --- greedy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_temperature_zero_is_greedy(tiny_llama: Any, sampler: str) -> None:
    """Case 1, with every sampler and at T so small that it is greedy to the eye."""
    prompt = tiny_llama.encode("the sky")
    greedy = [step.token.id for step in sample(tiny_llama, prompt, greedy_settings(12), Uniforms(0))]
    for temperature in (0, 1e-6, 1e-300):
        asked = sample_settings(sampler=sampler, temperature=temperature, max_new_tokens=12)
        steps = list(sample(tiny_llama, prompt, asked, Uniforms(9)))
        assert [step.token.id for step in steps] == greedy
        assert all(math.isfinite(step.prob) and step.prob > 1 - 1e-9 for step in steps)


def test_greedy_takes_the_lecture_to_its_end() -> None:
    model = load("toy:lecture")
    steps = list(sample(model, model.encode(""), greedy_settings(), Uniforms(0)))
    assert said(model, steps) == ("I", "like", "singing", "<end>")
    assert [step.prob for step in steps] == pytest.approx([0.4, 0.4, 0.6, 1], abs=1e-12)
    assert [step.position for step in steps] == [0, 1, 2, 3]


# --- ends ------------------------------------------------------------------------------------------


def test_a_run_ends_on_the_end_token_or_on_length(quarters: Any) -> None:
    for seed in range(30):
        for length in (1, 2, 3, 4, 9):
            asked = sample_settings(max_new_tokens=length)
            words = said(quarters, sample(quarters, quarters.encode(""), asked, Uniforms(seed)))
            assert len(words) == length or words[-1] == "<end>"
            assert "<end>" not in words[:-1]


def test_any_of_several_end_tokens_ends_a_run(quarters: Any) -> None:
    class TwoEnds(ToyModel):
        @property
        def end_ids(self) -> frozenset[int]:
            return super().end_ids | {self.encode("c")[-1]}

    model = TwoEnds(quarters._table)
    ends: Counter[str] = Counter()
    for seed in range(60):
        words = said(model, sample(model, model.encode(""), sample_settings(), Uniforms(seed)))
        assert words[-1] in ("c", "<end>") and not {"c", "<end>"} & set(words[:-1])
        ends[words[-1]] += 1
    assert len(ends) == 2


def test_a_run_that_has_ended_goes_no_further(quarters: Any) -> None:
    (end,) = quarters.end_ids
    known = [*quarters.encode("a")[1:], end]
    assert list(sample(quarters, quarters.encode(""), sample_settings(), Uniforms(0), known)) == []


def test_a_full_run_goes_no_further(quarters: Any) -> None:
    known = quarters.encode("a b")[1:]
    assert list(sample(quarters, quarters.encode(""), sample_settings(max_new_tokens=2), Uniforms(0), known)) == []


class Watched(ToyModel):
    """A toy that remembers its caches without keeping them alive."""

    def __init__(self, table: Any, breaks_at: int | None = None) -> None:
        super().__init__(table)
        self.caches: list[weakref.ref[ToyCache]] = []
        self.forwards = 0
        self.breaks_at = breaks_at

    def new_cache(self, batch: int = 1) -> ToyCache:
        cache = super().new_cache(batch)
        self.caches.append(weakref.ref(cache))
        return cache

    def forward(self, tokens: Tensor, cache: Any, *args: Any, **options: Any) -> Any:
        self.forwards += 1
        output = super().forward(tokens, cache, *args, **options)
        if self.forwards == self.breaks_at:
            output.logits[:] = math.nan
        return output

    def held(self) -> int:
        return sum(ref() is not None for ref in self.caches)


def test_closing_frees_the_cache_and_stops_the_model(quarters: Any) -> None:
    """Case 15: within one step, and though the caller still holds the generator."""
    model = Watched(quarters._table)
    steps = sample(model, model.encode(""), greedy_settings(), Uniforms(0))
    assert model.caches == []  # nothing before the first step is asked for
    next(steps)
    assert model.held() == 1
    steps.close()  # type: ignore[attr-defined]
    assert model.held() == 0 and model.forwards == 1
    with pytest.raises(StopIteration):
        next(steps)
    assert model.forwards == 1


def test_a_run_to_the_end_frees_the_cache(quarters: Any) -> None:
    model = Watched(quarters._table)
    steps = sample(model, model.encode(""), greedy_settings(), Uniforms(0))
    list(steps)
    assert len(model.caches) == 1 and model.held() == 0


def test_an_error_frees_the_cache_though_it_is_kept(quarters: Any) -> None:
    """The page keeps the error to show it; the frames in its traceback must not keep the cache."""
    model = Watched(quarters._table, breaks_at=2)
    steps = sample(model, model.encode(""), greedy_settings(), Uniforms(0))
    next(steps)
    with pytest.raises(UserError) as caught:
        next(steps)
    assert caught.value.code == "broken_logits" and model.held() == 0


def test_a_generator_let_go_frees_the_cache(quarters: Any) -> None:
    model = Watched(quarters._table)
    steps = sample(model, model.encode(""), greedy_settings(), Uniforms(0))
    next(steps)
    del steps
    assert model.held() == 0


def test_each_token_is_read_once(quarters: Any) -> None:
    """The prompt in one forward, then one forward a step: the last token is never read."""
    model = Watched(quarters._table)
    steps = list(sample(model, model.encode("a"), greedy_settings(2), Uniforms(0)))
    assert model.forwards == len(steps) == 2


def test_closing_a_neural_run_frees_its_keys_and_values(tiny_llama: Any) -> None:
    steps = sample(tiny_llama, tiny_llama.encode("the sea"), greedy_settings(), Uniforms(0))
    caches: list[Any] = []
    make = type(tiny_llama).new_cache

    def new_cache(self: Any, batch: int = 1) -> Any:
        cache = make(self, batch)
        caches.append(weakref.ref(cache))
        return cache

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tiny_llama), "new_cache", new_cache)
        next(steps)
        keys = weakref.ref(keys_of(caches[0]()))
        steps.close()  # type: ignore[attr-defined]
    assert caches[0]() is None and keys() is None


# --- branches --------------------------------------------------------------------------------------


def test_a_branch_is_the_run_from_scratch(quarters: Any) -> None:
    """Every output, every position, every token forced there: known steps and forced token, against one whole run."""
    prompt = quarters.encode("")
    for seed in range(8):
        whole = list(sample(quarters, prompt, sample_settings(), Uniforms(seed)))
        for at in range(len(whole)):
            for token in range(4):
                asked = sample_settings(forced={at: token})
                scratch = list(sample(quarters, prompt, asked, Uniforms(seed)))
                known = [step.token.id for step in whole[:at]]
                branch = list(sample(quarters, prompt, asked, Uniforms(seed), known))
                assert whole[:at] + branch == scratch
                assert branch[0].draw == ForcedDraw() and branch[0].token.id == token


def test_a_run_resumed_anywhere_is_the_whole_run(tiny_llama: Any) -> None:
    """Tokens and draws alike; probabilities to rounding, since several tokens are read in one forward."""
    prompt = tiny_llama.encode("she said")
    asked = sample_settings(temperature=1.2, top_k=40, repetition_penalty=1.2, max_new_tokens=12)
    whole = list(sample(tiny_llama, prompt, asked, Uniforms(4)))
    for at in (1, 5, 11):
        rest = list(sample(tiny_llama, prompt, asked, Uniforms(4), [step.token.id for step in whole[:at]]))
        assert [(s.position, s.token) for s in rest] == [(s.position, s.token) for s in whole[at:]]
        assert [s.prob for s in rest] == pytest.approx([s.prob for s in whole[at:]], abs=1e-5)


def test_a_forced_end_token_ends_the_run(quarters: Any) -> None:
    (end,) = quarters.end_ids
    asked = sample_settings(forced={1: end})
    steps = list(sample(quarters, quarters.encode(""), asked, Uniforms(0)))
    assert len(steps) == 2 and steps[-1].token.id == end and steps[-1].draw == ForcedDraw()


def test_logits_after_are_those_of_the_loop(tiny_llama: Any) -> None:
    prompt = tiny_llama.encode("in 1995")
    steps = list(sample(tiny_llama, prompt, greedy_settings(5, top=50), Uniforms(0)))
    for at, step in enumerate(steps):
        logits = logits_after(tiny_llama, [*prompt, *(s.token.id for s in steps[:at])])
        assert logits.dtype == torch.float32 and logits.shape == (tiny_llama.info.vocab_size,)
        for c in step.stages[0].result.top:
            assert c.logit == pytest.approx(logits[c.token.id].item(), abs=1e-4)


# --- seeds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_same_seed_gives_the_same_steps(tiny_llama: Any, sampler: str) -> None:
    asked = sample_settings(sampler=sampler, temperature=1.5, max_new_tokens=8)
    first, again = (list(sample(tiny_llama, [5, 6], asked, Uniforms(3))) for _ in range(2))
    assert first == again


def test_other_seeds_give_other_texts(tiny_llama: Any) -> None:
    """40 seeds at high entropy, 12 tokens each: two alike by chance has odds below 1e-12."""
    asked = sample_settings(temperature=5, max_new_tokens=12, top=1)
    steps = [list(sample(tiny_llama, [5, 6], asked, Uniforms(seed))) for seed in range(40)]
    likely = max(math.prod(step.prob for step in run) for run in steps if len(run) == 12)
    assert likely < 1e-16
    texts = [tuple(step.token.id for step in run) for run in steps if len(run) == 12]
    assert len(texts) > 20 and len(set(texts)) == len(texts)


def test_a_position_draws_by_itself() -> None:
    """Same seed and position, same numbers, however many are asked for; another thread's draws change nothing."""
    expected = Uniforms(11).at(5, 3)
    torch.manual_seed(0)
    torch.rand(10)
    assert torch.equal(Uniforms(11).at(5, 3), expected)
    assert torch.equal(Uniforms(11).at(5, 300)[:3], expected)
    state = torch.get_rng_state()
    Uniforms(2).at(1, 100)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32, 2**62, 2**63 - 1])
def test_every_seed_draws(seed: int) -> None:
    numbers = Uniforms(seed).at(255, 1000)
    assert numbers.dtype == torch.float64 and bool(((numbers >= 0) & (numbers < 1)).all())
    assert len(set(numbers.tolist())) == 1000


def test_seeds_and_positions_give_unrelated_streams() -> None:
    """First uniforms of 120 seeds at 120 positions: uniform, and unrelated to those of the neighbours.

    Chi-square on 50 cells, then on 8 x 8 cells of pairs one seed, one position, or one of each apart,
    and of the first two numbers of one stream: right code fails one of the five with odds 1e-6.
    """
    grid = torch.stack([torch.stack([Uniforms(s).at(p, 2) for p in range(120)]) for s in range(120)])
    first, second = grid[..., 0], grid[..., 1]
    assert len(set(grid.flatten().tolist())) == grid.numel()

    def odds(cells: Tensor, count: int) -> float:
        seen = torch.bincount(cells.flatten(), minlength=count).double()
        expected = seen.sum() / count
        return float(chi2.sf(float(((seen - expected) ** 2 / expected).sum()), count - 1))

    def pairs(one: Tensor, other: Tensor) -> float:
        return odds((one * 8).long() * 8 + (other * 8).long(), 64)

    assert odds((first * 50).long(), 50) > FALSE_ALARM
    assert pairs(first[:, :-1], first[:, 1:]) > FALSE_ALARM
    assert pairs(first[:-1], first[1:]) > FALSE_ALARM
    assert pairs(first[:-1, 1:], first[1:, :-1]) > FALSE_ALARM
    assert pairs(first, second) > FALSE_ALARM


# --- history ---------------------------------------------------------------------------------------


def logits_of(step: SampleStep, stage: int) -> dict[str, float | None]:
    return {c.token.text: c.logit for c in step.stages[stage].result.top}


def test_penalties_see_the_prompt_and_the_new_tokens(quarters: Any) -> None:
    """Prompt `a`, then a forced `b`: after it both are lowered, the first time only `a`."""
    (b,) = quarters.encode("b")[1:]
    for penalty, lower in (
        (PresencePenalty(1.5), lambda x, n: x - 1.5 * (n > 0)),
        (FrequencyPenalty(0.5), lambda x, n: x - 0.5 * n),
        (RepetitionPenalty(2.0), lambda x, n: x * 2 if n else x),  # these logits are below 0
    ):
        asked = SampleSettings((penalty,), "argmax", 2, forced={0: b})
        steps = list(sample(quarters, quarters.encode("a"), asked, Uniforms(0)))
        for step, counts in zip(steps, ({"a": 1}, {"a": 1, "b": 1}), strict=True):
            for word, before in logits_of(step, 0).items():
                expected = None if before is None else lower(before, counts.get(word, 0))
                assert logits_of(step, 1)[word] == (None if expected is None else pytest.approx(expected, abs=1e-9))


def test_ngrams_run_across_prompt_and_new_tokens(quarters: Any) -> None:
    """Prompt `c`, then a forced `c`: the pair (c, c) is there only across the border, and must not come again."""
    (c,) = quarters.encode("c")[1:]
    asked = SampleSettings((NoRepeatNGram(2),), "argmax", 2, forced={0: c})
    first, second = sample(quarters, quarters.encode("c"), asked, Uniforms(0))
    assert logits_of(first, 1)["c"] is not None  # `c c` has not been said yet
    assert logits_of(second, 1)["c"] is None  # now it has, across the border


def test_a_history_counts_after_filters_too(quarters: Any) -> None:
    """Top-k first, then the penalty on what is left: ids still mean the same tokens."""
    asked = sample_settings(top_k=2, presence_penalty=2, order=("top_k", "presence_penalty"), sampler="argmax")
    step = next(sample(quarters, quarters.encode("b"), asked, Uniforms(0)))
    assert [stage.name for stage in step.stages] == ["model", "top_k", "presence_penalty"]
    assert logits_of(step, 2)["c"] == pytest.approx(math.log(0.75)) and step.token.text == "c"
    step = next(sample(quarters, quarters.encode("c"), asked, Uniforms(0)))
    assert logits_of(step, 2)["c"] == pytest.approx(math.log(0.75) - 2) and step.token.text == "a"

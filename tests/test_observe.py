"""What a step records is what the tensors say: masses, entropies, counts, and the drawn token always listed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from decoding import observe
from decoding.errors import UserError
from decoding.models import load
from decoding.models.protocol import Output
from decoding.observe import HEADS, ranked
from decoding.processors import DEFAULT_ORDER, REGISTRY, Temperature, TopK, TopP
from decoding.samplers import SAMPLERS
from decoding.sampling import Uniforms, decide, process, sample
from decoding.settings import SampleSettings, sample_settings
from decoding.trace import AliasDraw, ArgmaxDraw, GumbelDraw, SampleStep, Token

INF = math.inf
many = settings(max_examples=60, deadline=None, derandomize=True)

VALUES: dict[str, list[Any]] = {
    **{"repetition_penalty": [1.3, 0.7], "presence_penalty": [1, -1], "frequency_penalty": [0.5]},
    **{"no_repeat_ngram_size": [1, 2, 3], "temperature": [0, 1e-6, 0.5, 1.7, 1e6], "top_k": [1, 2, 7, 1000]},
    **{"top_p": [0, 0.3, 0.9, 0.999], "min_p": [0.05, 0.5, 1], "typical_p": [0.2, 0.9], "epsilon_cutoff": [0.02]},
    "eta_cutoff": [0.02],
}


def token(id: int) -> Token:
    return Token(id, f"<{id}>")


@st.composite
def logit_vectors(draw: st.DrawFn) -> Tensor:
    """Up to 60 logits, float64: peaked, flat, tied, far apart, some removed; at least one is left."""
    size = draw(st.integers(1, 60))
    number = st.one_of(st.floats(-12, 12), st.integers(-2, 2).map(float), st.just(-INF), st.floats(-1e30, 1e30))
    values = draw(st.lists(number, min_size=size, max_size=size))
    values[draw(st.integers(0, size - 1))] = draw(st.floats(-5, 5))
    return torch.tensor(values, dtype=torch.float64)


@st.composite
def settings_of(draw: st.DrawFn) -> SampleSettings:
    """Any processors in any order, any sampler."""
    order = draw(st.permutations(DEFAULT_ORDER))[: draw(st.integers(0, 5))]
    options = {name: draw(st.sampled_from(VALUES[name])) for name in order}
    return sample_settings(
        sampler=draw(st.sampled_from(SAMPLERS)), top=draw(st.integers(1, 12)), order=order, **options
    )


def exact(logits: Tensor) -> list[float]:
    """softmax by its definition, on Python numbers."""
    largest = max(logits.tolist())
    weights = [math.exp(x - largest) for x in logits.tolist()]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def bits(law: list[float]) -> float:
    return -math.fsum(p * math.log2(p) for p in law if p > 0)


def dense(logits: Tensor, asked: SampleSettings, history: Tensor) -> Iterator[tuple[Tensor, tuple[str, ...]]]:
    """Every law over the whole vocabulary, one processor after the other, with what it notes."""
    yield logits, ()
    for processor in asked.processors:
        before, logits = logits, processor(logits, history)
        yield logits, tuple(processor.notes(before, logits))


@settings(many, max_examples=150)
@given(logit_vectors(), settings_of(), st.lists(st.integers(0, 59), max_size=12), st.integers(0, 2**40))
def test_a_step_records_what_the_whole_vectors_say(
    logits: Tensor, asked: SampleSettings, history: list[int], seed: int
) -> None:
    """Any processors on any law, against the same processors on whole vectors and sums by definition."""
    ids = torch.tensor(history, dtype=torch.long) % len(logits)
    step = decide(logits, ids, 3, asked, Uniforms(seed), token)
    listed = {c.token.id for c in step.stages[0].result.top}
    before = None
    for stage, (now, notes) in zip(step.stages, dense(logits, asked, ids), strict=True):
        law, top = exact(now), stage.result.top
        alive = [id for id, logit in enumerate(now.tolist()) if logit > -INF]
        assert [c.token for c in top] == [token(c.token.id) for c in top] and {c.token.id for c in top} == listed
        assert all(c.prob == pytest.approx(law[c.token.id], abs=1e-9) for c in top)
        assert all(c.kept == (c.token.id in alive) for c in top)
        assert all((c.logit == now[c.token.id].item()) if c.kept else (c.logit is None and c.prob == 0) for c in top)
        assert math.fsum([stage.result.tail_mass, *(c.prob for c in top)]) == pytest.approx(1, abs=1e-9)
        assert stage.kept_count == len(alive) == stage.result.tail_count + sum(c.kept for c in top)
        assert stage.result.entropy == pytest.approx(bits(law), abs=1e-9)
        assert stage.notes == notes
        held = 1.0 if before is None else math.fsum(before[id] for id in alive)
        assert stage.kept_mass == pytest.approx(held, abs=1e-9)
        kept_first = [c.kept for c in top]
        assert kept_first == sorted(kept_first, reverse=True)
        ranks = [(-c.logit, c.token.id) for c in top if c.logit is not None]
        assert ranks == sorted(ranks)
        before = law
    assert before is not None
    assert step.token.id in listed and before[step.token.id] > 0
    assert step.prob == pytest.approx(before[step.token.id], abs=1e-9)
    assert step.model_prob == pytest.approx(exact(logits)[step.token.id], abs=1e-9)


@many
@given(logit_vectors(), settings_of(), st.lists(st.integers(0, 59), max_size=12))
def test_a_law_without_a_record_is_the_last_of_those_recorded(
    logits: Tensor, asked: SampleSettings, ids: list[int]
) -> None:
    """Bit for bit, so that a token drawn from either is the same."""
    history = torch.tensor([id % len(logits) for id in ids], dtype=torch.long)
    last, alone = process(logits, history, asked)[-1], observe.law_after(logits, asked.processors, history)
    assert torch.equal(alone.logits, last.logits) and torch.equal(alone.probs(), last.probs())
    assert (alone.largest, alone.total, alone.entropy) == (last.largest, last.total, last.entropy)


@many
@given(logit_vectors(), settings_of(), st.lists(st.integers(0, 59), max_size=12), st.integers(1, 9))
def test_the_law_of_a_model_that_says_few_tokens_is_that_of_their_logits_spread_out(
    logits: Tensor, asked: SampleSettings, ids: list[int], gap: int
) -> None:
    """Bit for bit: the tokens that it cannot say are as if they had minus infinity."""
    said = torch.arange(len(logits)) * gap + gap // 2
    size = len(logits) * gap + 3
    output = Output(logits[None, None], None, said, size)
    history = torch.tensor([id % size for id in ids], dtype=torch.long)
    few = observe.law_after(logits, asked.processors, history, 0, said, size)
    whole = observe.law_after(output.logits[0, 0], asked.processors, history)
    assert torch.equal(few.logits, whole.logits) and torch.equal(few.probs(), whole.probs())
    assert (few.size, few.total, few.entropy) == (whole.size, whole.total, whole.entropy)


@many
@given(logit_vectors(), settings_of())
def test_the_likeliest_are_listed_lowest_id_first_on_ties(logits: Tensor, asked: SampleSettings) -> None:
    laws = process(logits, torch.tensor([0]), asked)
    full = [rows for rows, _ in dense(logits, asked, torch.tensor([0]))]

    def best(row: Tensor) -> list[int]:
        alive = [id for id in range(len(row)) if row[id] > -INF]
        return sorted(alive, key=lambda id: (-row[id].item(), id))[: asked.top]

    expected = dict.fromkeys([*best(full[0]), *best(full[-1])])
    assert observe.shown_ids(laws, asked.top) == list(expected)
    assert observe.shown_ids(laws, asked.top, chosen=0) == list(dict.fromkeys([*expected, 0]))


@pytest.mark.parametrize("count", [1, 3, 255, 256, 257, 999, 1000, 5000])
def test_ties_at_the_border_go_to_the_lowest_ids(count: int) -> None:
    """A flat law, and one with three levels: of equals the lowest ids are listed, none twice."""
    for logits in (torch.zeros(1000), torch.arange(1000).remainder(3).float(), torch.zeros(1000).bfloat16().float()):
        order = sorted(range(1000), key=lambda id: (-logits[id].item(), id))
        assert ranked(observe.law(logits), count)[0].tolist() == order[:count]


def test_ranks_of_a_head_are_the_first_of_all_ranks() -> None:
    """A direct scan of the first tokens must see them as a scan of all would, or its law is another."""
    logits = (torch.randn(9000, generator=torch.Generator().manual_seed(0)) * 3).bfloat16().float()
    logits[::7] = -INF
    of = observe.law(logits)
    ids, probs = ranked(of)
    for head in HEADS:
        some, their = ranked(of, head)
        assert some.tolist() == ids[: len(some)].tolist() and torch.equal(their, probs[: len(their)])
    assert set(ids.tolist()) == set(range(9000)) - set(range(0, 9000, 7))


def test_places_of_removed_tokens_stay_apart() -> None:
    """`places` is one to one, so that an n-gram of removed tokens is not taken for another."""
    of = observe.law(torch.tensor([1.0, -INF, 2.0, -INF, -INF, 0.5]))
    places = of.places(torch.arange(6)).tolist()
    assert [places[id] for id in (0, 2, 5)] == [0, 1, 2]
    assert len(set(places)) == 6 and min(places[id] for id in (1, 3, 4)) >= 3
    assert of.ids(torch.tensor([0, 1, 2])).tolist() == [0, 2, 5]
    assert of.at(torch.arange(6)).tolist() == [1.0, -INF, 2.0, -INF, -INF, 0.5]
    assert of.probs().sum().item() == pytest.approx(1, abs=1e-12) and of.probs().shape == (6,)


def test_entropy_of_known_laws() -> None:
    assert observe.law(torch.zeros(8)).entropy == pytest.approx(3, abs=1e-12)
    assert observe.law(torch.tensor([0.0, -INF, -INF])).entropy == 0
    assert observe.law(torch.tensor([0.5, 0.25, 0.25]).log()).entropy == pytest.approx(1.5, abs=1e-6)
    assert observe.law(torch.tensor([3e38, -3e38])).entropy == 0
    assert observe.law(torch.full((50_000,), -1e30)).entropy == pytest.approx(math.log2(50_000), abs=1e-9)


def test_notes_of_each_rule_reach_the_stage() -> None:
    """Cases 4 and 6: no filtering at k = V and beyond, a broken tie at the border."""

    def notes(**options: Any) -> tuple[str, ...]:
        logits = torch.tensor([2.0, 1.0, 1.0, 0.0])
        return decide(logits, torch.tensor([0]), 0, sample_settings(**options), Uniforms(0), token).stages[-1].notes

    assert notes(top_k=4) == notes(top_k=100_000) == ("no_filtering",)
    assert notes(top_k=2) == ("tie_broken",)
    assert notes(top_k=3) == notes(temperature=0.7) == ()


def test_the_order_of_processors_is_kept() -> None:
    """Case 5: T before top-p keeps one, after it two."""
    logits = torch.tensor([3.0, 2.0, 1.0])
    first = process(logits, torch.tensor([0]), SampleSettings((Temperature(0.5), TopP(0.8))))
    last = process(logits, torch.tensor([0]), SampleSettings((TopP(0.8), Temperature(0.5))))
    assert (first[-1].kept_count, last[-1].kept_count) == (1, 2)


# --- case 17: the drawn token is listed ------------------------------------------------------------


@pytest.mark.parametrize("asked", [{}, {"top_k": 900}, {"temperature": 3}], ids=str)
def test_an_improbable_token_is_listed_at_every_stage(asked: dict[str, Any]) -> None:
    """Forced far down the ranks, with one alternative shown: it is there with its probability."""
    logits = torch.linspace(5, -5, 1000, dtype=torch.float64)
    step = decide(logits, torch.tensor([0]), 0, sample_settings(top=1, forced={0: 850}, **asked), Uniforms(0), token)
    for stage in step.stages:
        assert [c.token.id for c in stage.result.top] == [0, 850]
    assert step.token.id == 850
    assert step.model_prob == pytest.approx(exact(logits)[850], rel=1e-9)


def test_a_removed_token_that_was_forced_is_listed_as_removed() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0])
    step = decide(logits, torch.tensor([0]), 0, sample_settings(top_k=1, top=1, forced={0: 2}), Uniforms(0), token)
    last = step.stages[-1].result.top[-1]
    assert (last.token.id, last.logit, last.prob, last.kept) == (2, None, 0.0, False)
    assert step.prob == 0 and step.model_prob > 0


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_whatever_is_drawn_is_listed(sampler: str) -> None:
    """A flat law of 3,000 tokens with one alternative shown: what is drawn is nearly always unlisted otherwise."""
    logits = torch.randn(3000, generator=torch.Generator().manual_seed(1)) * 0.01
    for seed in range(20):
        step = decide(logits, torch.tensor([0]), 0, sample_settings(sampler=sampler, top=1), Uniforms(seed), token)
        assert all(step.token in [c.token for c in stage.result.top] for stage in step.stages)


# --- draws -----------------------------------------------------------------------------------------


def draw_of(sampler: str, size: int, seed: int = 0, **options: Any) -> tuple[SampleStep, Any]:
    logits = torch.randn(size, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    step = decide(logits, torch.tensor([0]), 4, sample_settings(sampler=sampler, **options), Uniforms(seed), token)
    return step, step.draw


def test_the_alias_column_drawn_is_always_listed() -> None:
    for seed in range(40):
        step, draw = draw_of("alias", 200, seed)
        assert isinstance(draw, AliasDraw) and draw.column_count == 200
        assert len(draw.columns) == observe.DRAWN_COLUMNS
        column = next(c for c in draw.columns if c.index == draw.column)
        assert step.token == (column.alias if draw.took_alias else column.token)
        assert draw.took_alias == (draw.coin >= column.threshold)


def test_the_gumbel_winner_is_first() -> None:
    step, draw = draw_of("gumbel", 100)
    assert isinstance(draw, GumbelDraw) and draw.count == 100 and len(draw.scores) == observe.DRAWN_SCORES
    assert draw.scores[0].token == step.token
    assert [s.score for s in draw.scores] == sorted((s.score for s in draw.scores), reverse=True)
    for s in draw.scores:
        assert s.noise == pytest.approx(-math.log(-math.log(s.uniform)), rel=1e-9)
        assert s.score == pytest.approx(s.logit + s.noise, rel=1e-12)


def test_greedy_tells_the_runner_up_among_the_kept() -> None:
    logits = torch.tensor([-INF, 5.0, 1.0, -INF, 4.0, 5.0])
    draw = decide(logits, torch.tensor([0]), 0, sample_settings(sampler="argmax"), Uniforms(0), token).draw
    assert draw == ArgmaxDraw(5.0, token(5), 0.0, 2)
    asked = SampleSettings((TopK(1),), "argmax")
    assert decide(logits, torch.tensor([0]), 0, asked, Uniforms(0), token).draw == ArgmaxDraw(5.0, None, None, 1)


# --- case 18: broken models ------------------------------------------------------------------------

BROKEN = {
    "NaN": [1.0, math.nan, 2.0],
    "+inf": [1.0, INF, -INF],
    "nothing but -inf": [-INF] * 3,
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_broken_logits_name_the_step(what: str, dtype: torch.dtype) -> None:
    with pytest.raises(UserError) as caught:
        observe.law(torch.tensor(BROKEN[what], dtype=dtype), position=6)
    assert caught.value.code == "broken_logits" and what in str(caught.value) and "step 7" in str(caught.value)


@pytest.mark.parametrize("values", [[math.nan] * 3, [math.nan, INF, -INF], [-INF, math.nan, -INF]])
def test_a_single_nan_is_enough(values: list[float]) -> None:
    with pytest.raises(UserError, match="NaN"):
        observe.law(torch.tensor(values))


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_model_that_breaks_at_its_third_token_is_told(what: str, sampler: str) -> None:
    """Two steps come out, then one clear error: never a silent token 0."""
    model: Any = load("toy:lecture")
    sound = model.forward

    def forward(tokens: Tensor, cache: Any, *args: Any, **options: Any) -> Output:
        output = sound(tokens, cache, *args, **options)
        if cache.length == 3:  # <start> and two words
            broken = torch.tensor(BROKEN[what], dtype=torch.float64).repeat(8)[: output.logits.shape[-1]]
            return Output(broken.expand_as(output.logits))
        return output

    model.forward = forward
    steps = sample(model, model.encode(""), sample_settings(sampler=sampler, top_k=3), Uniforms(0))
    assert [next(steps).position, next(steps).position] == [0, 1]
    with pytest.raises(UserError) as caught:
        next(steps)
    assert "step 3" in str(caught.value) and what in str(caught.value)


def test_every_processor_is_tried_here() -> None:
    assert set(VALUES) == set(REGISTRY)

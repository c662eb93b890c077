"""Each processor against its definition, against transformers, and on nasty input."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from transformers.generation import logits_process as reference

from decoding import ranking
from decoding.errors import UserError
from decoding.processor_base import NOTES
from decoding.processors import (
    DEFAULT_ORDER,
    REGISTRY,
    EpsilonCutoff,
    EtaCutoff,
    Filter,
    FrequencyPenalty,
    MinP,
    NoRepeatNGram,
    PresencePenalty,
    Processor,
    RepetitionPenalty,
    Temperature,
    TopK,
    TopP,
    TypicalP,
    apply,
)

INF = math.inf
many = settings(max_examples=200, deadline=None, derandomize=True)


def kept(logits: Tensor) -> list[int]:
    return (~logits.isneginf()).nonzero().flatten().tolist()


def logits_of(*probs: float) -> Tensor:
    return torch.tensor(probs).log()


finite = st.one_of(
    st.floats(-20, 20, width=32),
    st.integers(-3, 3).map(float),  # ties
    st.sampled_from([1e30, -1e30, 3e38, -3e38, 1e-30, 0.0, 100.0, -100.0]),
)


@st.composite
def rows(draw: st.DrawFn, removed: bool = True) -> Tensor:
    """Logits (V,), V from 1 to 40: ties, constants, huge and tiny values, removed tokens; one at least is alive."""
    size = draw(st.integers(1, 40))
    if draw(st.booleans()):
        values = draw(st.lists(finite, min_size=size, max_size=size))
    else:
        values = [draw(finite)] * size
    if removed:
        gone = draw(st.sets(st.integers(0, size - 1), max_size=size - 1))
        values = [-INF if i in gone else v for i, v in enumerate(values)]
    return torch.tensor(values, dtype=torch.float32)


histories = st.lists(st.integers(0, 45), max_size=12).map(lambda ids: torch.tensor(ids, dtype=torch.long))
probabilities = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1e-12, 0.1, 0.25, 0.5, 0.8, 0.9, 0.999, 1.0]))
cutoffs = st.one_of(st.floats(0, 0.999), st.sampled_from([0.0, 1e-9, 3e-4, 0.1, 0.5, 0.9]))

processors: st.SearchStrategy[Processor] = st.one_of(
    st.one_of(st.floats(0.05, 20), st.sampled_from([1.0, 1e-40, 1e-320, 5e-324, 1e30, 1e300])).map(RepetitionPenalty),
    st.floats(-2, 2).map(PresencePenalty),
    st.floats(-2, 2).map(FrequencyPenalty),
    st.integers(0, 4).map(NoRepeatNGram),
    st.one_of(st.floats(0, 5), st.sampled_from([0.0, 1e-6, 1e-40, 1e-320, 5e-324, 1e30, 1e300])).map(Temperature),
    st.one_of(st.integers(0, 45), st.just(10**30)).map(TopK),
    probabilities.map(TopP),
    probabilities.map(MinP),
    probabilities.map(TypicalP),
    cutoffs.map(EpsilonCutoff),
    cutoffs.map(EtaCutoff),
)


# Cases 1 to 6 of the list of what must come out right


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_case_1_temperature_zero_is_exactly_greedy(dtype: torch.dtype) -> None:
    logits = torch.tensor([1.0, 3.0, 2.0, 3.0, -INF], dtype=dtype)
    law = Temperature(0)(logits).softmax(-1)
    assert law.tolist() == [0, 1, 0, 0, 0]
    assert Temperature(0).notes(logits, Temperature(0)(logits)) == ("tie_broken",)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [1e-6, 1e-40, 1e-310, 5e-324])
def test_case_1_tiny_temperature_is_greedy_to_the_eye(temperature: float, dtype: torch.dtype) -> None:
    logits = torch.tensor([1.0, 30000.0, 2.0, -30000.0, 0.0, -INF], dtype=dtype)
    after = Temperature(temperature)(logits)
    assert torch.equal(after.isneginf(), logits.isneginf()) and not after.isnan().any() and not after.isposinf().any()
    assert after.softmax(-1).tolist() == [0, 1, 0, 0, 0, 0]
    tied = Temperature(temperature)(torch.tensor([3.0, 3.0, 1.0], dtype=dtype)).softmax(-1)
    assert tied.tolist() == [0.5, 0.5, 0]


def test_case_1_an_overflow_leaves_the_softmax_as_it_should_be() -> None:
    logits = torch.tensor([100.0, 100.0 - 2**-10, -1e5, -INF], dtype=torch.float64)
    for temperature in (1e-310, 1e-3, 2**-10):
        exact = ((logits - 100) / temperature).softmax(-1)
        assert Temperature(temperature)(logits).softmax(-1).tolist() == pytest.approx(exact.tolist())
    small = torch.tensor([0.0, -1e-38, -1e5, -INF])  # -1e5 / T overflows float32
    law = Temperature(1e-38)(small).softmax(-1)
    assert law.tolist() == pytest.approx([0.731, 0.269, 0, 0], abs=1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_case_1_huge_temperature_is_flat(dtype: torch.dtype) -> None:
    for temperature in (1e30, 1e300):
        after = Temperature(temperature)(torch.tensor([5.0, -5.0, -INF], dtype=dtype))
        assert after.softmax(-1).tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize("p", [0, 1e-300, 1e-9, 1e-7, 1e-6, 0.01])
def test_case_2_top_p_zero_or_tiny_keeps_the_most_likely(p: float) -> None:
    assert kept(TopP(p)(logits_of(0.2, 0.3, 0.5))) == [2]
    assert kept(TopP(p)(torch.zeros(7))) == [0]


def test_case_3_top_p_reaches_a_sum_that_is_exact_on_paper() -> None:
    assert kept(TopP(0.8)(logits_of(0.3, 0.1, 0.1, 0.5))) == [0, 3]
    assert kept(TopP(0.9)(logits_of(0.3, 0.1, 0.1, 0.5))) == [0, 1, 3]  # of the two that tie, the lowest id
    assert kept(TopP(0.80001)(logits_of(0.3, 0.1, 0.1, 0.5))) == [0, 1, 3]
    assert kept(TopP(0.3)(torch.zeros(10))) == [0, 1, 2]


def partitions(total: int, largest: int) -> list[list[int]]:
    """All ways to write `total` as a sum of falling whole numbers."""
    if total == 0:
        return [[]]
    return [[n, *rest] for n in range(min(total, largest), 0, -1) for rest in partitions(total - n, n)]


@pytest.mark.parametrize("parts", [10, 20])
def test_case_3_for_every_law_in_tenths_or_twentieths(parts: int) -> None:
    for law in partitions(parts, parts):
        for count in range(1, len(law)):
            top_p = sum(law[:count]) / parts
            assert kept(TopP(top_p)(logits_of(*[n / parts for n in law]))) == list(range(count)), (law, top_p)


@pytest.mark.parametrize("k", [4, 5, 100000, 10**30])
def test_case_4_top_k_of_the_vocabulary_or_more_filters_nothing_and_says_so(k: int) -> None:
    logits = torch.tensor([1.0, 2.0, 0.5, -1.0])
    after = TopK(k)(logits)
    assert torch.equal(after, logits) and TopK(k).active
    assert TopK(k).notes(logits, after) == ("no_filtering",)


def test_case_4_top_k_zero_is_off() -> None:
    logits = torch.tensor([1.0, 2.0, 0.5, -1.0])
    assert not TopK(0).active and TopK(0)(logits) is logits
    assert list(apply([TopK(0)], logits)) == []


def test_case_5_order_matters() -> None:
    logits = torch.tensor([3.0, 2.0, 1.0])
    first = [after for _, _, after in apply([Temperature(0.5), TopP(0.8)], logits)][-1]
    last = [after for _, _, after in apply([TopP(0.8), Temperature(0.5)], logits)][-1]
    assert kept(first) == [0] and kept(last) == [0, 1]


def test_case_6_a_tie_at_the_border_keeps_exactly_k_lowest_id_first_and_says_so() -> None:
    logits = torch.tensor([1.0, 2.0, 5.0, 2.0, 2.0])
    after = TopK(3)(logits)
    assert kept(after) == [1, 2, 3]
    assert TopK(3).notes(logits, after) == ("tie_broken",)
    assert TopK(4).notes(logits, TopK(4)(logits)) == ()  # the tie is inside
    assert TopK(1).notes(logits, TopK(1)(logits)) == ()


# Against transformers, which wants (B, V)

empty = torch.zeros(1, 0, dtype=torch.long)


def same_removed(a: Tensor, b: Tensor) -> bool:
    return torch.equal(a.isneginf(), b.isneginf()) and torch.equal(a[~a.isneginf()], b[~b.isneginf()])


@many
@given(rows(), st.one_of(st.floats(0.01, 20), st.sampled_from([0.1, 0.5, 0.7, 1.0, 2.0])))
def test_temperature_agrees_with_transformers(logits: Tensor, temperature: float) -> None:
    expected = reference.TemperatureLogitsWarper(temperature)(empty, logits[None])[0]
    after = Temperature(temperature)(logits)
    if torch.equal(expected.isfinite(), logits.isfinite()):
        assert torch.equal(after, expected)
    else:  # the one difference: theirs overflowed
        assert torch.equal(after.isfinite(), logits.isfinite())


@many
@given(rows(), st.integers(1, 45))
def test_top_k_agrees_with_transformers(logits: Tensor, k: int) -> None:
    expected = reference.TopKLogitsWarper(k)(empty, logits[None])[0]
    after = TopK(k)(logits)
    if len(kept(expected)) > k:  # the one difference: they keep all that tie at the border
        assert set(kept(after)) < set(kept(expected)) and len(kept(after)) == k
        assert "tie_broken" in TopK(k).notes(logits, after)
    else:
        assert torch.equal(after, expected)


@many
@given(rows(), probabilities)
def test_top_p_agrees_with_transformers(logits: Tensor, p: float) -> None:
    sums = logits.softmax(-1, dtype=torch.float64).sort(descending=True).values.cumsum(-1)
    near = bool(((sums - p).abs() < 5e-6).any()) or 1 - 5e-6 < p < 1
    assume(p == 1 or not near)  # the documented tolerance, and the rounding of their float32 sum
    after = TopP(p)(logits)
    if p == 1:  # generate() leaves it out then
        assert after is logits
        return
    expected = reference.TopPLogitsWarper(p)(empty, logits[None])[0]
    values, expected_values = logits[kept(after)].sort().values, logits[kept(expected)].sort().values
    assert torch.equal(values, expected_values)  # of equal logits they may keep another
    if "tie_broken" not in TopP(p).notes(logits, after):
        assert torch.equal(after, expected)


@many
@given(rows(), probabilities)
def test_min_p_agrees_with_transformers(logits: Tensor, p: float) -> None:
    expected = reference.MinPLogitsWarper(p)(empty, logits[None])[0]
    assert torch.equal(MinP(p)(logits), expected)


@many
@given(rows(), st.floats(0.001, 0.999))
def test_typical_p_agrees_with_transformers(logits: Tensor, p: float) -> None:
    log_probs = logits.double().log_softmax(-1)
    distance = (-log_probs + (log_probs * log_probs.exp()).nansum()).abs()
    distance, order = distance.sort()
    sums = log_probs[order].exp().cumsum(-1)
    assume(not bool(((sums - p).abs() < 5e-6).any()))  # the documented tolerance
    # Two surprises that differ by rounding only, at equal distance on either side of the entropy
    gaps = distance.diff()
    assume(not bool(((gaps > 0) & (gaps < 1e-5)).any()))
    expected = reference.TypicalLogitsWarper(p)(empty, logits[None])[0]
    assert torch.equal(TypicalP(p)(logits), expected)


@many
@given(rows(), st.one_of(st.floats(1e-6, 0.999), st.sampled_from([3e-4, 0.25, 0.5])))
def test_epsilon_cutoff_agrees_with_transformers(logits: Tensor, epsilon: float) -> None:
    expected = reference.EpsilonLogitsWarper(epsilon)(empty, logits[None])[0]
    assert torch.equal(EpsilonCutoff(epsilon)(logits), expected)


@many
@given(rows(), st.one_of(st.floats(1e-6, 0.999), st.sampled_from([3e-4, 0.25, 0.5])))
def test_eta_cutoff_agrees_with_transformers(logits: Tensor, epsilon: float) -> None:
    law = logits.softmax(-1, dtype=torch.float64)
    eta = min(epsilon, math.sqrt(epsilon) * math.exp(-float(torch.special.entr(law).sum())))
    assume(not bool(((law / eta - 1).abs() < 1e-4).any()))  # rounding of two float32 entropies
    expected = reference.EtaLogitsWarper(epsilon)(empty, logits[None])[0]
    assert torch.equal(EtaCutoff(epsilon)(logits), expected)


@many
@given(rows(), histories, st.floats(0.1, 10))
def test_repetition_penalty_agrees_with_transformers(logits: Tensor, history: Tensor, penalty: float) -> None:
    expected = reference.RepetitionPenaltyLogitsProcessor(penalty)(history[None], logits[None])[0]
    after = RepetitionPenalty(penalty)(logits, history)
    if torch.equal(expected.isfinite(), logits.isfinite()):
        assert torch.equal(after, expected)
    else:  # the one difference: theirs overflowed
        assert torch.equal(after.isfinite(), logits.isfinite())


@many
@given(rows(), st.lists(st.integers(0, 4), max_size=14), st.integers(1, 4))
def test_no_repeat_ngram_agrees_with_transformers(logits: Tensor, ids: list[int], size: int) -> None:
    history = torch.tensor(ids, dtype=torch.long)
    expected = reference.NoRepeatNGramLogitsProcessor(size)(history[None], logits[None])[0]
    after = NoRepeatNGram(size)(logits, history)
    if kept(expected):
        assert torch.equal(after, expected)
    else:  # the one difference: they leave nothing
        assert kept(after) == [int(logits.argmax())]


def test_default_order_is_that_of_generate() -> None:
    """Read from what generate() builds, with every rule on."""
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    tiny = LlamaConfig(
        hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, vocab_size=16, pad_token_id=0
    )
    options = {"repetition_penalty": 1.1, "no_repeat_ngram_size": 2, "temperature": 0.5, "top_k": 5, "top_p": 0.5}
    options |= {"min_p": 0.1, "typical_p": 0.5, "epsilon_cutoff": 0.1, "eta_cutoff": 0.1}
    config = GenerationConfig(do_sample=True, **options)
    built = LlamaForCausalLM(tiny)._get_logits_processor(config, input_ids_seq_length=1, device="cpu")
    names = {
        "RepetitionPenaltyLogitsProcessor": "repetition_penalty",
        "NoRepeatNGramLogitsProcessor": "no_repeat_ngram_size",
        "TemperatureLogitsWarper": "temperature",
        "TopKLogitsWarper": "top_k",
        "TopPLogitsWarper": "top_p",
        "MinPLogitsWarper": "min_p",
        "TypicalLogitsWarper": "typical_p",
        "EpsilonLogitsWarper": "epsilon_cutoff",
        "EtaLogitsWarper": "eta_cutoff",
    }
    order = [names[type(one).__name__] for one in built]
    assert order == [name for name in DEFAULT_ORDER if name in order] and set(order) == set(options)


# What holds for all


@many
@given(rows(), histories, processors)
def test_never_changes_its_input_nor_revives_nor_empties(logits: Tensor, history: Tensor, processor: Processor) -> None:
    before, ids = logits.clone(), history.clone()
    after = processor(logits, history)
    assert torch.equal(logits, before) and torch.equal(history, ids)
    assert after.shape == logits.shape and after.dtype == logits.dtype
    assert not after.isnan().any() and not after.isposinf().any()
    assert bool((after.isneginf() | logits.isfinite()).all()) and kept(after)
    if isinstance(processor, Filter | Temperature) and not isinstance(processor, TypicalP | NoRepeatNGram):
        assert int(logits.argmax()) in kept(after)
    elif not isinstance(processor, Filter):
        assert kept(after) == kept(logits)
    for note in processor.notes(logits, after):
        assert note in NOTES


@many
@given(st.lists(rows(), min_size=1, max_size=4), st.lists(st.integers(0, 6), max_size=9), processors)
def test_a_batch_is_its_rows_one_by_one(lines: list[Tensor], ids: list[int], processor: Processor) -> None:
    width = max(len(line) for line in lines)
    batch = torch.stack([torch.nn.functional.pad(line, (0, width - len(line)), value=-INF) for line in lines])
    histories = torch.stack([torch.tensor(ids, dtype=torch.long).roll(shift) for shift in range(len(lines))])
    after = processor(batch, histories)
    for row, line, history in zip(after, batch, histories, strict=True):
        assert torch.equal(row, processor(line, history))
    assert torch.equal(processor(batch[:, None], histories[:, None]), after[:, None])


@many
@given(rows(), st.one_of(st.integers(0, 45).map(TopK), probabilities.map(MinP), st.just(Temperature(0))))
def test_these_filters_do_nothing_the_second_time(logits: Tensor, processor: Processor) -> None:
    once = processor(logits)
    assert torch.equal(processor(once), once)


@many
@given(rows(), probabilities)
def test_top_p_again_keeps_no_more(logits: Tensor, p: float) -> None:
    """Not idempotent: what was cut makes the rest more likely. p 1/2 on (.5, .3, .2) is: one is left."""
    once = TopP(p)(logits)
    assert set(kept(TopP(p)(once))) <= set(kept(once))


@many
@given(rows(), probabilities)
def test_top_p_is_its_definition(logits: Tensor, p: float) -> None:
    """The fewest, in order of (logit down, id up), whose sum reaches p within the tolerance."""
    law = logits.softmax(-1, dtype=torch.float64).tolist()
    ranked = sorted((i for i in range(len(law)) if logits[i] > -INF), key=lambda i: (-float(logits[i]), i))
    expected, total = [], 0.0
    for i in ranked:
        expected.append(i)
        total += law[i]
        if total >= p - ranking.TOLERANCE:
            break
    assume(abs(total - (p - ranking.TOLERANCE)) > 1e-12)
    assert kept(TopP(p)(logits)) == (sorted(expected) if p < 1 else kept(logits))


@pytest.mark.parametrize("processor", [TopP(0.9), TopP(0.999), TypicalP(0.9), TypicalP(0.999)])
@pytest.mark.parametrize("scale", [0.0, 0.5, 3.0, 9.0])
def test_a_partial_sort_gives_what_a_full_sort_gives(
    processor: Processor, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    logits = torch.randn(20_000, generator=torch.Generator().manual_seed(1)).mul(scale).round(decimals=2)
    partial = processor(logits)
    monkeypatch.setattr(ranking, "HEADS", (len(logits),))
    assert torch.equal(processor(logits), partial)
    assert torch.equal(processor(torch.stack([logits, logits * 9]))[0], partial)


# What each rule says, by hand


def test_presence_and_frequency_count_the_whole_history() -> None:
    logits, history = torch.tensor([1.0, 1.0, 1.0, -INF]), torch.tensor([0, 2, 2, 2, 3, 7])
    assert PresencePenalty(0.5)(logits, history).tolist() == [0.5, 1.0, 0.5, -INF]
    assert FrequencyPenalty(0.5)(logits, history).tolist() == [0.5, 1.0, -0.5, -INF]
    assert FrequencyPenalty(-1)(logits, history).tolist() == [2.0, 1.0, 4.0, -INF]


@pytest.mark.parametrize("kind", [RepetitionPenalty, PresencePenalty, FrequencyPenalty])
def test_penalties_without_history_change_nothing(kind: type[Processor]) -> None:
    logits = torch.tensor([1.0, -1.0])
    assert torch.equal(kind(1.5)(logits), logits)
    assert torch.equal(kind(1.5)(logits, torch.empty(0, dtype=torch.long)), logits)


def test_one_history_serves_every_row() -> None:
    logits = torch.ones(2, 3)
    assert PresencePenalty(1)(logits, torch.tensor([1])).tolist() == [[1, 0, 1], [1, 0, 1]]


def test_typical_can_remove_the_most_likely_and_says_so() -> None:
    logits = logits_of(0.4, *[0.06] * 10)
    after = TypicalP(0.5)(logits)
    assert kept(after) == list(range(1, 11))
    assert TypicalP(0.5).notes(logits, after) == ("most_likely_removed",)


def test_an_epsilon_above_every_probability_keeps_the_most_likely_and_says_so() -> None:
    logits = logits_of(0.2, 0.5, 0.3)
    after = EpsilonCutoff(0.9)(logits)
    assert kept(after) == [1] and EpsilonCutoff(0.9).notes(logits, after) == ("kept_most_likely",)
    assert EpsilonCutoff(0.25).notes(logits, EpsilonCutoff(0.25)(logits)) == ()


def test_a_probability_equal_to_the_limit_stays() -> None:
    logits = logits_of(0.2, 0.5, 0.3)
    epsilon = float(logits.softmax(-1)[2])
    assert kept(EpsilonCutoff(epsilon)(logits)) == [1, 2]
    assert kept(EpsilonCutoff(math.nextafter(epsilon, 1) + 1e-7)(logits)) == [1]
    assert kept(MinP(1)(torch.tensor([2.0, 1.0, 2.0]))) == [0, 2]


@pytest.mark.parametrize("penalty", [5e-324, 1e-320, 1e-40, 1e40, 1e300])
def test_an_extreme_repetition_penalty_keeps_every_logit_finite(penalty: float) -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        logits = torch.tensor([0.0, 3.0, -3.0, 1.0, -INF], dtype=dtype)
        after = RepetitionPenalty(penalty)(logits, torch.tensor([0, 1, 2, 4]))
        assert after[:4].isfinite().all() and after[4] == -INF
        assert after[0] == 0 and after[3] == 1 and bool(after[1] > 3) == bool(after[2] > -3) == (penalty < 1)


def test_eta_falls_with_the_entropy() -> None:
    """A flat law of 20 is spared by eta .9, where epsilon .9 leaves but ties; max p >= exp(-H) > eta always."""
    peaked, flat = logits_of(0.9, 0.06, 0.04), torch.cat([torch.zeros(20), torch.tensor([-9.0])])
    assert kept(EtaCutoff(0.9)(peaked)) == [0] and kept(EtaCutoff(0.9)(flat)) == list(range(20))
    assert EtaCutoff(0.9).notes(peaked, EtaCutoff(0.9)(peaked)) == ()


def test_banning_every_token_leaves_the_most_likely_and_says_so() -> None:
    logits, history = torch.tensor([0.0, 2.0, 1.0]), torch.tensor([2, 1, 0])
    after = NoRepeatNGram(1)(logits, history)
    assert kept(after) == [1] and NoRepeatNGram(1).notes(logits, after) == ("kept_most_likely",)


@pytest.mark.parametrize(
    "processor",
    [TopK(9), TopP(0.9999), MinP(1e-9), TypicalP(0.9999), EpsilonCutoff(1e-9), EtaCutoff(1e-9), NoRepeatNGram(2)],
)
def test_a_filter_that_removes_nothing_says_so(processor: Processor) -> None:
    logits = torch.tensor([1.0, 2.0, -INF])
    assert processor.notes(logits, processor(logits)) == ("no_filtering",)


# Values


def test_the_registry_makes_each_by_name_and_its_params_name_the_value() -> None:
    assert tuple(REGISTRY) == DEFAULT_ORDER
    for name, kind in REGISTRY.items():
        value = 2 if kind.whole else 0.5
        processor = kind(value)
        assert kind.name == name and list(processor.params().values()) == [value]
        assert pickle.loads(pickle.dumps(processor)) == processor == copy.copy(processor)
    assert TopK(50).params() == {"k": 50}
    assert isinstance(Temperature(1).params()["temperature"], float)


@pytest.mark.parametrize("neutral", [cls(cls.neutral) for cls in REGISTRY.values()])
def test_the_neutral_value_is_off(neutral: Processor) -> None:
    logits, history = torch.tensor([1.0, 2.0, 2.0]), torch.tensor([0, 1, 0, 1])
    assert not neutral.active and neutral(logits, history) is logits


BAD_FOR_ALL = [math.nan, INF, -INF, True, False, None, "0.5", [1], 1 + 2j]
BAD: list[tuple[str, object]] = [(name, value) for name in REGISTRY for value in BAD_FOR_ALL]
BAD += [("temperature", -0.1), ("temperature", 10**400), ("top_k", -1), ("top_k", 2.5), ("top_k", 2.0)]
BAD += [(name, value) for name in ("top_p", "min_p", "typical_p") for value in (-1e-9, 1.0000001, 90)]
BAD += [(name, value) for name in ("epsilon_cutoff", "eta_cutoff") for value in (-1e-9, 1.0)]
BAD += [("repetition_penalty", 0), ("repetition_penalty", -1.0), ("no_repeat_ngram_size", -1)]
BAD += [("presence_penalty", 2.1), ("frequency_penalty", -2.1)]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_value_is_refused_with_the_value_the_limit_and_the_remedy(name: str, value: object) -> None:
    with pytest.raises(UserError) as caught:
        REGISTRY[name](value)
    sentence = str(caught.value)
    assert sentence.startswith(f"{name} is ") and repr(value)[:30] in sentence and "\n" not in sentence
    assert ("choose a value" in sentence or "give one" in sentence) and len(sentence) < 160
    assert caught.value.code in ("out_of_range", "not_a_number")

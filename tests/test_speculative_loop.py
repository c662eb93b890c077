"""The loop: the same texts as without a draft, its ends, what it reads and keeps, and what a round records."""

from __future__ import annotations

import math
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import chi2
from torch import Tensor

from decoding.errors import UserError
from decoding.models import load
from decoding.models.huggingface import HuggingFaceModel
from decoding.models.toy import ToyCache, ToyModel
from decoding.sampling import Uniforms, sample
from decoding.settings import sample_settings
from decoding.speculative.drafters import Drafter, ModelDrafter, drafter_of
from decoding.speculative.loop import speculate
from decoding.speculative.tree import ROOT
from decoding.speculative_settings import VERIFIERS, SpeculativeSettings, speculative_settings
from decoding.trace import SpeculativeStep
from tests.speculative_toys import TARGET_ROWS, Scripted, draft_toy, target_toy, toy, words_of

FALSE_ALARM = 1e-6
"""Odds that right code fails one chi-square test. The seeds are fixed, so a pass stays a pass."""
DRAFTERS = ("model", "ngram+model", "ngram", "oracle", "random")
GAMMAS = range(1, 9)


def asked(**options: Any) -> SpeculativeSettings:
    return speculative_settings(**{"drafter": "oracle", "max_new_tokens": 10, **options})


def rounds(
    model: Any, draft: Any, prompt: Sequence[int], seed: int = 0, known: Sequence[int] = (), **options: Any
) -> list[SpeculativeStep]:
    """A run to its end; `drafter="model"` is the draft model given."""
    settings, uniforms = asked(**options), Uniforms(seed)
    return list(speculate(model, drafter_of(model, draft, settings, uniforms), prompt, settings, uniforms, known))


def ids(steps: Sequence[SpeculativeStep]) -> list[int]:
    return [token.id for step in steps for token in step.emitted]


def alone(model: Any, prompt: Sequence[int], seed: int = 0, **options: Any) -> list[int]:
    """The tokens of the target by itself, drawn by a direct scan."""
    settings = sample_settings(**{"max_new_tokens": 10, "top": 1, **options})
    return [step.token.id for step in sample(model, prompt, settings, Uniforms(seed))]


@pytest.fixture(scope="module")
def near(tiny_llama_folder: Path, tiny_tokenizer: Any) -> Any:
    """The tiny Llama with noise on its weights: it says the same as often as not."""
    from transformers import AutoModelForCausalLM

    module = AutoModelForCausalLM.from_pretrained(tiny_llama_folder).eval().requires_grad_(False)
    generator = torch.Generator().manual_seed(0)
    for weight in module.parameters():
        weight += 0.01 * torch.randn(weight.shape, generator=generator)
    return HuggingFaceModel(module, tiny_tokenizer, "near")


# --- the same text ---------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_at_temperature_0_a_toy_is_greedy(drafter: str, gamma: int) -> None:
    """Case 9, by every rule: the lossy ones accept nothing else either."""
    for model, draft in ((target_toy(max_words=9), draft_toy(max_words=9)), (load("toy:lecture"),) * 2):
        prompt = model.encode("")
        greedy = alone(model, prompt, temperature=0)
        for verifier in VERIFIERS:
            options = {"temperature": 0, "gamma": gamma, "drafter": drafter, "verifier": verifier}
            assert ids(rounds(model, draft, prompt, seed=3, **options)) == greedy


@pytest.mark.parametrize("drafter", DRAFTERS)
def test_at_temperature_0_a_model_is_greedy(tiny_llama: Any, near: Any, drafter: str) -> None:
    """Case 9, on torch and on ONNX Runtime, for every gamma; drafts are accepted and rejected on the way."""
    found: list[SpeculativeStep] = []
    for gamma in GAMMAS:
        prompt = tiny_llama.encode(("the sky is blue and the sky", "She said", "in 1995 or in")[gamma % 3])
        steps = rounds(tiny_llama, near, prompt, temperature=0, gamma=gamma, drafter=drafter)
        assert ids(steps) == alone(tiny_llama, prompt, temperature=0)
        found += steps
    accepted = [verdict.accepted for step in found for verdict in step.verdicts]
    if drafter == "oracle":
        assert all(accepted)
    elif drafter == "model":
        assert 0.1 < sum(accepted) / len(accepted) < 0.9


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 1.6, "top_k": 3}, {"top_p": 0.8, "repetition_penalty": 1.4, "no_repeat_ngram_size": 2}],
    ids=["plain", "flat", "history"],
)
def test_exact_match_writes_what_sampling_writes(drafter: str, options: dict[str, Any]) -> None:
    """Token for token, at every seed: the target draws each with the uniform that sampling takes there."""
    model, draft = target_toy(max_words=9), draft_toy(max_words=9)
    prompt = model.encode("a")
    for seed in range(12):
        steps = rounds(model, draft, prompt, seed, verifier="exact", drafter=drafter, **options)
        assert ids(steps) == alone(model, prompt, seed, **options)


@pytest.mark.parametrize("drafter", ["model", "ngram+model", "ngram"])
def test_exact_match_of_a_model_writes_what_sampling_writes(tiny_llama: Any, near: Any, drafter: str) -> None:
    prompt = tiny_llama.encode("the sky is blue and the sky")
    for seed, options in enumerate(({}, {"temperature": 0.6}, {"top_k": 9, "repetition_penalty": 1.2})):
        steps = rounds(tiny_llama, near, prompt, seed, verifier="exact", drafter=drafter, **options)
        assert ids(steps) == alone(tiny_llama, prompt, seed, **options)


@pytest.mark.parametrize("verifier", ["lossless", "exact"])
@pytest.mark.parametrize("temperature", [0, 0.3, 1.0, 2.5])
def test_a_target_that_drafts_for_itself_is_always_accepted(tiny_llama: Any, verifier: str, temperature: float) -> None:
    """Case 10, at every temperature: rounds of gamma + 1 tokens, the last as long as there is room."""
    for model in (target_toy(max_words=9), tiny_llama):
        for seed in range(3):
            options = {"verifier": verifier, "temperature": temperature, "max_new_tokens": 9, "gamma": 3}
            steps = rounds(model, None, model.encode("a"), seed, **options)
            assert all(verdict.accepted for step in steps for verdict in step.verdicts)
            whole = steps if steps[-1].emitted[-1].id not in model.end_ids else steps[:-1]
            assert [len(step.emitted) for step in whole] == [4, 4, 1][: len(whole)]


def conditional(words: tuple[str, ...]) -> dict[str, float]:
    """The target table's next word at T = 2 and top-k 3, by definition."""
    row = {"<end>": 1.0} if len(words) == 3 else TARGET_ROWS.get(" ".join(words), {"c": 0.75, "a": 0.25})
    best = sorted(row, key=lambda word: (-row[word], ["a", "b", "c", "<end>"].index(word)))[:3]
    weights = {word: row[word] ** 0.5 for word in best}
    return {word: weight / sum(weights.values()) for word, weight in weights.items()}


def outputs(words: tuple[str, ...] = (), prob: float = 1.0) -> dict[tuple[str, ...], float]:
    """Every output and its probability."""
    found = {}
    for word, p in conditional(words).items():
        found |= {(*words, word): prob * p} if word == "<end>" else outputs((*words, word), prob * p)
    return found


@pytest.mark.parametrize("drafter", ["model", "ngram+model", "random", "ngram"])
def test_over_seeds_the_loop_writes_the_targets_law(drafter: str) -> None:
    """300 runs against the product of the target's conditionals, outputs below 5 expected counts put together."""
    model, draft, runs = target_toy(), draft_toy(), 300
    prompt, law = model.encode(""), outputs()
    options = {"temperature": 2.0, "top_k": 3, "drafter": drafter, "gamma": 2, "top": 1}
    found = Counter(words_of(model, ids(rounds(model, draft, prompt, seed, **options))) for seed in range(runs))
    assert set(found) <= set(law)
    rare = {words for words, p in law.items() if p * runs < 5}
    cells = [(found[words], p * runs) for words, p in law.items() if words not in rare]
    if rare:
        cells.append((sum(found[words] for words in rare), sum(law[words] for words in rare) * runs))
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in cells)
    assert chi2.sf(statistic, len(cells) - 1) > FALSE_ALARM


def test_two_tokens_over_seeds() -> None:
    """p = (.5, .5), q = (.9, .1): A comes half the time, not .70 of it; of 1000 runs the standard error is .016."""
    model = toy("coin", {"": {"a": 0.5, "b": 0.5}}, max_words=1)
    draft = toy("bent", {"": {"a": 0.9, "b": 0.1}}, max_words=1)
    options = {"drafter": "model", "gamma": 1, "max_new_tokens": 1, "top": 1}
    share = sum(ids(rounds(model, draft, model.encode(""), seed, **options)) == [0] for seed in range(1000)) / 1000
    assert chi2.sf((share - 0.5) ** 2 / (0.25 / 1000), 1) > FALSE_ALARM and abs(share - 0.7) > 0.1


# --- ends ------------------------------------------------------------------------------------------


def test_an_end_token_in_an_accepted_draft_ends_the_text() -> None:
    """Case 8: what was drafted after it is recorded and gets no verdict."""
    model = target_toy(max_words=9)
    (end,) = model.end_ids
    a, b = model.encode("a b")[1:]
    prompt = model.encode("")
    for verifier in VERIFIERS:
        for seed in range(200):
            settings = asked(verifier=verifier, verify_top_k=9, typical_epsilon=0.01, gamma=4)
            drafter = Scripted([[a, end, b, b]], model.info.vocab_size)
            step, *rest = speculate(model, drafter, prompt, settings, Uniforms(seed))
            if [verdict.accepted for verdict in step.verdicts] == [True, True]:
                break
        else:
            pytest.fail("no seed accepts the end token")
        assert rest == [] and (step.ending, step.added) == ("eos", None)
        assert [token.id for token in step.emitted] == [a, end]
        assert [node.token.id for node in step.nodes] == [a, end, b, b]
        assert drafter.closed


def test_an_end_token_that_the_target_adds_ends_the_text() -> None:
    model = target_toy(max_words=1)
    (end,) = model.end_ids
    a, b = model.encode("a b")[1:]
    for drafted, ending in (([a], "bonus"), ([a, b], "recovered")):
        for seed in range(30):
            steps = list(
                speculate(model, Scripted([drafted], model.info.vocab_size), model.encode(""), asked(), Uniforms(seed))
            )
            if len(steps[0].emitted) == 2:
                assert ids(steps) == [a, end] and steps[0].ending == ending
                break
        else:
            pytest.fail("no seed accepts the draft")


def test_any_of_several_end_tokens_ends_a_run() -> None:
    class TwoEnds(ToyModel):
        @property
        def end_ids(self) -> frozenset[int]:
            return super().end_ids | {self.encode("c")[-1]}

    model, ends = TwoEnds(target_toy(max_words=9).table), Counter[str]()
    for seed in range(60):
        words = words_of(model, ids(rounds(model, draft_toy(), model.encode(""), seed, drafter="model")))
        assert words[-1] in ("c", "<end>") and not {"c", "<end>"} & set(words[:-1])
        ends[words[-1]] += 1
    assert len(ends) == 2


@pytest.mark.parametrize("length", range(1, 8))
def test_a_run_is_never_longer_than_asked(length: int) -> None:
    """Drafts stop where there is no more room; a draft accepted to the last place leaves none for a bonus."""
    model = toy("endless", {"": {"a": 1.0}}, max_words=99, a=1.0)
    for gamma in (1, 2, 3, 8):
        steps = rounds(model, None, model.encode(""), max_new_tokens=length, gamma=gamma)
        assert len(ids(steps)) == length
        assert all(step.position + len(step.nodes) <= length for step in steps)
        endings = [step.ending for step in steps]
        left = length % (gamma + 1)
        assert endings == ["bonus"] * (length // (gamma + 1)) + (["length"] if left else [])


def test_drafts_do_not_go_past_the_context_of_either_model() -> None:
    class Short(ToyModel):
        @property
        def info(self) -> Any:
            return super().info.__class__("toy:short", super().info.vocab_size, 6, "cpu", "float64")

    endless = toy("endless", {"": {"a": 1.0}}, max_words=99, a=1.0)
    short = Short(endless.table)
    settings, prompt = asked(gamma=4, max_new_tokens=8), endless.encode("a a")
    for model, draft in ((endless, short), (short, endless)):
        steps = list(speculate(model, ModelDrafter(draft, settings, Uniforms(0)), prompt, settings, Uniforms(0)))
        assert [len(step.nodes) for step in steps][:2] == [3, 0] and len(ids(steps)) == 8


def test_a_run_that_has_ended_or_is_full_goes_no_further() -> None:
    model = target_toy()
    (end,) = model.end_ids
    words = model.encode("a b")[1:]
    assert rounds(model, None, model.encode(""), known=[*words, end]) == []
    assert rounds(model, None, model.encode(""), known=words, max_new_tokens=2) == []
    drafter = Scripted([], 5)
    assert list(speculate(model, drafter, model.encode(""), asked(), Uniforms(0), [end])) == [] and drafter.closed


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_a_run_resumed_after_a_round_is_the_whole_run(tiny_llama: Any, near: Any, verifier: str) -> None:
    """Tokens and coins alike; probabilities to rounding, since several tokens are read in one forward."""
    prompt = tiny_llama.encode("she said")
    options = {"temperature": 0.8, "verifier": verifier, "drafter": "model", "gamma": 3}
    whole = rounds(tiny_llama, near, prompt, 5, **options)
    for at in range(1, len(whole)):
        rest = rounds(tiny_llama, near, prompt, 5, ids(whole[:at]), **options)
        assert [step.position for step in rest] == [step.position for step in whole[at:]]
        assert ids(rest) == ids(whole[at:])
        for one, other in zip(rest, whole[at:], strict=True):
            assert [v.uniform for v in one.verdicts] == [v.uniform for v in other.verdicts]
            assert [v.target_prob for v in one.verdicts] == pytest.approx(
                [v.target_prob for v in other.verdicts], abs=1e-4
            )


def test_the_same_seed_gives_the_same_rounds_and_others_others(tiny_llama: Any, near: Any) -> None:
    prompt = tiny_llama.encode("the")
    options = {"temperature": 1.5, "drafter": "model"}
    first, again = (rounds(tiny_llama, near, prompt, 3, **options) for _ in range(2))
    assert first == again
    assert len({tuple(ids(rounds(tiny_llama, near, prompt, seed, **options))) for seed in range(8)}) > 4


# --- what is read and kept -------------------------------------------------------------------------


class Watched(ToyModel):
    """A toy that keeps count of its forwards and remembers its caches without keeping them alive."""

    def __init__(self, table: Any, breaks_at: int | None = None, row: int = -1) -> None:
        super().__init__(table)
        self.caches: list[weakref.ref[ToyCache]] = []
        self.read: list[tuple[int, int]] = []
        self.breaks_at, self.row = breaks_at, row

    def new_cache(self, batch: int = 1) -> ToyCache:
        cache = super().new_cache(batch)
        self.caches.append(weakref.ref(cache))
        return cache

    def forward(self, tokens: Tensor, cache: Any, *args: Any, **options: Any) -> Any:
        self.read.append((tokens.shape[1], options["logits_to_keep"]))
        output = super().forward(tokens, cache, *args, **options)
        if len(self.read) == self.breaks_at:
            output.logits[:, self.row] = math.nan
        return output

    def held(self) -> int:
        return sum(ref() is not None for ref in self.caches)


def watched(**options: Any) -> tuple[Watched, Watched, SpeculativeSettings, Drafter]:
    settings = asked(gamma=3, **options)
    model, draft = Watched(target_toy(max_words=30).table), Watched(draft_toy(max_words=30).table)
    return model, draft, settings, ModelDrafter(draft, settings, Uniforms(1))


def test_one_forward_a_round() -> None:
    """The prompt together with the first draft, then the token added last and the new draft; no logits but theirs."""
    model, draft, settings, drafter = watched(temperature=1.5)
    prompt = model.encode("a b")
    steps = list(speculate(model, drafter, prompt, settings, Uniforms(1)))
    assert len(steps) > 2 and len(model.read) == len(steps)
    assert model.read == [((3 if i == 0 else 1) + len(s.nodes), 1 + len(s.nodes)) for i, s in enumerate(steps)]
    assert len(draft.read) == sum(step.draft_forwards for step in steps) == sum(len(step.nodes) for step in steps)


def test_the_caches_hold_what_was_accepted(tiny_llama: Any, near: Any) -> None:
    """After each round: the text without the token added last, which nobody has read."""
    prompt = tiny_llama.encode("the sea")
    settings = asked(temperature=0.7, gamma=3)
    drafter = ModelDrafter(near, settings, Uniforms(2))
    made: list[Any] = []
    make = type(tiny_llama).new_cache

    def new_cache(self: Any, batch: int = 1) -> Any:
        made.append(make(self, batch))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tiny_llama), "new_cache", new_cache)
        written = len(prompt)
        endings = set()
        for step in speculate(tiny_llama, drafter, prompt, settings, Uniforms(2)):
            written += len(step.emitted)
            lengths = [made[0].length, drafter._cache.length]  # type: ignore[union-attr]
            assert lengths[0] == written - (step.added is not None)
            last_unread = step.ending in ("bonus", "length") and step.nodes
            assert lengths[1] == lengths[0] - bool(last_unread)
            endings.add(step.ending)
    assert {"recovered", "bonus"} <= endings


@pytest.mark.parametrize("off", [-1, 1])
def test_a_cache_cut_at_the_wrong_place_is_noticed(off: int) -> None:
    """The classic bug on the target's side: one token short, or one too many."""

    class Wrong(ToyCache):
        def crop(self, length: int) -> None:
            super().crop(max(0, min(length + off, self.length)))

    class Model(ToyModel):
        def new_cache(self, batch: int = 1) -> ToyCache:
            return Wrong(batch)

    model = Model(target_toy(max_words=30).table)
    with pytest.raises(AssertionError):
        rounds(model, None, model.encode(""), drafter="random")


def test_closing_frees_both_caches_and_stops_both_models() -> None:
    """Case 15: within one round, and though the caller still holds the generator."""
    model, draft, settings, drafter = watched()
    steps = speculate(model, drafter, model.encode(""), settings, Uniforms(0))
    assert model.caches == draft.caches == []  # nothing before the first round is asked for
    next(steps)
    assert model.held() == draft.held() == 1
    steps.close()  # type: ignore[attr-defined]
    assert model.held() == draft.held() == 0 and len(model.read) == 1
    with pytest.raises(StopIteration):
        next(steps)


def test_a_run_to_the_end_frees_both_caches() -> None:
    model, draft, settings, drafter = watched()
    steps = speculate(model, drafter, model.encode(""), settings, Uniforms(0))
    assert list(steps) and len(model.caches) == len(draft.caches) == 1
    assert model.held() == draft.held() == 0


@pytest.mark.parametrize("which", ["target", "draft"])
def test_an_error_frees_both_caches_though_it_is_kept(which: str) -> None:
    """The page keeps the error to show it; the frames in its traceback must not keep the caches."""
    model, draft, settings, drafter = watched()
    broken = model if which == "target" else draft
    broken.breaks_at, broken.row = 1, 0
    with pytest.raises(UserError) as caught:
        list(speculate(model, drafter, model.encode(""), settings, Uniforms(0)))
    assert caught.value.code == ("broken_logits" if which == "target" else "broken_draft")
    assert model.held() == draft.held() == 0


def test_broken_logits_name_the_step_and_only_where_they_matter() -> None:
    """Case 18: the position of the token that has no law; a row that nobody looks at harms nobody."""
    table = toy("line", {"": {"a": 1.0}}, max_words=30, a=1.0).table
    model = Watched(table, breaks_at=2, row=1)
    with pytest.raises(UserError, match="At step 7 the model gave NaN") as caught:
        rounds(model, ToyModel(table), model.encode(""), gamma=4, drafter="model")  # the second round begins at 6
    assert caught.value.code == "broken_logits"
    b = target_toy().encode("b")[-1]
    (a,) = model.encode("a")[1:]
    harmless = Watched(toy("line", {"": {"a": 1.0, "b": 0.0}}, max_words=30, a=1.0).table, breaks_at=1, row=2)
    steps = list(speculate(harmless, Scripted([[b, a]], 5), harmless.encode(""), asked(), Uniforms(0)))
    assert steps[0].ending == "recovered" and len(ids(steps)) == 10


def test_a_cache_that_forgets_is_refused_at_once(make_module: Callable[..., Any], tiny_tokenizer: Any) -> None:
    """Before anything is written, though everything were accepted."""
    model = HuggingFaceModel(make_module("mistral", sliding_window=4), tiny_tokenizer, "mistral")
    steps = speculate(
        model, drafter_of(model, None, asked(temperature=0), Uniforms(0)), model.encode("the"), asked(), Uniforms(0)
    )
    with pytest.raises(UserError) as caught:
        next(steps)
    assert caught.value.code == "cache_cannot_crop"


# --- what a round records --------------------------------------------------------------------------


def recorded(model: Any, draft: Any, prompt: Sequence[int], **options: Any) -> Iterator[SpeculativeStep]:
    for seed in range(4):
        for verifier in VERIFIERS:
            for drafter in DRAFTERS:
                yield from rounds(model, draft, prompt, seed, verifier=verifier, drafter=drafter, **options)


@pytest.mark.parametrize("options", [{"top": 2}, {"temperature": 0}, {"top_k": 2, "temperature": 3.0}], ids=str)
def test_a_verdict_lists_its_token_in_both_laws(options: dict[str, Any]) -> None:
    """Case 17: with its probabilities there, however improbable; and so does what the target adds."""
    model, draft = target_toy(max_words=9), draft_toy(max_words=9)
    seen = Counter[str]()
    for step in recorded(model, draft, model.encode(""), **options):
        for verdict in step.verdicts:
            node = step.nodes[verdict.node]
            for law, prob in ((verdict.target, verdict.target_prob), (verdict.draft, verdict.draft_prob)):
                assert {c.token: c.prob for c in law.top}[node.token] == pytest.approx(prob, abs=1e-12)
                assert math.fsum([law.tail_mass, *(c.prob for c in law.top)]) == pytest.approx(1, abs=1e-9)
            assert {c.token for c in verdict.target.top} == {c.token for c in verdict.draft.top}
            assert node.draft_prob == verdict.draft_prob > 0
            likelier = sum(c.prob > verdict.target_prob for c in verdict.target.top)
            assert verdict.rank > likelier
        if step.added is not None:
            listed = {c.token: c.prob for c in step.added.law.top}
            assert listed[step.added.token] == pytest.approx(step.added.prob, abs=1e-12) and step.added.prob > 0
        seen[step.ending] += 1
    assert {"recovered", "bonus", "eos"} <= set(seen)


def test_the_residual_is_recorded_after_a_lossless_rejection_and_p_after_others() -> None:
    model, draft = target_toy(max_words=9), draft_toy(max_words=9)
    checked = Counter[str]()
    for step in recorded(model, draft, model.encode(""), top=5):
        if step.ending != "recovered" or step.added is None:
            continue
        last = step.verdicts[-1]
        p, q = ({c.token.id: c.prob for c in law.top} for law in (last.target, last.draft))
        if last.rule == "lossless":
            left = {token: max(0.0, p[token] - q[token]) for token in p}
            expected = {token: value / sum(left.values()) for token, value in left.items()}
        else:
            expected = p
        found = {c.token.id: c.prob for c in step.added.law.top}
        assert all(found.get(token, 0.0) == pytest.approx(prob, abs=1e-9) for token, prob in expected.items())
        checked[last.rule] += 1
    assert set(checked) == set(VERIFIERS)


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_what_came_instead_is_listed_where_the_draft_was_rejected(verifier: str) -> None:
    """With its p and q there, though neither law finds it likely: those of the same run that lists all tokens."""
    model, draft = target_toy(max_words=9), draft_toy(max_words=9)
    prompt, unlikely = model.encode(""), 0
    for seed in range(30):
        few, all_ = (
            rounds(model, draft, prompt, seed, drafter="model", verifier=verifier, temperature=3.0, top=top)
            for top in (1, 9)
        )
        for step, whole in zip(few, all_, strict=True):
            if step.ending != "recovered" or step.added is None:
                continue
            last = step.verdicts[-1]
            for law, full in ((last.target, whole.verdicts[-1].target), (last.draft, whole.verdicts[-1].draft)):
                expected = {c.token: c.prob for c in full.top}[step.added.token]
                assert {c.token: c.prob for c in law.top}[step.added.token] == expected
            best = {max(law.top, key=lambda c: c.prob).token for law in (last.target, last.draft)}
            unlikely += step.added.token not in best
    assert unlikely > 3


def test_of_siblings_each_lists_what_was_drawn_at_its_own_place() -> None:
    """Both of a pair that was rejected whole; not the first of a pair whose second was accepted."""
    model = target_toy(max_words=9)
    a, b, c = (model.encode(word)[-1] for word in "abc")
    seen = Counter[bool]()
    for seed in range(60):
        drafter = Scripted([[a, b, c]], model.info.vocab_size, parents=[ROOT, ROOT, 1])
        step = next(iter(speculate(model, drafter, model.encode(""), asked(top=1, temperature=0.9), Uniforms(seed))))
        if step.ending != "recovered" or step.added is None:
            continue
        listed = [{c.token for c in verdict.target.top} for verdict in step.verdicts]
        assert step.added.token in listed[-1]
        whole = not any(verdict.accepted for verdict in step.verdicts)
        if whole:
            assert len(listed) == 2 and step.added.token in listed[0]
        elif len(listed) == 3 and step.added.token.id not in (a, b):
            assert step.added.token not in listed[0]
        seen[whole] += 1
    assert seen[True] > 0 and seen[False] > 0


def test_a_round_without_a_draft_is_a_plain_step() -> None:
    """The n-gram drafter finds nothing on a first word: one token, drawn from p, as sampling does."""
    model = target_toy()
    for seed in range(10):
        step = rounds(model, None, model.encode(""), seed, drafter="ngram")[0]
        assert (step.nodes, step.verdicts, step.ending, step.draft_forwards) == ((), (), "bonus", 0)
        assert [token.id for token in step.emitted] == alone(model, model.encode(""), seed)[:1]

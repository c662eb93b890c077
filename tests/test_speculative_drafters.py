"""Drafters: what each proposes, what it keeps in its cache, and which models may not draft."""

from __future__ import annotations

import math
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from scipy.stats import chi2
from torch import Tensor

from decoding import observe
from decoding.errors import UserError
from decoding.models import load
from decoding.models.toy import ToyCache, ToyModel
from decoding.sampling import Uniforms, logits_after
from decoding.speculative import drafters
from decoding.speculative.drafters import (
    LookupFirst,
    ModelDrafter,
    NgramDrafter,
    OracleDrafter,
    RandomDrafter,
    check_vocabulary,
    drafter_of,
)
from decoding.speculative_settings import SpeculativeSettings, speculative_settings
from tests.speculative_toys import draft_toy, target_toy, toy, words_of

FALSE_ALARM = 1e-6
"""Odds that right code fails one chi-square test. The seeds are fixed, so a pass stays a pass."""


def asked(**options: Any) -> SpeculativeSettings:
    return speculative_settings(**{"drafter": "oracle", **options})


def history(ids: Sequence[int]) -> Tensor:
    return torch.tensor(list(ids))


# --- n-grams ---------------------------------------------------------------------------------------


def proposed(text: Sequence[int], gamma: int = 4, most: int = 3, least: int = 1) -> list[int]:
    draft = NgramDrafter(most, least, 100).propose(history(text), 0, gamma)
    assert draft.tree.is_chain
    for token, law in zip(draft.tree.tokens.tolist(), draft.laws, strict=True):
        assert law.probs().tolist() == [float(id == token) for id in range(100)] and law.entropy == 0
    return draft.tree.tokens.tolist()


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ([1, 2, 3, 4, 1, 2], {}, [3, 4, 1, 2]),  # "1 2" came before, and this followed
        ([1, 2, 3, 4, 1, 2], {"gamma": 2}, [3, 4]),
        ([7, 1, 2, 8, 9, 1, 2, 5, 6, 1, 2], {}, [5, 6, 1, 2]),  # the latest place
        ([1, 2, 3, 9, 2, 3, 8, 1, 2, 3], {}, [9, 2, 3, 8]),  # three tokens beat two, though those came later
        ([1, 2, 3, 9, 2, 3, 8, 1, 2, 3], {"most": 2}, [8, 1, 2, 3]),
        ([5, 5], {}, [5]),  # no further than the text goes
        ([5, 5, 5, 5], {}, [5]),
        ([1, 2, 3], {}, []),  # nothing came twice
        ([1, 2, 1], {"least": 2}, []),
        ([1, 2, 1], {}, [2, 1]),
        ([9], {}, []),
        ([1, 2, 1], {"gamma": 0}, []),
    ],
)
def test_the_end_of_the_text_is_looked_up(text: list[int], options: dict[str, int], expected: list[int]) -> None:
    assert proposed(text, **options) == expected


def test_the_lookup_is_that_of_its_definition() -> None:
    """Random texts over few tokens, against a search by hand: all sizes, all places, the last one first."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        length = int(torch.randint(1, 14, (1,), generator=generator))
        text = torch.randint(0, 3, (length,), generator=generator).tolist()
        expected: list[int] = []
        for size in (3, 2, 1):
            places = [at for at in range(length - size) if text[at : at + size] == text[-size:]]
            if places and not expected:
                expected = text[places[-1] + size :][:4]
        assert proposed(text) == expected, text


# --- at random -------------------------------------------------------------------------------------


def test_a_random_draft_is_uniform() -> None:
    """2000 draws over 8 tokens by chi-square; q is 1/8, and its entropy three bits."""
    seen: Counter[int] = Counter()
    for seed in range(500):
        draft = RandomDrafter(8, Uniforms(seed)).propose(history([0]), 3, 4)
        seen.update(draft.tree.tokens.tolist())
        assert all(law.probs().tolist() == [0.125] * 8 and law.entropy == 3 for law in draft.laws)
    assert set(seen) == set(range(8))
    assert chi2.sf(sum((count - 250) ** 2 / 250 for count in seen.values()), 7) > FALSE_ALARM


def test_a_random_draft_is_that_of_a_direct_scan() -> None:
    law = observe.law(torch.zeros(11))
    for seed in range(20):
        draft = RandomDrafter(11, Uniforms(seed)).propose(history([0]), 5, 2)
        uniforms = [float(Uniforms(seed).at(5 + step, 3)[2]) for step in range(2)]
        assert draft.tree.tokens.tolist() == [observe.draw_direct(law, uniform)[0] for uniform in uniforms]


# --- models ----------------------------------------------------------------------------------------


class Counted(ToyModel):
    """A toy that keeps count of its forwards, of the tokens it read, and of its caches."""

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.read: list[int] = []
        self.caches: list[weakref.ref[ToyCache]] = []

    def new_cache(self, batch: int = 1) -> ToyCache:
        cache = super().new_cache(batch)
        self.caches.append(weakref.ref(cache))
        return cache

    def forward(self, tokens: Tensor, cache: Any, *args: Any, **options: Any) -> Any:
        self.read.append(tokens.shape[1])
        return super().forward(tokens, cache, *args, **options)


def test_each_token_of_the_text_is_read_once() -> None:
    """The text in one forward, then a token a forward; the last draft is only read when the text goes on from it."""
    model = Counted(draft_toy(max_words=20).table)
    drafter = ModelDrafter(model, asked(), Uniforms(1))
    assert model.caches == []
    text = model.encode("a b")
    first = drafter.propose(history(text), 0, 3).tree.tokens.tolist()
    assert (model.read, drafter.forwards) == ([3, 1, 1], 3)

    taken = [*text, *first, 0]  # accepted whole, and a bonus: the cache is one token short of what was accepted
    drafter.crop(len(taken) - 1)
    drafter.propose(history(taken), 4, 2)
    assert model.read[3:] == [2, 1] and drafter.forwards == 5

    cut = [*taken, 1]  # rejected at once, and replaced: one token to read
    drafter.crop(len(cut) - 1)
    drafter.propose(history(cut), 5, 1)
    assert model.read[5:] == [1] and drafter.forwards == 6


def test_a_trained_draft_reads_its_lead_before_a_text_that_begins_otherwise() -> None:
    """Once, in the first forward; what is cut back later is cut behind it."""
    model: Any = Counted(draft_toy(max_words=20).table)
    start, *lead = model.encode("b a")
    model.lead = tuple(lead)
    drafter = ModelDrafter(model, asked(), Uniforms(1))
    text = model.encode("a b")
    assert text[0] == start != lead[0]
    draft = drafter.propose(history(text), 0, 3)
    assert model.read == [len(lead) + 3, 1, 1]
    expected = logits_after(model, [*lead, *text])
    assert torch.allclose(draft.laws[0].probs(), expected.double().softmax(-1))
    drafter.crop(len(text) + 1)
    longer = [*text, int(draft.tree.tokens[0]), 0]
    model.read.clear()
    again = drafter.propose(history(longer), 2, 1)
    assert model.read == [1]
    assert torch.allclose(again.laws[0].probs(), logits_after(model, [*lead, *longer]).double().softmax(-1))


def test_a_text_that_begins_like_the_lead_is_read_as_it_is() -> None:
    model: Any = Counted(draft_toy(max_words=20).table)
    text = model.encode("a b")
    model.lead = (text[0], 2, 2, 2)
    drafter = ModelDrafter(model, asked(), Uniforms(1))
    drafter.propose(history(text), 0, 3)
    assert model.read == [3, 1, 1]


def test_nothing_asked_is_nothing_read() -> None:
    model = Counted(draft_toy().table)
    drafter = ModelDrafter(model, asked(), Uniforms(1))
    assert len(drafter.propose(history(model.encode("")), 0, 0).tree) == 0
    drafter.crop(1)
    assert model.caches == [] and drafter.forwards == 0


def test_closing_frees_the_cache() -> None:
    model = Counted(draft_toy().table)
    drafter = ModelDrafter(model, asked(), Uniforms(1))
    drafter.propose(history(model.encode("")), 0, 2)
    assert model.caches[0]() is not None
    drafter.close()
    assert model.caches[0]() is None


class OneShort(ModelDrafter):
    """The classic bug: after a draft accepted whole it reads the bonus only, and never the last token it drafted."""

    def _unread(self, text: Tensor) -> Tensor:
        return super()._unread(text) if self.forwards == 0 else text[-1:]


def test_a_cache_one_token_short_is_noticed() -> None:
    model = draft_toy(max_words=20)
    drafter = OneShort(model, asked(), Uniforms(1))
    text = model.encode("")
    tokens = drafter.propose(history(text), 0, 3).tree.tokens.tolist()
    drafter.crop(len(text) + 3)
    with pytest.raises(AssertionError, match="the draft has read 4 of 5 tokens"):
        drafter.propose(history([*text, *tokens, 0]), 4, 3)


def test_a_cache_that_was_not_cut_is_noticed() -> None:
    """Whatever was rejected: all of the draft, or its last token but one."""
    for accepted in range(2):
        model = draft_toy(max_words=20)
        drafter = ModelDrafter(model, asked(), Uniforms(1))
        text = model.encode("")
        tokens = drafter.propose(history(text), 0, 3).tree.tokens.tolist()
        with pytest.raises(AssertionError, match="not cut back"):
            drafter.propose(history([*text, *tokens[:accepted], 0]), 1 + accepted, 3)


def test_drafts_are_drawn_from_the_laws_recorded(tiny_llama: Any) -> None:
    """Each law is that of the text with the tokens drafted before it, processed as the settings say."""
    settings = asked(temperature=0.7, top_k=20, repetition_penalty=1.3, gamma=4)
    text = tiny_llama.encode("the sky")
    drafter = ModelDrafter(tiny_llama, settings, Uniforms(3))
    draft = drafter.propose(history(text), 5, 4)
    ids = list(text)
    for step, (token, law) in enumerate(zip(draft.tree.tokens.tolist(), draft.laws, strict=True)):
        expected = observe.law_after(logits_after(tiny_llama, ids), settings.processors, history(ids))
        torch.testing.assert_close(law.probs(), expected.probs(), atol=1e-5, rtol=0)
        assert law.kept_count == 20
        assert token == observe.draw_direct(law, float(Uniforms(3).at(5 + step, 3)[2]))[0]
        ids.append(token)


def test_a_draft_ends_at_an_end_token() -> None:
    """Nothing is written after it, so nothing is drafted."""
    model = toy("ends", {"": {"a": 1}, "a": {"<end>": 1}, "b": {"c": 1}}, c=1.0)
    draft = ModelDrafter(model, asked(), Uniforms(0)).propose(history(model.encode("")), 0, 8)
    assert words_of(model, draft.tree.tokens.tolist()) == ("a", "<end>")


def test_the_same_position_is_drafted_with_the_same_uniform() -> None:
    """Whatever round it falls into: a run can be drawn again, and branched, as sampling can."""
    model = draft_toy(max_words=20)
    one, two = (ModelDrafter(model, asked(), Uniforms(7)) for _ in range(2))
    text = history(model.encode("a b"))
    whole = one.propose(text, 0, 4).tree.tokens
    two.propose(text, 0, 2)
    two.crop(len(text))
    again = two.propose(torch.cat((text, whole[:1])), 1, 3).tree.tokens
    assert torch.equal(whole[1:], again)


def test_what_is_found_in_the_text_is_drafted_and_the_model_drafts_the_rest() -> None:
    """q is one-hot where it was looked up, with no forward; a single token that comes again is not looked up."""
    model, settings = draft_toy(max_words=20), asked(ngram_max=3)
    drafter = LookupFirst(model, settings, Uniforms(7))
    text = model.encode("a b c a b")
    draft = drafter.propose(history(text), 0, 2)
    assert words_of(model, draft.tree.tokens.tolist()) == ("c", "a") and drafter.forwards == 0
    assert [law.kept_count for law in draft.laws] == [1, 1]
    drafter.crop(len(text))
    other = model.encode("a b c b")
    drafted = drafter.propose(history(other), 0, 1)
    expected = ModelDrafter(model, settings, Uniforms(7)).propose(history(other), 0, 1)
    assert drafter.forwards == 1 and torch.equal(drafted.tree.tokens, expected.tree.tokens)
    torch.testing.assert_close(drafted.laws[0].probs(), expected.laws[0].probs())


def test_after_what_was_looked_up_the_model_reads_all_it_has_missed() -> None:
    """Its laws are those of the whole text, whatever was looked up, accepted or cut away before."""
    model, settings = draft_toy(max_words=40), asked(ngram_max=3)
    drafter, forwards = LookupFirst(model, settings, Uniforms(3)), 0
    kinds = set[bool]()
    generator = torch.Generator().manual_seed(1)
    text = model.encode("a b")
    while len(text) < 24:
        draft = drafter.propose(history(text), len(text), 3)
        seen = list(text)
        for token, law in zip(draft.tree.tokens.tolist(), draft.laws, strict=True):
            looked_up = law.kept_count == 1
            kinds.add(looked_up)
            if not looked_up:
                forwards += 1
                whole = observe.law_after(logits_after(model, seen), settings.processors, history(seen))
                torch.testing.assert_close(law.probs(), whole.probs())
            seen.append(token)
        assert drafter.forwards == forwards
        kept = int(torch.randint(len(draft.tree) + 1, (1,), generator=generator))
        text = [*text, *draft.tree.tokens.tolist()[:kept], int(torch.randint(3, (1,), generator=generator))]
        drafter.crop(len(text) - 1)
    assert kinds == {True, False}


def test_the_oracle_speaks_as_the_target_would() -> None:
    """Its own uniforms where p = q decides, the target's where the target's own token does."""
    model = target_toy()
    text = history(model.encode(""))
    for seed in range(20):
        lossless = OracleDrafter(model, asked(), Uniforms(seed)).propose(text, 0, 1)
        exact = OracleDrafter(model, asked(verifier="exact"), Uniforms(seed)).propose(text, 0, 1)
        for draft, at in ((lossless, 2), (exact, 0)):
            expected, _ = observe.draw_direct(draft.laws[0], float(Uniforms(seed).at(0, 3)[at]))
            assert draft.tree.tokens.tolist() == [expected]


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_a_draft_model_with_broken_logits_is_named(value: float) -> None:
    """Case 18: the step, and which of the two models it was."""

    class Broken(ToyModel):
        def forward(self, *args: Any, **options: Any) -> Any:
            output = super().forward(*args, **options)
            output.logits[:] = value
            return output

    model = Broken(draft_toy().table)
    with pytest.raises(UserError, match=r"At step 4 the draft model toy:draft gave") as caught:
        ModelDrafter(model, asked(), Uniforms(0)).propose(history(model.encode("")), 3, 2)
    assert caught.value.code == "broken_draft"


# --- who may draft ---------------------------------------------------------------------------------


def test_the_settings_choose_the_drafter() -> None:
    model, draft = target_toy(), draft_toy()
    for name, cls in (("ngram", NgramDrafter), ("random", RandomDrafter), ("oracle", OracleDrafter)):
        assert type(drafter_of(model, None, asked(drafter=name), Uniforms(0))) is cls
        assert type(drafter_of(model, draft, asked(drafter=name), Uniforms(0))) is cls
    for name in ("trained", "early", "toy:draft"):
        made = drafter_of(model, draft, asked(drafter=name), Uniforms(0))
        assert type(made) is ModelDrafter and made.info == draft.info
        with pytest.raises(UserError, match=f"drafter {name} needs a draft model") as caught:
            drafter_of(model, None, asked(drafter=name), Uniforms(0))
        assert caught.value.code == "draft_missing"
    both = drafter_of(model, draft, asked(drafter="ngram+toy:draft"), Uniforms(0))
    assert type(both) is LookupFirst and both.info == draft.info
    with pytest.raises(UserError, match=r"drafter ngram\+trained needs a draft model"):
        drafter_of(model, None, asked(drafter="ngram+trained"), Uniforms(0))
    assert drafter_of(model, None, asked(drafter="oracle"), Uniforms(0)).info == model.info
    assert drafter_of(model, None, asked(drafter="ngram"), Uniforms(0)).info is None


def test_another_vocabulary_is_refused_with_the_reason() -> None:
    lecture = load("toy:lecture")
    check_vocabulary(lecture, lecture)
    check_vocabulary(target_toy(), draft_toy())
    with pytest.raises(UserError, match=r"toy:draft has 5 tokens and toy:lecture 24") as caught:
        check_vocabulary(lecture, draft_toy())
    assert caught.value.code == "draft_vocabulary_size"
    other = toy("other", {"": {"a": 0.5, "x": 0.25, "c": 0.25}}, c=1.0)
    with pytest.raises(UserError, match=r"Token 1 is 'x' in the draft model toy:other and 'b' in toy:target") as caught:
        check_vocabulary(target_toy(), other)
    assert caught.value.code == "draft_vocabulary_differs"


def test_vocabularies_of_one_size_are_told_apart_wherever_they_differ_much() -> None:
    """Two of a thousand tokens: the first 64, the last, and some between are compared."""

    class Named:
        def __init__(self, word: Callable[[int], str]) -> None:
            self.word = word
            self.info = draft_toy().info.__class__("named", 1000, 10, "cpu", "float32")

        def token(self, id: int) -> Any:
            return draft_toy().token(0).__class__(id, self.word(id))

    same: Any = Named(str)
    check_vocabulary(same, Named(str))  # type: ignore[arg-type]
    for differs in (lambda id: id == 0, lambda id: id == 63, lambda id: id == 999, lambda id: id > 500):
        other: Any = Named(lambda id, differs=differs: f"!{id}" if differs(id) else str(id))  # type: ignore[misc]
        with pytest.raises(UserError):
            check_vocabulary(same, other)
    assert drafters.PROBES >= 32

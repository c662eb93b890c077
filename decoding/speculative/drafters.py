"""Who drafts: a smaller model, the text itself, the target, or chance. S tokens of text so far, V vocabulary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from decoding import observe
from decoding.errors import UserError
from decoding.models.protocol import KVCache, LanguageModel
from decoding.observe import Law
from decoding.sampling import Uniforms, plain
from decoding.speculative.tree import TokenTree
from decoding.speculative.verification import COIN, TARGET
from decoding.speculative_settings import SpeculativeSettings
from decoding.trace import LOOKUP_FIRST, ModelInfo

DRAFT = COIN + 1
"""Of the uniforms of a position: the one a chain is drafted with, after the target's own and its one coin.

A position drafted again in a later round takes the same uniform again. That does no harm: it is only drafted again
where nobody looked at its first draft, so nothing written so far depends on that uniform.
"""
PROBES = 64
"""Tokens whose texts are compared to tell two vocabularies of one size apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """Proposed tokens, and the law that each was drawn from, given the siblings before it."""

    tree: TokenTree
    laws: tuple[Law, ...]


class Drafter(Protocol):
    """Proposes what may come next. `info`: the model that does, if one does; `forwards` of it so far."""

    @property
    def info(self) -> ModelInfo | None: ...

    @property
    def forwards(self) -> int: ...

    def propose(self, history: Tensor, position: int, gamma: int) -> Draft:
        """Up to `gamma` tokens in a row after `history` (S,), the first of them at this position of the new tokens."""
        ...

    def crop(self, length: int) -> None:
        """Forget what was read beyond the first `length` tokens: the rest was not accepted."""
        ...

    def close(self) -> None:
        """Free what is held; nothing is proposed afterwards."""
        ...


class ModelDrafter:
    """A language model with the target's vocabulary and a cache of its own draws each token after the last.

    A trained draft reads its `lead`, the start of every text it has learnt from, before a text that begins otherwise: a
    law q may be drawn from anything.
    """

    def __init__(self, model: LanguageModel, settings: SpeculativeSettings, uniforms: Uniforms) -> None:
        self._model, self._settings, self._uniforms = model, settings, uniforms
        self._cache: KVCache | None = None
        self._lead = torch.tensor(getattr(model, "lead", ()), dtype=torch.long)
        self._drawn_with = DRAFT
        self.forwards = 0

    @property
    def info(self) -> ModelInfo:
        """The draft model's."""
        return self._model.info

    @torch.inference_mode()
    def propose(self, history: Tensor, position: int, gamma: int) -> Draft:
        """One token after the other; ends early at an end token."""
        tokens: list[int] = []
        laws: list[Law] = []
        while len(tokens) < gamma and not (tokens and tokens[-1] in self._model.end_ids):
            token, law = self._next(history, position + len(tokens))
            tokens.append(token)
            laws.append(law)
            history = torch.cat((history, torch.tensor([token])))
        return Draft(TokenTree.chain(tokens), tuple(laws))

    def crop(self, length: int) -> None:
        """Cut the cache back to what it shares with the text. It may be shorter: the last draft is not read at once."""
        if self._cache is not None:
            self._cache.crop(min(len(self._lead) + length, self._cache.length))

    def close(self) -> None:
        """Free keys and values."""
        self._cache = None

    def _next(self, history: Tensor, position: int) -> tuple[int, Law]:
        """A token and the law it was drawn from: one forward."""
        law = self._law(history, position)
        token, _ = observe.draw_direct(law, float(self._uniforms.at(position, self._drawn_with + 1)[-1]))
        return token, law

    def _law(self, history: Tensor, position: int) -> Law:
        """q after `history`, once all of it is read. Raises UserError where the model's logits are broken."""
        if self._cache is None:
            self._cache = self._model.new_cache()
            if torch.equal(history[:1], self._lead[:1]):
                self._lead = self._lead[:0]
        cache = self._cache
        unread = self._unread(torch.cat((self._lead, history)))
        assert len(unread) > 0, "the draft's cache was not cut back"
        output = self._model.forward(unread[None], cache, logits_to_keep=1)
        self.forwards += 1
        read = cache.length - len(self._lead)
        assert read == len(history), f"the draft has read {read} of {len(history)} tokens"
        del cache
        size = self._model.info.vocab_size
        try:
            said = None if output.said is None else output.said.cpu()
            return observe.law_after(plain(output.own[0, -1]), self._settings.processors, history, position, said, size)
        except UserError as error:
            raise UserError("broken_draft", model=self.info.name, **error.values) from None

    def _unread(self, text: Tensor) -> Tensor:
        """All that the cache lacks: after a draft accepted whole, its last token too."""
        return text[0 if self._cache is None else self._cache.length :]


class OracleDrafter(ModelDrafter):
    """The target itself, with a cache of its own: q = p, so that a lossless verifier accepts everything.

    Where the target draws its own tokens and compares, these are drawn with the target's own uniforms.
    """

    def __init__(self, model: LanguageModel, settings: SpeculativeSettings, uniforms: Uniforms) -> None:
        super().__init__(model, settings, uniforms)
        if settings.verifier == "exact":
            self._drawn_with = TARGET


class WithoutModel:
    """A drafter that reads nothing and holds nothing."""

    info = None
    forwards = 0

    def crop(self, length: int) -> None:
        """Nothing was read."""

    def close(self) -> None:
        """Nothing is held."""


class NgramDrafter(WithoutModel):
    """Looks for the end of the text earlier in it, and proposes what followed there; q is one-hot.

    The longest end of `most` to `least` tokens that is found, where it came last; nothing where none is.
    Saxena 2023, Prompt Lookup Decoding, github.com/apoorvumang/prompt-lookup-decoding.
    """

    def __init__(self, most: int, least: int, vocab_size: int) -> None:
        self._most, self._least, self._vocab_size = most, least, vocab_size

    def propose(self, history: Tensor, position: int, gamma: int) -> Draft:
        """What followed, as far as the text goes."""
        tokens = self.found(history)[:gamma].tolist()
        return Draft(TokenTree.chain(tokens), tuple(one_hot(token, self._vocab_size) for token in tokens))

    def found(self, history: Tensor) -> Tensor:
        """What followed where the end of `history` (S,) came last before; empty where it never did."""
        for size in range(min(self._most, len(history) - 1), self._least - 1, -1):
            windows = history[:-1].unfold(0, size, 1)  # the end itself is no earlier place
            places = (windows == history[-size:]).all(-1).nonzero()
            if len(places):
                return history[int(places[-1]) + size :]
        return history[:0]


class LookupFirst(ModelDrafter):
    """Drafts what the n-gram look-up finds, with q one-hot; where it finds nothing, the model drafts.

    A small model copies badly, and the text so far costs no forward. The end looked up has two tokens at least: a
    single one comes again by chance.
    """

    def __init__(self, model: LanguageModel, settings: SpeculativeSettings, uniforms: Uniforms) -> None:
        super().__init__(model, settings, uniforms)
        self._lookup = NgramDrafter(settings.ngram_max, max(2, settings.ngram_min), model.info.vocab_size)

    def _next(self, history: Tensor, position: int) -> tuple[int, Law]:
        """Looked up where it can be, without a forward."""
        found = self._lookup.found(history)[:1].tolist()
        return (found[0], one_hot(found[0], self._model.info.vocab_size)) if found else super()._next(history, position)


class RandomDrafter(WithoutModel):
    """Every token of the vocabulary alike: q = 1/V."""

    def __init__(self, vocab_size: int, uniforms: Uniforms) -> None:
        self._uniforms = uniforms
        bits = math.log2(vocab_size)
        self._law = Law(torch.zeros(vocab_size), None, vocab_size, 0.0, float(vocab_size), bits)

    def propose(self, history: Tensor, position: int, gamma: int) -> Draft:
        """The token i with i/V <= u < (i + 1)/V."""
        size = self._law.size
        uniforms = [float(self._uniforms.at(position + step, DRAFT + 1)[-1]) for step in range(gamma)]
        tokens = [min(int(uniform * size), size - 1) for uniform in uniforms]
        return Draft(TokenTree.chain(tokens), (self._law,) * gamma)


def one_hot(token: int, vocab_size: int) -> Law:
    """The law of a token that is certain."""
    return Law(torch.zeros(1), torch.tensor([token]), vocab_size, 0.0, 1.0, 0.0)


def drafter_of(
    model: LanguageModel, draft: LanguageModel | None, settings: SpeculativeSettings, uniforms: Uniforms
) -> Drafter:
    """The drafter that the settings name; `draft`: its model, where it needs one."""
    if settings.drafter == "ngram":
        return NgramDrafter(settings.ngram_max, settings.ngram_min, model.info.vocab_size)
    if settings.drafter == "random":
        return RandomDrafter(model.info.vocab_size, uniforms)
    if settings.drafter == "oracle":
        return OracleDrafter(model, settings, uniforms)
    kind = LookupFirst if settings.drafter.startswith(LOOKUP_FIRST) else ModelDrafter
    return kind(drafting_model(model, draft, settings), settings, uniforms)


def drafting_model(model: LanguageModel, draft: LanguageModel | None, settings: SpeculativeSettings) -> LanguageModel:
    """The model that drafts, checked. Raises UserError where it is missing, or has another vocabulary."""
    if draft is None:
        raise UserError("draft_missing", name=settings.drafter)
    check_vocabulary(model, draft)
    return draft


def check_vocabulary(model: LanguageModel, draft: LanguageModel) -> None:
    """Raise UserError where an id does not mean the same to both, telling the sizes, or a token that differs."""
    names = {"draft": draft.info.name, "model": model.info.name}
    theirs, ours = draft.info.vocab_size, model.info.vocab_size
    if theirs != ours:
        raise UserError("draft_vocabulary_size", size=theirs, limit=ours, **names)
    for id in sorted({*range(min(PROBES, ours)), *(ours * probe // PROBES for probe in range(PROBES)), ours - 1}):
        one, other = draft.token(id), model.token(id)
        if one != other:
            raise UserError("draft_vocabulary_differs", id=id, theirs=one.text, ours=other.text, **names)

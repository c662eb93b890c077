"""Toys for the tests of speculative decoding: small tables, drafters that say what they are told, and exact laws."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor

from decoding import observe
from decoding.models import table
from decoding.models.toy import ToyModel
from decoding.observe import Law
from decoding.processor_base import Processor
from decoding.speculative.drafters import Draft, WithoutModel, one_hot
from decoding.speculative.tree import TokenTree
from decoding.speculative.verification import COIN, TARGET, Outcome, Verifier, verify

Text = tuple[int, ...]
Chances = dict[Text, float]

WORDS = ("a", "b", "c")
TARGET_ROWS: dict[str, dict[str, float]] = {
    "": {"a": 0.5, "b": 0.25, "c": 0.25},
    "a": {"a": 0.25, "b": 0.25, "c": 0.25, "<end>": 0.25},
    "b": {"c": 0.75, "<end>": 0.25},
    "a b": {"a": 0.5, "b": 0.5},
    "b c": {"a": 0.25, "b": 0.5, "<end>": 0.25},
}
DRAFT_ROWS: dict[str, dict[str, float]] = {
    "": {"a": 0.25, "b": 0.7, "c": 0.05},
    "a": {"a": 0.1, "b": 0.2, "c": 0.3, "<end>": 0.4},
    "b": {"c": 0.5, "a": 0.2, "<end>": 0.3},
    "a b": {"a": 0.9, "b": 0.1},
    "c": {"c": 1.0},
}


def toy(name: str, rows: dict[str, dict[str, float]], max_words: int = 3, **more: float) -> ToyModel:
    """A table over a, b, c as a model; two of them have the same vocabulary."""
    default = more or {"c": 0.75, "a": 0.25}
    value = {"name": name, "end": "<end>", "max_words": max_words, "rows": rows, "default": default}
    return ToyModel(table.parse(value, name))


def target_toy(**options: Any) -> ToyModel:
    """Outputs of at most three words."""
    return toy("target", TARGET_ROWS, **options)


def draft_toy(**options: Any) -> ToyModel:
    """Likes other words than the target."""
    return toy("draft", DRAFT_ROWS, **options)


def words_of(model: Any, ids: Sequence[int]) -> tuple[str, ...]:
    """Their texts."""
    return tuple(model.token(id).text for id in ids)


@dataclass
class Scripted(WithoutModel):
    """Proposes the tokens it is told, round after round, each as if it were certain; then nothing."""

    rounds: list[list[int]]
    vocab_size: int
    parents: list[int] | None = None
    asked: list[tuple[int, int, int]] = field(default_factory=list)
    closed: bool = False

    def propose(self, history: Tensor, position: int, gamma: int) -> Draft:
        """The next of `rounds`, cut to `gamma`; `parents` where it is a tree."""
        self.asked.append((len(history), position, gamma))
        tokens = self.rounds.pop(0) if self.rounds else []
        if self.parents is None or not tokens:
            tree = TokenTree.chain(tokens[:gamma])
        else:
            tree = TokenTree(torch.tensor(tokens), torch.tensor(self.parents))
        return Draft(tree, tuple(one_hot(token, self.vocab_size) for token in tree.tokens.tolist()))

    def close(self) -> None:
        """Told that the run is over."""
        self.closed = True


class Pair:
    """A target and a draft over `size` tokens whose every row is drawn at random, from the seed and the text."""

    def __init__(self, size: int, seed: int, processors: Sequence[Processor] = (), holes: bool = False) -> None:
        self.size, self.seed, self.processors, self.holes = size, seed, processors, holes
        self.law: Callable[[str, Text], Law] = cache(self._law)

    def raw(self, whose: str, text: Text) -> list[float]:
        """Probabilities of the next token; with `holes`, some are 0."""
        chance = random.Random(f"{self.seed} {whose} {text}")
        weights = [chance.random() ** 3 * (not self.holes or chance.random() < 0.6) for _ in range(self.size)]
        weights[chance.randrange(self.size)] += 0.3
        return [weight / sum(weights) for weight in weights]

    def _law(self, whose: str, text: Text) -> Law:
        """After the processors."""
        logits = torch.tensor(self.raw(whose, text), dtype=torch.float64).log()
        return observe.law_after(logits, self.processors, torch.tensor(text, dtype=torch.long))

    def probs(self, whose: str, text: Text) -> list[float]:
        """The processed law as numbers."""
        return self.law(whose, text).probs().tolist()


def branches(
    tree: TokenTree, drafts: Sequence[Law], verifier: Verifier, target: Callable[[int], Law], careful: bool = False
) -> Iterator[tuple[Text, float]]:
    """Every way that one round can go with these drafts, and its probability: the texts it writes.

    Each uniform's interval is cut where the outcome can change, and each part tried at its middle; where `careful`,
    close to both its ends too, which must agree.
    """
    tokens = tree.tokens.tolist()

    def run(script: dict[tuple[int, int], float]) -> Outcome:
        def uniforms(depth: int, count: int) -> list[float]:
            return [script.get((depth, index), 0.5) for index in range(count)]

        return verify(tree, drafts, verifier, target, uniforms)

    def explore(script: dict[tuple[int, int], float], weight: float) -> Iterator[tuple[Text, float]]:
        outcome = run(script)
        for key, cuts in used(outcome):
            if key not in script:
                for low, high in itertools.pairwise(cuts):
                    width = high - low
                    if width > 1e-15:
                        middle = {**script, key: low + width / 2}
                        if careful:
                            ends = [{**script, key: low + width * part} for part in (1e-9, 1 - 1e-9)]
                            assert len({story(run(each)) for each in (middle, *ends)}) == 1
                        yield from explore(middle, weight * width)
                return
        yield written(outcome, tokens), weight

    yield from explore({}, 1.0)


def written(outcome: Outcome, tokens: Sequence[int]) -> Text:
    """What a round writes."""
    added = () if outcome.added is None else (outcome.added.token,)
    return (*(tokens[node] for node in outcome.accepted), *added)


def story(outcome: Outcome) -> tuple[Any, ...]:
    """What is decided by the uniforms set so far: rulings and the token added."""
    return outcome.accepted, len(outcome.judgements), outcome.added and outcome.added.token


def used(outcome: Outcome) -> Iterator[tuple[tuple[int, int], list[float]]]:
    """The uniforms that a round used, in order, each with the points where its outcome can change."""
    depth = sibling = 0
    for judgement in outcome.judgements:
        ruling = judgement.ruling
        if ruling.drawn is not None:
            yield (depth, TARGET), cumulative(judgement.case.target)
        elif ruling.uniform is not None:
            assert ruling.threshold is not None
            yield (depth, COIN + sibling), [0.0, ruling.threshold, 1.0]
        depth, sibling = (depth + 1, 0) if ruling.accepted else (depth, sibling + 1)
    if outcome.added is not None:
        yield (depth, TARGET), cumulative(outcome.added.law)


def cumulative(law: Law) -> list[float]:
    """Running sums from 0 to 1, likeliest token first."""
    _, probs = observe.ranked(law)
    return [0.0, *probs.cumsum(0).tolist()[:-1], 1.0]


class Exact:
    """The exact law of what speculative decoding writes with a pair of random tables.

    `shape`: the parents of the tree drafted in a round; rounds after the first draft no deeper than what is asked of
    them. `replace`: whether siblings are drawn independently, or each from what the ones before left.
    """

    def __init__(
        self, pair: Pair, verifier: Verifier, shape: Sequence[int], replace: bool = True, careful: bool = False
    ) -> None:
        self.pair, self.verifier, self.replace, self.careful = pair, verifier, replace, careful
        self.shape = tuple(shape)
        self.round: Callable[[Text, Text], Chances] = cache(self._round)

    def texts(self, count: int, text: Text = (), shape: Text | None = None) -> Chances:
        """Of the first `count` tokens after `text`."""
        chances: Chances = defaultdict(float)
        for some, weight in self.round(text, self.shape if shape is None else shape).items():
            left = count - len(some)
            if left <= 0:
                chances[some[:count]] += weight
            else:
                depths = TokenTree(torch.tensor(self.shape), torch.tensor(self.shape)).depths().tolist()
                shallow = tuple(parent for parent, depth in zip(self.shape, depths, strict=True) if depth <= left)
                for rest, more in self.texts(left, text + some, shallow).items():
                    chances[some + rest] += weight * more
        return dict(chances)

    def _round(self, text: Text, shape: Text) -> Chances:
        chances: Chances = defaultdict(float)
        for tokens, laws, weight in self._drafts(text, shape):
            tree = TokenTree(torch.tensor(tokens, dtype=torch.long), torch.tensor(shape, dtype=torch.long))

            def target(node: int, tree: TokenTree = tree, tokens: Text = tokens) -> Law:
                return self.pair.law("target", text + tuple(tokens[at] for at in tree.path(node)))

            for some, more in branches(tree, laws, self.verifier, target, self.careful):
                chances[some] += weight * more
        return dict(chances)

    def _drafts(self, text: Text, shape: Text) -> Iterator[tuple[Text, list[Law], float]]:
        """Every draft of this shape, the law of each node, and the draft's probability."""

        def grow(tokens: Text, laws: list[Law], weight: float) -> Iterator[tuple[Text, list[Law], float]]:
            if len(tokens) == len(shape):
                yield tokens, laws, weight
                return
            law = self._node_law(text, tokens, shape)
            for token, prob in enumerate(law.probs().tolist()):
                if prob > 0:
                    yield from grow((*tokens, token), [*laws, law], weight * prob)

        yield from grow((), [], 1.0)

    def _node_law(self, text: Text, tokens: Text, shape: Text) -> Law:
        """q of the next node: the draft's law there, without its elder siblings where those are not put back."""
        node, above = shape[len(tokens)], []
        while node >= 0:
            above.append(tokens[node])
            node = shape[node]
        law = self.pair.law("draft", text + tuple(reversed(above)))
        taken = [token for at, token in enumerate(tokens) if shape[at] == shape[len(tokens)]]
        if self.replace or not taken:
            return law
        left = law.probs()
        left[taken] = 0.0
        return observe.law(left.log())


def target_law(pair: Pair, count: int, text: Text = ()) -> Chances:
    """The law of the first `count` tokens of the target alone: the product of its conditionals."""
    if count == 0:
        return {(): 1.0}
    return {
        (token, *rest): prob * more
        for token, prob in enumerate(pair.probs("target", text))
        if prob > 0
        for rest, more in target_law(pair, count - 1, (*text, token)).items()
    }


def distance(one: Chances, other: Chances) -> float:
    """Total variation: half the sum of the differences."""
    return sum(abs(one.get(text, 0.0) - other.get(text, 0.0)) for text in {*one, *other}) / 2

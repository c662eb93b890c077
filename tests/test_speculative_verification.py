"""The verifiers against exact laws: every draft, every coin and every draw of a round is gone through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding import observe
from decoding.observe import Law
from decoding.processor_base import Processor
from decoding.processors import RepetitionPenalty, Temperature, TopP
from decoding.processors import TopK as KeepTopK
from decoding.speculative import verification
from decoding.speculative.tree import ROOT, TokenTree
from decoding.speculative.verification import ExactMatch, Lossless, TopK, Typical, Verifier, residual, verify
from tests.speculative_toys import Chances, Exact, Pair, branches, distance, target_law

many = settings(max_examples=200, deadline=None, derandomize=True)

PROCESSORS: dict[str, tuple[Processor, ...]] = {
    "plain": (),
    "sharp": (Temperature(0.6),),
    "flat, top-k": (Temperature(1.7), KeepTopK(2)),
    "top-p": (TopP(0.8),),
    "greedy": (Temperature(0),),
}
CHAIN_1, CHAIN_2, CHAIN_3 = (-1,), (-1, 0), (-1, 0, 1)
FORK, TWIGS, THREE = (-1, -1), (-1, -1, 0, 1), (-1, -1, -1)
LOSSLESS: list[Verifier] = [Lossless(), ExactMatch()]


def law(*probs: float) -> Law:
    """Of tokens 0, 1, ...; those of probability 0 are removed."""
    return observe.law(torch.tensor(probs, dtype=torch.float64).log())


def close(one: Chances, other: Chances) -> bool:
    """Equal to 1e-9, and both sum to 1."""
    assert math.fsum(one.values()) == pytest.approx(1, abs=1e-12)
    return all(abs(one.get(text, 0.0) - other.get(text, 0.0)) < 1e-9 for text in {*one, *other})


# --- exact laws ------------------------------------------------------------------------------------


@pytest.mark.parametrize("verifier", LOSSLESS, ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    ("name", "size", "shape"),
    [
        *((name, 3, CHAIN_2) for name in PROCESSORS),
        *(("flat, top-k", 6, CHAIN_1), ("top-p", 5, CHAIN_1), ("flat, top-k", 3, CHAIN_3)),
    ],
)
def test_a_lossless_chain_writes_the_targets_law(
    verifier: Verifier, name: str, size: int, shape: Sequence[int]
) -> None:
    """The first token, the first two and the first three, over as many rounds as they take."""
    pair = Pair(size, seed=1, processors=PROCESSORS[name])
    exact = Exact(pair, verifier, shape)
    for count in (1, 2, 3):
        assert close(exact.texts(count), target_law(pair, count))


@pytest.mark.parametrize("verifier", LOSSLESS, ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    ("name", "shape", "replace"),
    [
        *(("plain", FORK, True), ("plain", FORK, False), ("plain", THREE, True), ("plain", THREE, False)),
        *(("flat, top-k", TWIGS, True), ("flat, top-k", TWIGS, False), ("top-p", FORK, True)),
    ],
)
def test_a_lossless_tree_writes_the_targets_law(
    verifier: Verifier, name: str, shape: Sequence[int], replace: bool
) -> None:
    """Siblings are tried in turn, against what the ones before left of p."""
    pair = Pair(3, seed=2, processors=PROCESSORS[name])
    exact = Exact(pair, verifier, shape, replace)
    for count in (1, 2):
        assert close(exact.texts(count), target_law(pair, count))


@pytest.mark.parametrize("verifier", LOSSLESS, ids=lambda rule: rule.name)
def test_the_outcome_changes_just_where_the_thresholds_are(verifier: Verifier) -> None:
    """The enumeration above cuts the unit interval at the thresholds recorded: close to each, both sides are tried."""
    for shape in (CHAIN_1, FORK):
        pair = Pair(3, seed=4)
        assert close(Exact(pair, verifier, shape, careful=True).texts(1), target_law(pair, 1))


@pytest.mark.parametrize("seed", range(4))
def test_laws_with_holes_and_ties(seed: int) -> None:
    """Tokens that only the draft says, and tokens that it cannot say, are no exception."""
    pair = Pair(4, seed, holes=True)
    for verifier in LOSSLESS:
        assert close(Exact(pair, verifier, CHAIN_2).texts(2), target_law(pair, 2))


def test_penalties_see_what_was_drafted() -> None:
    """Laws that depend on the text: a token drafted twice is penalised, and the law written is still the target's."""
    pair = Pair(3, seed=5, processors=(RepetitionPenalty(2.5),))
    plain = Pair(3, seed=5)
    assert distance(target_law(pair, 2), target_law(plain, 2)) > 0.05
    for verifier in LOSSLESS:
        assert close(Exact(pair, verifier, CHAIN_2).texts(3), target_law(pair, 3))


@pytest.mark.parametrize("verifier", [TopK(1), TopK(2), Typical(0.09, 0.3), Typical(0.3, 0.55)], ids=str)
def test_a_lossy_rule_writes_another_law(verifier: Verifier) -> None:
    """Total variation from the target's law, exactly, of the first two tokens: seen at a glance."""
    pair = Pair(4, seed=3)
    assert not verifier.lossless
    assert distance(Exact(pair, verifier, CHAIN_2).texts(2), target_law(pair, 2)) > 0.05


@pytest.mark.parametrize("verifier", [TopK(2), TopK(100), Typical(0.09, 0.3)], ids=str)
def test_a_lossy_rule_is_greedy_at_temperature_0(verifier: Verifier) -> None:
    """Tokens of p = 0 are never accepted, whatever their rank."""
    greedy, loose = Pair(4, seed=3, processors=(Temperature(0),)), Pair(4, seed=3)
    mixed = Pair(4, seed=3)
    mixed.law = lambda whose, text: (loose if whose == "draft" else greedy).law(whose, text)
    assert close(Exact(mixed, verifier, CHAIN_2).texts(3), target_law(greedy, 3))


# --- the known answer ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Independent(Lossless):
    """The common bug: after a rejection, a sample of p itself."""

    def rejected(self, target: Law, draft: Law) -> Law:
        return target


@dataclass(frozen=True, slots=True)
class Unscaled(Lossless):
    """Another: the absolute difference for the residual."""

    def rejected(self, target: Law, draft: Law) -> Law:
        return observe.law((target.probs() - draft.probs()).abs().log())


@pytest.mark.parametrize(
    ("verifier", "chance"),
    [(Lossless(), 0.5), (ExactMatch(), 0.5), (Independent(), 0.7), (TopK(1), 0.95), (TopK(2), 0.9)],
    ids=lambda part: str(part),
)
def test_two_tokens(verifier: Verifier, chance: float) -> None:
    """p = (.5, .5), q = (.9, .1): a lossless rule writes A with .50, the common bug with .70."""
    p, q = law(0.5, 0.5), law(0.9, 0.1)
    found = 0.0
    for token, prob in enumerate((0.9, 0.1)):
        for text, weight in branches(TokenTree.chain([token]), [q], verifier, lambda node: p):
            found += prob * weight * (text[0] == 0)
    assert found == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize("verifier", [Independent(), Unscaled()], ids=str)
def test_the_enumeration_finds_a_wrong_rule(verifier: Verifier) -> None:
    pair = Pair(3, seed=1)
    assert distance(Exact(pair, verifier, CHAIN_2).texts(2), target_law(pair, 2)) > 0.01


# --- single verdicts -------------------------------------------------------------------------------


def judged(verifier: Verifier, p: Law, q: Law, token: int, own: float = 0.5, coin: float = 0.5) -> Any:
    """The round of one drafted token."""
    return verify(TokenTree.chain([token]), [q], verifier, lambda node: p, lambda depth, count: [own, coin][:count])


def test_lossless_accepts_below_the_ratio_and_not_at_it() -> None:
    """u < min(1, p/q) = .5: strictly."""
    p, q = law(0.25, 0.75), law(0.5, 0.5)
    for coin, accepted in ((0.0, True), (0.4999, True), (0.5, False), (0.999, False)):
        outcome = judged(Lossless(), p, q, 0, coin=coin)
        ruling = outcome.judgements[0].ruling
        assert (ruling.accepted, ruling.threshold, ruling.uniform) == (accepted, pytest.approx(0.5), coin)
        assert outcome.ending == ("bonus" if accepted else "recovered")
    assert judged(Lossless(), p, q, 1, coin=1 - 2.0**-53).judgements[0].ruling.threshold == 1.0


def test_after_a_rejection_the_residual_is_drawn_from() -> None:
    p, q = law(0.2, 0.5, 0.3), law(0.6, 0.3, 0.1)
    outcome = judged(Lossless(), p, q, 0, own=0.4, coin=0.9)
    assert outcome.added.law.probs().tolist() == pytest.approx([0, 0.5, 0.5], abs=1e-12)
    assert (outcome.added.token, outcome.added.uniform) == (1, 0.4)


def test_the_residual_of_equal_laws_is_the_law() -> None:
    """Rounding may reject what p = q never rejects; then there is no residual, and p is drawn from."""
    p = law(0.3, 0.7)
    assert residual(p, p) is p
    assert residual(law(0.0, 1.0), law(0.0, 1.0)).probs().tolist() == [0.0, 1.0]


def test_residual_where_the_draft_cannot_speak() -> None:
    """q = 0: all of p stays."""
    assert residual(law(0.25, 0.25, 0.5), law(0.0, 0.0, 1.0)).probs().tolist() == pytest.approx([0.5, 0.5, 0])
    assert residual(law(0.0, 0.5, 0.5), law(0.5, 0.5, 0.0)).probs().tolist() == pytest.approx([0, 0, 1])


def test_exact_match_shows_what_the_target_drew() -> None:
    p, q = law(0.2, 0.5, 0.3), law(0.6, 0.3, 0.1)
    for own, drawn in ((0.1, 1), (0.6, 2), (0.9, 0)):  # likeliest first: token 1, 2, 0
        outcome = judged(ExactMatch(), p, q, 2, own=own)
        assert outcome.judgements[0].ruling.drawn == drawn
        assert outcome.judgements[0].ruling.accepted == (drawn == 2)
        if drawn != 2:
            assert outcome.added.token == drawn and outcome.added.law is p


def test_top_k_counts_ranks_with_the_lowest_id_first() -> None:
    """Case 6's kind: three tokens tie for the second place, and K = 2 takes the first of them."""
    p, q = law(0.2, 0.2, 0.4, 0.2), law(0.25, 0.25, 0.25, 0.25)
    ranks = [verification.rank(p, token) for token in range(4)]
    assert ranks == [2, 3, 1, 4]
    assert [judged(TopK(2), p, q, token).judgements[0].ruling.accepted for token in range(4)] == [
        *(True, False, True, False)
    ]


@many
@given(st.lists(st.integers(0, 3), min_size=1, max_size=8).filter(any))
def test_ranks_are_those_of_a_sort(weights: list[int]) -> None:
    """Likeliest first, lowest id first on ties, removed ones last: by definition."""
    of = law(*(weight / sum(weights) for weight in weights))
    order = sorted(range(len(weights)), key=lambda token: (-weights[token], token))
    assert [verification.rank(of, token) for token in order] == list(range(1, len(weights) + 1))


def test_the_typical_threshold() -> None:
    """min(epsilon, delta exp(-H)), H in nats: of a flat law over eight tokens, exp(-H) = 1/8."""
    flat, one = law(*[1 / 8] * 8), law(1.0, *[0.0] * 7)
    q = flat
    thresholds = [judged(Typical(0.09, 0.3), p, q, 0).judgements[0].ruling.threshold for p in (flat, one)]
    assert thresholds == pytest.approx([0.3 / 8, 0.09])
    assert judged(Typical(0.09, 0.3), flat, q, 3).judgements[0].ruling.accepted
    assert not judged(Typical(1.0, 1.0), flat, q, 3).judgements[0].ruling.accepted  # 1/8 is not above 1/8
    assert not judged(Typical(0.0, 0.0), one, q, 3).judgements[0].ruling.accepted  # p = 0 is not above 0


def test_only_what_the_walk_reaches_is_looked_at() -> None:
    """The target's laws are asked for along the accepted path, once each; nothing behind a rejection."""
    asked: list[int] = []

    def target(node: int) -> Law:
        asked.append(node)
        return law(0.5, 0.5) if node < 1 else law(1.0, 0.0)

    tree, q = TokenTree.chain([0, 0, 1, 1, 1]), law(0.5, 0.5)
    outcome = verify(tree, [q] * 5, Lossless(), target, lambda depth, count: [0.5] * count)
    assert asked == [ROOT, 0, 1] and outcome.accepted == (0, 1) and len(outcome.judgements) == 3
    assert outcome.ending == "recovered" and outcome.added is not None and outcome.added.token == 0


def test_the_walk_ends_at_an_end_token_and_where_room_ends() -> None:
    """Case 8: an accepted end token ends the round, nothing is added, and what follows gets no verdict."""
    asked: list[int] = []

    def target(node: int) -> Law:
        asked.append(node)
        return law(0.5, 0.5)

    tree, q = TokenTree.chain([0, 1, 0, 0]), law(0.5, 0.5)

    def walk(end_ids: frozenset[int], room: int | None) -> Any:
        asked.clear()
        return verify(tree, [q] * 4, Lossless(), target, lambda depth, count: [0.0] * count, end_ids, room)

    for end_ids, room, ending, length in (
        (frozenset([1]), None, "eos", 2),
        (frozenset([1]), 2, "eos", 2),
        (frozenset[int](), 3, "length", 3),
        (frozenset([1]), 1, "length", 1),
        (frozenset[int](), 4, "length", 4),
    ):
        outcome = walk(end_ids, room)
        assert (outcome.ending, len(outcome.accepted), outcome.added) == (ending, length, None)
        assert len(asked) == len(outcome.judgements) == length
    assert walk(frozenset(), 5).ending == "bonus" and len(asked) == 5


def test_an_empty_draft_is_a_plain_step() -> None:
    p = law(0.25, 0.75)
    outcome = verify(TokenTree.chain([]), [], Lossless(), lambda node: p, lambda depth, count: [0.8][:count])
    assert (outcome.accepted, outcome.judgements, outcome.ending) == ((), (), "bonus")
    assert outcome.added is not None and outcome.added.token == 0 and outcome.added.law is p

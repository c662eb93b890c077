"""Which verifiers keep the target's law: exact laws beside an enumeration by the rules themselves, then many draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from decoding import codec, observe
from decoding.models import drafts, toy
from decoding.observe import Law
from decoding.processors import Temperature
from decoding.processors import TopK as TopKProcessor
from decoding.sampling import Uniforms
from decoding.speculative import lossless
from decoding.speculative.drafters import drafter_of
from decoding.speculative.tree import TokenTree
from decoding.speculative.values import EmittedLaw, LawTest
from decoding.speculative.verification import ExactMatch, Lossless, TopK, Typical, Verifier, verify
from decoding.speculative_settings import speculative_settings
from decoding.trace import Token
from tests.speculative_toys import Exact, Pair, written

RULES: tuple[Verifier, ...] = (Lossless(), ExactMatch(), TopK(2), Typical(0.3, 0.5))
PAIRS = {
    "dense": Pair(5, 1),
    "with holes": Pair(6, 2, holes=True),
    "top 2 at temperature 0.7": Pair(5, 3, (Temperature(0.7), TopKProcessor(2))),
    "greedy": Pair(4, 4, (Temperature(0),)),
    "two": Pair(2, 5),
}
EACH_RULE = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
EACH_PAIR = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
SURE = 1 - 1e-9
"""Of one comparison of draws with a law: right code fails it in less than one of 10^9 cases."""


def laws(pair: Pair) -> tuple[Law, Law]:
    return pair.law("target", ()), pair.law("draft", ())


def token(id: int) -> Token:
    return Token(id, f"w{id}")


def law_of(*probs: float) -> Law:
    return observe.law(torch.tensor(probs, dtype=torch.float64).log())


def compared(target: Law, draft: Law, draws: int = 20_000, seed: int = 1) -> dict[str, EmittedLaw]:
    return {found.rule: found for found in lossless.compare(target, draft, RULES, draws, seed, token).rules}


# --- the same as the readable rules ----------------------------------------------------------------


@EACH_PAIR
@EACH_RULE
def test_the_exact_law_is_that_of_the_verifiers_themselves(rule: Verifier, pair: Pair) -> None:
    """Every draft and every interval of every uniform, by `verify`."""
    chances = Exact(pair, rule, (-1,)).texts(1, (), (-1,))
    law, _ = lossless.emitted(rule, *laws(pair))
    expected = [chances.get((id,), 0.0) for id in range(pair.size)]
    assert law.tolist() == pytest.approx(expected, abs=1e-12) and float(law.sum()) == pytest.approx(1)


@EACH_PAIR
@EACH_RULE
def test_the_chance_of_acceptance_is_theirs_too(rule: Verifier, pair: Pair) -> None:
    """Of an accepted draft a bonus follows, so that two tokens are written."""
    rounds = Exact(pair, rule, (-1,)).round((), (-1,))
    both = sum(weight for text, weight in rounds.items() if len(text) == 2)
    _, chance = lossless.emitted(rule, *laws(pair))
    assert chance == pytest.approx(both, abs=1e-12)


@EACH_PAIR
@EACH_RULE
def test_each_draw_is_the_verdict_with_the_same_uniforms(rule: Verifier, pair: Pair) -> None:
    target, draft = laws(pair)
    uniforms = Uniforms(7).at(0, 3 * 300).view(300, 3)
    found = lossless.draw(rule, target, draft, uniforms)
    for row, emitted in zip(uniforms.tolist(), found.tolist(), strict=True):
        own, coin, third = row
        id, _ = observe.draw_direct(draft, third)
        outcome = verify(TokenTree.chain([id]), [draft], rule, lambda node: target, lambda d, n, u=(own, coin): u[:n])
        assert written(outcome, [id])[0] == emitted


@EACH_PAIR
def test_a_plain_draw_is_a_direct_scan(pair: Pair) -> None:
    target, draft = laws(pair)
    uniforms = Uniforms(8).at(0, 3 * 200).view(200, 3)
    found = lossless.draw(None, target, draft, uniforms)
    assert found.tolist() == [observe.draw_direct(target, row[0])[0] for row in uniforms.tolist()]


# --- which of them keep the law --------------------------------------------------------------------


@EACH_PAIR
def test_lossless_and_exact_match_are_exact(pair: Pair) -> None:
    found = compared(*laws(pair), draws=100)
    for name in ("lossless", "exact"):
        assert found[name].lossless and found[name].exact < 1e-12 and found[name].excess is None
    assert found["plain"].exact == 0 and found["plain"].acceptance is None


def test_both_lossy_rules_are_not() -> None:
    target, draft = law_of(0.5, 0.3, 0.15, 0.05), law_of(0.1, 0.8, 0.05, 0.05)
    found = compared(target, draft, draws=100)
    # Top 2: .1 and .8 stay, and .1 of the mass is drawn again from p.
    assert found["top_k"].acceptance == pytest.approx(0.9)
    assert found["top_k"].exact == pytest.approx(0.83 - 0.3) and not found["top_k"].lossless
    excess = found["top_k"].excess
    assert excess is not None and excess.token == token(1)
    assert (excess.target_prob, excess.emitted_prob) == (pytest.approx(0.3), pytest.approx(0.83))
    assert found["typical"].exact > 0.3 and not found["typical"].lossless


def test_two_tokens_of_the_known_answers() -> None:
    """p = (.5, .5), q = (.9, .1): a lossless verifier emits A half the time."""
    target, draft = law_of(0.5, 0.5), law_of(0.9, 0.1)
    law, chance = lossless.emitted(Lossless(), target, draft)
    assert law.tolist() == pytest.approx([0.5, 0.5]) and chance == pytest.approx(0.6)
    drawn = lossless.draw(Lossless(), target, draft, Uniforms(3).at(0, 3 * 100_000).view(-1, 3))
    assert abs(float((drawn == 0).double().mean()) - 0.5) < math.sqrt(math.log(2 / 1e-9) / 200_000)  # Hoeffding


def test_a_draft_that_is_the_target_is_always_taken_by_the_lossless_rule() -> None:
    target = PAIRS["dense"].law("target", ())
    law, chance = lossless.emitted(Lossless(), target, target)
    assert chance == pytest.approx(1) and torch.allclose(law, target.probs())


@EACH_PAIR
@EACH_RULE
def test_many_draws_follow_the_exact_law(rule: Verifier, pair: Pair) -> None:
    """Draws are counted against the law that this rule emits, lossy or not; see SURE for the odds."""
    target, draft = laws(pair)
    law, _ = lossless.emitted(rule, target, draft)
    drawn = lossless.draw(rule, target, draft, Uniforms(11).at(0, 3 * 50_000).view(-1, 3))
    counted = torch.bincount(drawn, minlength=pair.size).double() / 50_000
    _, high = lossless.noise(observe.law(law.log()), 50_000, SURE)
    assert float((counted - law).abs().sum() / 2) < high
    assert not counted[law == 0].any()


# --- the noise -------------------------------------------------------------------------------------


def outcomes(draws: int, size: int) -> Iterator[tuple[int, ...]]:
    """Every way to spread so many draws over so many tokens."""
    for cuts in itertools.combinations(range(draws + size - 1), size - 1):
        edges = (-1, *cuts, draws + size - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))


@pytest.mark.parametrize("draws", (1, 4, 15))
@pytest.mark.parametrize("probs", [(0.5, 0.5), (0.7, 0.2, 0.1), (0.97, 0.01, 0.02), (0.4, 0.3, 0.2, 0.1)])
def test_mean_and_end_of_the_noise_by_enumeration(draws: int, probs: tuple[float, ...]) -> None:
    mean, high = lossless.noise(law_of(*probs), draws)
    expected = below = 0.0
    for counts in outcomes(draws, len(probs)):
        ways = math.factorial(draws) // math.prod(map(math.factorial, counts))
        weight = ways * math.prod(p**n for p, n in zip(probs, counts, strict=True))
        distance = sum(abs(n / draws - p) for p, n in zip(probs, counts, strict=True)) / 2
        expected, below = expected + weight * distance, below + weight * (distance < high)
    assert mean == pytest.approx(expected) and below >= lossless.LEVEL and high > mean


def test_the_noise_of_many_draws_is_near_its_formula_and_ends_with_certainty() -> None:
    mean, high = lossless.noise(law_of(*[1 / 50] * 50), 200_000)
    assert mean == pytest.approx(math.sqrt(50 / (2 * math.pi * 200_000)), rel=0.02) and high < 0.01
    assert lossless.noise(law_of(1.0), 10)[0] == 0


# --- a whole test ----------------------------------------------------------------------------------


def test_a_test_in_full() -> None:
    target, draft = law_of(0.5, 0.3, 0.15, 0.05), law_of(0.1, 0.8, 0.05, 0.05)
    found = lossless.compare(target, draft, RULES, 20_000, 4, token)
    assert [rule.rule for rule in found.rules] == ["plain", "lossless", "exact", "top_k", "typical"]
    assert found.draws == 20_000 and found.kept == 4 and found.seed == 4 and found.level == 0.99
    mean, high = lossless.noise(target, 20_000)
    assert (found.expected, found.high) == (mean, high)
    for rule in found.rules:
        assert (rule.measured < high) == rule.lossless
    assert len({rule.measured for rule in found.rules}) == 5, "each rule has uniforms of its own"
    assert lossless.compare(target, draft, RULES, 20_000, 4, token) == found
    assert codec.loads(codec.dumps(found), LawTest) == found


def test_the_rules_have_the_numbers_of_the_settings() -> None:
    settings = speculative_settings(verify_top_k=9, typical_epsilon=0.2, typical_delta=0.4)
    assert lossless.verifiers(settings) == (Lossless(), ExactMatch(), TopK(9), Typical(0.2, 0.4))


def test_first_laws_of_the_lectures_table() -> None:
    model, draft = toy.load("toy:lecture"), toy.load("toy:lecture")
    settings = speculative_settings(drafter="toy:lecture", temperature=0.5, top_k=2)
    drafter = drafter_of(model, draft, settings, Uniforms(0))
    target, drafted_law = lossless.first_laws(model, drafter, model.encode(""), settings)
    assert drafted_law is not None
    for law in (target, drafted_law):
        top, probs = observe.ranked(law)
        assert [model.token(id).text for id in top.tolist()] == ["I", "We"]
        assert probs.tolist() == pytest.approx([0.16 / 0.25, 0.09 / 0.25])


def test_there_is_no_draft_where_the_text_has_nothing_to_look_up() -> None:
    model = toy.load("toy:lecture")
    settings = speculative_settings(drafter="ngram")
    _, draft = lossless.first_laws(model, drafter_of(model, None, settings, Uniforms(0)), model.encode(""), settings)
    assert draft is None


def test_the_real_model_keeps_its_law(bundled_torch: Any) -> None:
    """200,000 draws after a prompt: every lossless way stays under 0.01, both lossy rules are far above."""
    settings = speculative_settings(drafter="early", temperature=0.9, top_p=0.9)
    draft = drafts.load("early", bundled_torch, 28)
    prompt = bundled_torch.encode("The best thing about rainy days is")
    drafter = drafter_of(bundled_torch, draft, settings, Uniforms(0))
    target, law = lossless.first_laws(bundled_torch, drafter, prompt, settings)
    assert law is not None
    found = lossless.compare(target, law, lossless.verifiers(settings), 200_000, 7, bundled_torch.token)
    assert found.high < 0.01
    for rule in found.rules:
        assert rule.measured < 0.01 if rule.lossless else rule.measured > 0.1

"""The beam search loop: known answers, who finishes and who is cut, exact laws of the drawn searches, and its costs."""

from __future__ import annotations

import itertools
import math
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from decoding import api
from decoding.beam.candidates import count_possible, likeliest
from decoding.beam.depth import Search, advance, start
from decoding.beam.options import by_draw
from decoding.beam.paths import path
from decoding.beam.results import results
from decoding.beam.search import beam, law_of
from decoding.errors import UserError
from decoding.experiments.gumbel import orders
from decoding.models.protocol import Output
from decoding.models.table import parse
from decoding.models.toy import ToyModel
from decoding.sampling import Uniforms, logits_after, sample
from decoding.settings import BeamSettings, SampleSettings, beam_settings, greedy_settings
from decoding.trace import BeamNode, BeamStep, Cut, SampleStep, Step
from tests.conftest import keys_of

FALSE_ALARM = 1e-6
"""Odds that a right search fails one test of its law. The seeds are fixed, so a pass stays a pass."""
RUNS = 600
"""Searches whose outcomes are counted."""
many = settings(max_examples=40, deadline=None, derandomize=True)


def toy(rows: dict[str, dict[str, float]], **more: Any) -> ToyModel:
    """A model of these rows; "." ends a text."""
    return ToyModel(parse({"name": "test", "end": ".", "rows": rows, "default": {".": 1}, **more}, "test"))


def searched(model: Any, seed: int = 0, prompt: str = "", **options: Any) -> list[BeamStep]:
    """The steps of a search; `top` is as large as it can be, so that every candidate is listed."""
    asked = beam_settings(**{"top": 50, "max_new_tokens": 8, **options})
    return [s for s in beam(model, model.encode(prompt), asked, Uniforms(seed)) if isinstance(s, BeamStep)]


def text_of(model: Any, node: int, nodes: dict[int, BeamNode]) -> str:
    """The words from the root to this node."""
    return str(model.decode([each.token.id for each in path(node, nodes)]))


def texts(model: ToyModel, steps: Sequence[Step], fate: str = "") -> dict[str, BeamNode]:
    """Every node by its text, of one fate or of all."""
    nodes = {node.id: node for step in steps if isinstance(step, BeamStep) for node in step.nodes}
    chosen = [node for node in nodes.values() if node.fate == (fate or node.fate)]
    return {text_of(model, node.id, nodes): node for node in chosen}


def held(model: ToyModel, steps: Sequence[BeamStep], at: int = -1) -> list[tuple[str, float]]:
    """Texts held after a depth, with their scores."""
    nodes = {node.id: node for step in steps for node in step.nodes}
    return [(text_of(model, text.node, nodes), text.score) for text in steps[at].finished]


@pytest.fixture(scope="module")
def lecture() -> Any:
    return api.load("toy:lecture")


# --- known answers ---------------------------------------------------------------------------------


def test_the_tree_of_the_lecture(lecture: Any) -> None:
    """Beam of 2: what is kept and cut at each depth, with probabilities known to the digit."""
    steps = searched(lecture, num_beams=2, max_new_tokens=3, num_return_sequences=2)
    prob = {text: math.exp(node.logprob) for text, node in texts(lecture, steps).items()}
    assert set(texts(lecture, steps[:1], "kept")) == {"I", "We"}
    by_fate = {fate: set(texts(lecture, steps, fate)) for fate in ("kept", "finished", "pruned")}
    assert by_fate["kept"] == {"I", "We", "I like", "I love"}
    assert by_fate["finished"] == {"I like singing", "I love singing"}
    assert {"We like", "We do", "I love dancing", "I like song", "He", "She", "They"} <= by_fate["pruned"]
    known = {"I": 0.4, "We": 0.3, "I like": 0.16, "I love": 0.16, "We like": 0.12, "We do": 0.09}
    known |= {"I like singing": 0.096, "I love singing": 0.08, "I love dancing": 0.048, "I like song": 0.032}
    assert {text: prob[text] for text in known} == pytest.approx(known, rel=1e-12)
    assert [step.considered for step in steps] == [6, 12, 12]
    assert [step.ending for step in steps] == [None, None, "length"]
    lowest = [math.exp(next(n.rule.threshold for n in step.nodes if n.rule)) for step in steps]
    assert lowest == pytest.approx([0.3, 0.16, 0.08])
    assert held(lecture, steps) == [
        ("I like singing", pytest.approx(math.log(0.096) / 3)),
        ("I love singing", pytest.approx(math.log(0.08) / 3)),
    ]


EARLY = {
    "": {"a": 0.45, ".": 0.4, "b": 0.15},
    "a": {"a": 0.9, "b": 0.06, ".": 0.04},
    "a a": {".": 0.95, "a": 0.05},
    "b": {"b": 0.4, ".": 0.3, "c": 0.3},
}


def test_the_search_goes_on_where_an_open_beam_can_still_win() -> None:
    """Case 7: "." finishes at once with .4, and yet "a a ." is returned first."""
    model = toy(EARLY)
    steps = searched(model, num_beams=2)
    assert texts(model, steps[:1], "finished").keys() == {"."} and steps[0].ending is None
    best, worst = held(model, steps)
    assert best == ("a a .", pytest.approx(math.log(0.45 * 0.9 * 0.95) / 3))
    assert worst == (".", pytest.approx(math.log(0.4)))


def test_a_finished_beam_ends_once_and_is_never_expanded() -> None:
    model = toy(EARLY)
    for search, seed in itertools.product(("beam", "sample", "stochastic"), range(5)):
        steps = searched(model, seed, num_beams=3, search=search)
        fates = {node.id: node.fate for step in steps for node in step.nodes}
        assert all(node.parent is None or fates[node.parent] == "kept" for step in steps for node in step.nodes)
        finished = [text.split() for text in texts(model, steps, "finished")]
        assert finished and all(words.count(".") <= 1 and "." not in words[:-1] for words in finished)


# --- who is cut ------------------------------------------------------------------------------------


def test_the_width_takes_the_best() -> None:
    """An end among the best W finishes and leaves its place to the next that goes on; one below them is cut."""
    model = toy({"": {"a": 0.1, "b": 0.4, "c": 0.3, ".": 0.2}})
    first = searched(model, num_beams=3)[0]
    assert [(n.token.text, n.fate) for n in first.nodes] == [
        *(("b", "kept"), ("c", "kept")),
        *((".", "finished"), ("a", "kept")),
    ]
    first = searched(model, num_beams=2)[0]
    cuts = {n.token.text: n.rule for n in first.nodes if n.rule}
    assert cuts == {
        ".": Cut("width", pytest.approx(math.log(0.2)), pytest.approx(math.log(0.3))),
        "a": Cut("width", pytest.approx(math.log(0.1)), pytest.approx(math.log(0.3))),
    }
    assert first.finished == ()


def test_a_late_end_is_named() -> None:
    """Of the best two, one ends a text; so does the third, which is too late, and the fourth goes on instead."""
    laws = {"a": {".": 0.4, "c": 0.35, "d": 0.25}, "b": {".": 0.5, "e": 0.47, "f": 0.03}}
    second = searched(toy({"": {"a": 0.6, "b": 0.4}, **laws}), num_beams=2)[1]
    assert [(n.token.text, round(math.exp(n.logprob), 3), n.fate, n.rule and n.rule.rule) for n in second.nodes] == [
        (".", 0.24, "finished", None),
        ("c", 0.21, "kept", None),
        (".", 0.2, "pruned", "late_end"),
        ("e", 0.188, "kept", None),
        ("d", 0.15, "pruned", "width"),
        ("f", 0.012, "pruned", "width"),
    ]
    late = second.nodes[2].rule
    assert late == Cut("late_end", second.nodes[2].logprob, second.nodes[1].logprob)


def test_a_finish_worse_than_those_held_is_dropped() -> None:
    """With length_penalty 0 the scores are the sums, and each later end is lower: the list of one is full."""
    model = toy({"": {".": 0.5, "a": 0.45, "b": 0.05}, "a": {".": 0.9, "b": 0.1}})
    steps = searched(model, num_beams=1, length_penalty=2.0, early_stopping="never")
    assert held(model, steps, 0) == [(".", pytest.approx(math.log(0.5)))]
    assert held(model, steps) == [("a .", pytest.approx(math.log(0.405) / 4))]  # the first one gave way
    steps = searched(model, num_beams=1, length_penalty=-1.0, early_stopping="never")
    assert len(steps) == 1 and steps[0].ending == "hopeless"
    model = toy({"": {".": 0.5, "a": 0.45, "b": 0.05}, "a": {".": 0.51, "b": 0.49}, "a b": {".": 1}})
    steps = searched(model, num_beams=1, length_penalty=0.9, max_new_tokens=3, early_stopping="never")
    dropped = texts(model, steps, "pruned")["a ."].rule
    assert dropped is not None and dropped.rule == "worse_finish"
    assert dropped.value == pytest.approx(math.log(0.45 * 0.51) / 2**0.9)
    assert dropped.value < dropped.threshold == pytest.approx(math.log(0.5))


def test_rules_cut_before_the_width() -> None:
    model = api.load("toy:lecture")
    steps = searched(model, num_beams=2, relative_threshold=0.3, max_per_parent=2, max_new_tokens=3)
    cuts = {text: node.rule.rule for text, node in texts(model, steps, "pruned").items() if node.rule}
    assert (cuts["He"], cuts["We are"]) == ("relative_threshold", "max_per_parent")
    assert set(texts(model, steps, "kept")) == {"I", "We", "I like", "I love"}
    single = searched(model, num_beams=2, max_per_parent=1, max_new_tokens=3)  # the root is a parent too
    assert set(texts(model, single)) >= {"I", "We"} and set(texts(model, single, "kept")) == {"I", "I like"}
    alone = searched(model, num_beams=4, absolute_threshold=0.0, max_new_tokens=3)
    assert [sum(n.fate != "pruned" for n in step.nodes) for step in alone] == [1, 1, 1]


def test_equal_candidates_are_taken_lowest_id_first() -> None:
    words = {f"w{n:02}": 1 / 16 for n in range(16)}
    (step, *_) = searched(toy({"": words}), num_beams=3, top=2)
    assert [node.token.id for node in step.nodes] == [0, 1, 2, 3, 4, 5]  # those the choice looks at
    assert [node.fate for node in step.nodes] == ["kept"] * 3 + ["pruned"] * 3


@many
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30), st.integers(1, 30))
def test_the_likeliest_are_those_of_a_stable_sort(values: list[int], count: int) -> None:
    rows = torch.tensor([values, values[::-1]], dtype=torch.float32)
    rows[rows == -3] = -math.inf
    expected = rows.sort(dim=-1, descending=True, stable=True)
    best, ids = likeliest(rows, count)
    assert torch.equal(best, expected.values[:, :count])
    possible = best > -math.inf  # which of the impossible ones follow does not matter
    assert torch.equal(ids[possible], expected.indices[:, :count][possible])


# --- when it ends ----------------------------------------------------------------------------------

THREE_WAYS = {
    "": {"a": 0.5, "b": 0.3, ".": 0.2},
    "a": {".": 0.6, "c": 0.4},
    "b": {".": 0.7, "c": 0.3},
    "a c": {"d": 1},
    "a c d": {"e": 1},
    "a c d e": {".": 1},
}


def test_early_stopping_three_ways() -> None:
    """ "a ." .3 and "b ." .21 fill the list at depth 2; "a c" .2 is open, and would win at length 5."""
    model = toy(THREE_WAYS)
    ends = {}
    for early in (True, False, "never"):
        steps = searched(model, num_beams=2, early_stopping=early)
        ends[early] = (len(steps), steps[-1].ending, held(model, steps)[0][0])
    assert ends[True] == (2, "full", "a .")
    # as it stands, ln .2 / 2 is below ln .21 / 2, the worst of the list
    assert ends[False] == (2, "hopeless", "a .")
    assert ends["never"] == (5, "no_beams", "a c d e .")
    never = searched(model, num_beams=2, early_stopping="never")[1]
    assert never.attainable == pytest.approx(math.log(0.2) / 8) and never.ending is None


def test_what_is_attainable_decides() -> None:
    """A negative penalty favours short texts: what an open beam can still get is its score as it stands."""
    model = toy(THREE_WAYS)
    for early in (False, "never"):
        steps = searched(model, num_beams=2, early_stopping=early, length_penalty=-1.0)
        assert (steps[1].attainable, steps[1].ending) == (pytest.approx(math.log(0.2) * 2), "hopeless")
    assert searched(model, num_beams=2, max_new_tokens=1)[-1].attainable is None


def test_why_searches_end(lecture: Any) -> None:
    assert searched(lecture, num_beams=2, max_new_tokens=3)[-1].ending == "length"
    assert searched(lecture, num_beams=2, max_new_tokens=8)[-1].ending == "no_beams"
    assert len(searched(lecture, num_beams=2, max_new_tokens=8)) == 4


# --- against an oracle -----------------------------------------------------------------------------

WORDS = ("a", "b", "c", ".")


@st.composite
def tables(draw: st.DrawFn) -> dict[str, dict[str, float]]:
    """Random laws over three words and the end, three deep; no two texts tie."""
    seed = draw(st.integers(0, 10_000))
    generator = torch.Generator().manual_seed(seed)
    contexts = [" ".join(words) for depth in range(3) for words in itertools.product("abc", repeat=depth)]
    laws = torch.rand(len(contexts), 4, dtype=torch.float64, generator=generator).pow(2) + 0.01
    laws /= laws.sum(-1, keepdim=True)
    return {context: dict(zip(WORDS, law.tolist(), strict=True)) for context, law in zip(contexts, laws, strict=True)}


def oracle(
    rows: dict[str, dict[str, float]], width: int, groups: int, penalty: float, longest: int, length_penalty: float
) -> tuple[list[set[tuple[int, str]]], list[tuple[str, float]]]:
    """Diverse beam search by its definition, on whole texts: (group, text) kept per depth, and the texts returned.

    Vijayakumar et al. 2016, algorithm 1, with transformers' rule for texts that end. One group is plain beam search.
    """
    share = width // groups
    beams: list[list[tuple[float, tuple[str, ...]]]] = [[(0.0, ())] for _ in range(groups)]
    done: list[list[tuple[float, tuple[str, ...]]]] = [[] for _ in range(groups)]
    over = [False] * groups
    kept = []
    for depth in range(1, longest + 1):
        taken: Counter[str] = Counter()
        for group in range(groups):
            if over[group]:
                continue
            grown = []
            for logprob, words in beams[group]:
                for word, prob in rows.get(" ".join(words), {".": 1.0}).items():
                    total = logprob + math.log(prob)
                    grown.append((total - penalty * taken[word], total, (*words, word)))
            grown.sort(reverse=True)
            last = depth == longest
            ended = [(total, text) for _, total, text in grown[:share] if text[-1] == "." or last]
            beams[group] = [] if last else [(t, text) for _, t, text in grown if text[-1] != "."][:share]
            rated = [(total / depth**length_penalty, text) for total, text in ended]
            done[group] = sorted([*done[group], *rated], reverse=True)[:share]
            held = [text for _, text in done[group] if text in [t for _, t in ended]]
            taken.update(text[-1] for _, text in beams[group])
            taken.update(text[-1] for text in held)
            full = len(done[group]) == share
            best = max((t for t, _ in beams[group]), default=-math.inf) / depth**length_penalty
            over[group] = not beams[group] or (full and best <= done[group][-1][0])
        kept.append({(g, " ".join(text)) for g in range(groups) for _, text in beams[g] if len(text) == depth})
        if all(over):
            break
    pooled = sorted((item for texts_ in done for item in texts_), reverse=True)
    return kept, [(" ".join(text), score) for score, text in pooled]


@many
@given(tables(), st.sampled_from([(1, 1), (2, 1), (3, 1), (4, 2), (3, 3), (6, 2), (4, 4)]), st.data())
def test_groups_are_those_of_the_definition(rows: Any, shape: tuple[int, int], data: st.DataObject) -> None:
    width, groups = shape
    penalty = data.draw(st.sampled_from([0.3, 1.7])) if groups > 1 else 0.0
    length_penalty = data.draw(st.sampled_from([0.0, 1.0, 2.0]))
    longest = data.draw(st.sampled_from([2, 3, 5]))
    model = toy(rows)
    steps = searched(
        model,
        num_beams=width,
        num_beam_groups=groups,
        diversity_penalty=penalty,
        length_penalty=length_penalty,
        max_new_tokens=longest,
    )
    kept, found = oracle(rows, width, groups, penalty, longest, length_penalty)
    nodes = {node.id: node for step in steps for node in step.nodes}
    ours = [{(n.group, text_of(model, n.id, nodes)) for n in s.nodes if n.fate == "kept"} for s in steps]
    assert ours == kept
    assert [text for text, _ in held(model, steps)] == [text for text, _ in found]
    assert [score for _, score in held(model, steps)] == pytest.approx([score for _, score in found])


def test_without_a_penalty_all_groups_are_the_same(lecture: Any) -> None:
    first = searched(lecture, num_beams=2, max_new_tokens=3)
    both = searched(lecture, num_beams=4, num_beam_groups=2, max_new_tokens=3)
    for alone, step in zip(first, both, strict=True):
        for group in (0, 1):
            mine = [(n.token, n.logprob, n.fate) for n in step.nodes if n.group == group]
            assert mine == [(n.token, n.logprob, n.fate) for n in alone.nodes]
        assert step.considered == 2 * alone.considered


def test_a_large_penalty_keeps_groups_apart(lecture: Any) -> None:
    steps = searched(lecture, num_beams=2, num_beam_groups=2, diversity_penalty=10, max_new_tokens=3)
    assert [sorted(n.token.text for n in s.nodes if n.fate != "pruned") for s in steps[:2]] == [
        ["I", "We"],
        ["do", "like"],
    ]
    second = next(n for n in steps[1].nodes if n.token.text == "like" and n.group == 1)
    assert second.score == pytest.approx(second.logprob - 10) and second.fate == "pruned"


# --- laws of the drawn searches --------------------------------------------------------------------

DRAWN = {"": {"a": 0.5, "b": 0.3, ".": 0.2}, "a": {"a": 0.1, "b": 0.6, ".": 0.3}, "b": {"a": 0.9, ".": 0.1}}


def whole_texts(rows: Any, context: tuple[str, ...] = (), prob: float = 1.0) -> dict[str, float]:
    """Every text of the model and its probability."""
    if context and context[-1] == ".":
        return {" ".join(context): prob}
    found: dict[str, float] = {}
    for word, own in rows.get(" ".join(context), {".": 1.0}).items():
        found |= whole_texts(rows, (*context, word), prob * own)
    return found


def odds(found: Counter[Any], exact: dict[Any, float]) -> float:
    """How often a right search would be at least so far off, by chi-square; the rare ones are put together."""
    total = found.total()
    assert set(found) <= {key for key, prob in exact.items() if prob > 0}, "something impossible came out"
    assert math.isclose(math.fsum(exact.values()), 1, rel_tol=1e-9)
    common = [key for key, prob in exact.items() if prob * total >= 5]
    rest = 1 - math.fsum(exact[key] for key in common)
    counts, expected = [found[key] for key in common], [total * exact[key] for key in common]
    if rest > 1e-9:
        counts, expected = [*counts, total - sum(counts)], [*expected, total * rest]
    assert len(counts) > 3
    return float(chisquare(counts, expected, sum_check=False).pvalue)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_stochastic_search_is_a_sample_without_replacement(width: int) -> None:
    """In order: P(x_1, ..., x_k) = prod p_j / (1 - p_1 - ... - p_j-1), over all texts; Kool et al. 2019."""
    model = toy(DRAWN)
    exact = whole_texts(DRAWN)
    names = list(exact)
    assert len(names) == 6
    found: Counter[tuple[int, ...]] = Counter()
    for seed in range(RUNS):
        steps = searched(model, seed, num_beams=width, search="stochastic", top=1)
        found[tuple(names.index(text) for text, _ in held(model, steps))] += 1
    assert odds(found, orders(list(exact.values()), width)) > FALSE_ALARM


def test_stochastic_scores_are_perturbed_log_probabilities() -> None:
    """A child's is at most its parent's, and one child's is the same; a wide search returns all texts in order."""
    model = toy(DRAWN)
    for seed in range(20):
        steps = searched(model, seed, num_beams=6, search="stochastic", num_return_sequences=6)
        nodes = {node.id: node for step in steps for node in step.nodes}
        best: dict[int, float] = {}
        for node in nodes.values():
            if node.parent is not None:
                best[node.parent] = max(best.get(node.parent, -math.inf), node.score)
        assert best == {id: pytest.approx(nodes[id].score) for id in best} and best
        assert {text for text, _ in held(model, steps)} == set(whole_texts(DRAWN))
        scores = [score for _, score in held(model, steps)]
        assert scores == sorted(scores, reverse=True) and steps[-1].ending == "no_beams"


def test_a_stochastic_search_cut_by_length_keeps_its_order() -> None:
    steps = searched(toy(DRAWN), 3, num_beams=3, search="stochastic", max_new_tokens=1)
    assert steps[-1].ending == "length" and len(steps[-1].finished) == 3
    assert [n.fate for n in steps[0].nodes] == ["finished"] * 3


UNEVEN = {
    "": {"a": 0.42, "b": 0.2, "c": 0.17, "d": 0.13, ".": 0.08},
    "a": {"a": 0.36, "b": 0.33, ".": 0.31},
    "b": {".": 0.55, "d": 0.45},
    "c": {"a": 0.52, ".": 0.48},
}


def drawn_law(rows: Any, width: int, longest: int) -> dict[tuple[str, ...], float]:
    """The exact law of the texts a `sample` search holds at its end, by every ordered draw at every depth."""
    law: dict[tuple[str, ...], float] = defaultdict(float)

    def go(depth: int, beams: list[tuple[float, str]], done: list[tuple[float, str]], prob: float) -> None:
        laws = [(p, text, rows.get(text, {".": 1.0})) for p, text in beams]
        grown = [(p * own, f"{text} {word}".strip()) for p, text, law_ in laws for word, own in law_.items()]
        mass, last = math.fsum(p for p, _ in grown), depth == longest
        draws: dict[tuple[tuple[float, str], ...], float] = defaultdict(float)
        for order, chance in orders([p / mass for p, _ in grown], min(2 * width, len(grown))).items():
            draws[tuple(sorted((grown[i] for i in order), reverse=True))] += chance
        for chosen, chance in draws.items():
            ended = [(math.log(p) / depth, text) for p, text in chosen[:width] if last or text.endswith(".")]
            going = [] if last else [item for item in chosen if not item[1].endswith(".")][:width]
            held_ = sorted([*done, *ended], reverse=True)[:width]
            if not going or (len(held_) == width and math.log(going[0][0]) / depth <= held_[-1][0]):
                law[tuple(text for _, text in held_)] += prob * chance
            else:
                go(depth + 1, going, held_, prob * chance)

    go(1, [(1.0, "")], [], 1.0)
    return dict(law)


@pytest.mark.parametrize("width", [1, 2])
def test_a_drawn_beam_has_its_exact_law(width: int) -> None:
    """Twice as many drawn without replacement as there are beams, jointly by exp(logprob); then the best go on."""
    model = toy(UNEVEN)
    found: Counter[tuple[str, ...]] = Counter()
    for seed in range(RUNS):
        steps = searched(model, seed, num_beams=width, search="sample", max_new_tokens=3, top=1)
        found[tuple(text for text, _ in held(model, steps))] += 1
    assert odds(found, drawn_law(UNEVEN, width, 3)) > FALSE_ALARM


def test_what_is_drawn_is_drawn_jointly_without_replacement() -> None:
    """Three of the six extensions of two unequal beams, by exp(logprob): the law of the set, on 3000 draws."""
    law = torch.tensor([[0.5, 0.3, 0.2, 0.0], [0.1, 0.0, 0.3, 0.6]], dtype=torch.float64).log()
    sums = [math.log(0.35), math.log(0.15)]
    probs = [0.35 * 0.5, 0.35 * 0.3, 0.35 * 0.2, 0.15 * 0.1, 0.15 * 0.3, 0.15 * 0.6]
    places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (1, 3)]
    exact: dict[frozenset[tuple[int, int]], float] = defaultdict(float)
    for order, prob in orders([p / math.fsum(probs) for p in probs], 3).items():
        exact[frozenset(places[i] for i in order)] += prob
    found: Counter[frozenset[tuple[int, int]]] = Counter()
    for seed in range(3000):
        options = by_draw(law, sums, 1, 3, (), Uniforms(seed).at(0, 6))
        found[frozenset((o.parent, o.token) for o in options if o.cut is None)] += 1
    assert odds(found, dict(exact)) > FALSE_ALARM


def test_the_test_of_laws_can_fail() -> None:
    """A search of another law, off by .12 at its first token, is told apart."""
    wrong = drawn_law({**UNEVEN, "": {"a": 0.3, "b": 0.25, "c": 0.2, "d": 0.15, ".": 0.1}}, 1, 3)
    expected = Counter({key: round(RUNS * prob) for key, prob in wrong.items()})
    assert odds(expected, drawn_law(UNEVEN, 1, 3)) < FALSE_ALARM


def test_what_was_not_drawn_is_named() -> None:
    words = {f"w{n}": 1 / 12 for n in range(12)}
    steps = searched(toy({"": words}), 5, num_beams=2, search="sample", top=12)
    first = steps[0]
    undrawn = [node.rule for node in first.nodes if node.rule and node.rule.rule == "not_drawn"]
    width = [node.rule for node in first.nodes if node.rule and node.rule.rule == "width"]
    assert len(undrawn) == 8 and len(width) == 2 and all(cut.value < cut.threshold for cut in undrawn)
    assert len({cut.threshold for cut in undrawn}) == 1
    assert all(node.score == node.logprob for node in first.nodes)


def test_the_processed_law_is_a_law(lecture: Any) -> None:
    """After top-k 2, the two tokens left hold all the probability; so a text's is what sampling would give it."""
    steps = searched(lecture, num_beams=4, max_new_tokens=2, top_k=2, temperature=0.5)
    first = {n.token.text: n.prob for n in steps[0].nodes}
    assert first == {"I": pytest.approx(0.16 / 0.25), "We": pytest.approx(0.09 / 0.25)}
    assert steps[0].considered == 2 and steps[1].considered == 4
    assert math.fsum(math.exp(n.logprob) for n in steps[1].nodes) == pytest.approx(1)


def test_history_reaches_the_processors(tiny_llama: Any) -> None:
    """With a repetition penalty every beam has its own history: each node's law is that of its own whole text."""
    asked = beam_settings(num_beams=3, repetition_penalty=1.5, temperature=0.9, max_new_tokens=5, top=4)
    prompt = tiny_llama.encode("the sea and the sky")
    steps = list(beam(tiny_llama, prompt, asked, Uniforms(0)))
    check_nodes(tiny_llama, prompt, steps, asked)


# --- the loop --------------------------------------------------------------------------------------


def check_nodes(model: Any, prompt: Sequence[int], steps: Sequence[Step], asked: BeamSettings) -> None:
    """Every node's probability and sum, by a forward of its whole text without a cache."""
    nodes = {node.id: node for step in steps if isinstance(step, BeamStep) for node in step.nodes}
    sampled = [step.token.id for step in steps if isinstance(step, SampleStep)]
    laws: dict[int | None, torch.Tensor] = {}
    for node in nodes.values():
        if node.parent not in laws:
            before = [] if node.parent is None else [each.token.id for each in path(node.parent, nodes)]
            ids = [*prompt, *sampled, *before]
            laws[node.parent] = law_of(logits_after(model, ids)[None], torch.tensor([ids]), asked, 0)[0]
        local = float(laws[node.parent][node.token.id])
        above = 0.0 if node.parent is None else nodes[node.parent].logprob
        assert math.log(node.prob) == pytest.approx(local, abs=1e-4)
        assert node.logprob == pytest.approx(above + local, abs=1e-4)


@pytest.mark.parametrize("search", ["beam", "sample", "stochastic"])
def test_cached_is_uncached(tiny_llama: Any, search: str) -> None:
    asked = beam_settings(num_beams=4, search=search, max_new_tokens=6, top=5, sample_first=2)
    prompt = tiny_llama.encode("she said that")
    steps = list(beam(tiny_llama, prompt, asked, Uniforms(2)))
    assert len(steps) == 6 and any(len({n.parent for n in s.nodes}) > 1 for s in steps if isinstance(s, BeamStep))
    check_nodes(tiny_llama, prompt, steps, asked)


class Watched(ToyModel):
    """Counts forwards, notes the rows of each and what became of its caches; breaks where told."""

    def __init__(self, table: Any, breaks_at: int = 0, broken: float = math.nan) -> None:
        super().__init__(table)
        self.rows: list[tuple[int, int]] = []
        self.caches: list[weakref.ref[Any]] = []
        self._breaks_at, self._broken = breaks_at, broken

    def new_cache(self, batch: int = 1) -> Any:
        cache = super().new_cache(batch)
        self.caches.append(weakref.ref(cache))
        return cache

    def forward(self, tokens: Any, cache: Any, *args: Any, **options: Any) -> Output:
        self.rows.append(tuple(tokens.shape))
        logits = super().forward(tokens, cache, *args, **options).logits
        if len(self.rows) == self._breaks_at:
            logits[-1] = self._broken
        return Output(logits)

    def held(self) -> int:
        return sum(cache() is not None for cache in self.caches)


def watched(**options: Any) -> Watched:
    return Watched(api.load("toy:lecture")._table, **options)  # type: ignore[attr-defined]


def test_one_forward_a_depth_with_the_open_beams_only() -> None:
    """The prompt in one row; then one row for each open beam and one token each."""
    model = watched()
    steps = list(beam(model, model.encode("I"), beam_settings(num_beams=3, max_new_tokens=8), Uniforms(0)))
    open_beams = [sum(n.fate == "kept" for n in s.nodes) for s in steps if isinstance(s, BeamStep)]
    assert model.rows == [(1, 2), *((count, 1) for count in open_beams[:-1])]
    model = Watched(parse({"end": ".", "rows": EARLY, "default": {".": 1}}, "early"))
    steps = list(beam(model, model.encode(""), beam_settings(num_beams=3, early_stopping="never"), Uniforms(0)))
    assert any(isinstance(s, BeamStep) and s.finished for s in steps[:-1])
    assert len(model.rows) == len(steps) and {rows for rows, _ in model.rows} != {1, 3}


def test_closing_frees_the_cache_and_stops_the_model() -> None:
    """Case 15, in the search and while tokens are still sampled."""
    for first in (0, 2):
        model = watched()
        steps = beam(model, model.encode(""), beam_settings(sample_first=first), Uniforms(0))
        assert model.caches == []
        next(steps)
        assert model.held() == 1
        steps.close()  # type: ignore[attr-defined]
        assert model.held() == 0 and len(model.rows) == 1


def test_a_run_to_the_end_or_into_an_error_frees_the_cache() -> None:
    model = watched()
    steps = beam(model, model.encode(""), beam_settings(), Uniforms(0))
    assert list(steps) and model.held() == 0
    model = watched(breaks_at=2)
    steps = beam(model, model.encode(""), beam_settings(), Uniforms(0))
    next(steps)
    with pytest.raises(UserError) as caught:
        next(steps)
    assert caught.value.code == "broken_logits" and model.held() == 0


def test_closing_a_neural_run_frees_its_keys_and_values(tiny_llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    caches: list[Any] = []
    make = type(tiny_llama).new_cache

    def new_cache(self: Any, batch: int = 1) -> Any:
        cache = make(self, batch)
        caches.append(weakref.ref(cache))
        return cache

    monkeypatch.setattr(type(tiny_llama), "new_cache", new_cache)
    steps = beam(tiny_llama, tiny_llama.encode("the sea"), beam_settings(), Uniforms(0))
    next(steps), next(steps)
    keys = weakref.ref(keys_of(caches[0]()))
    assert 4 in keys().shape
    steps.close()  # type: ignore[attr-defined]
    assert caches[0]() is None and keys() is None


@pytest.mark.parametrize(("broken", "what"), [(math.nan, "NaN"), (-math.inf, "-inf"), (math.inf, "+inf")])
@pytest.mark.parametrize("search", ["beam", "sample", "stochastic"])
def test_broken_logits_name_the_step(broken: float, what: str, search: str) -> None:
    """Case 18, in one row of several, with and without sampled tokens before."""
    for first in (0, 1):
        model = watched(breaks_at=3, broken=broken)
        asked = beam_settings(search=search, sample_first=first, temperature=0.9)
        with pytest.raises(UserError) as caught:
            list(beam(model, model.encode(""), asked, Uniforms(0)))
        assert caught.value.code == "broken_logits" and what in str(caught.value)
        assert caught.value.values["step"] == 3


def test_one_beam_is_greedy(tiny_llama: Any) -> None:
    for text in ("the sky", "she said", "1 2 3", "naïve", "the sea " * 4):
        ids = tiny_llama.encode(text)
        greedy = [step.token.id for step in sample(tiny_llama, ids, greedy_settings(12), Uniforms(0))]
        for early in (False, True):
            asked = BeamSettings(num_beams=1, max_new_tokens=12, early_stopping=early, length_penalty=0.5)
            (best,) = results(list(beam(tiny_llama, ids, asked, Uniforms(0))), asked)
            assert list(best.token_ids) == greedy


def test_the_same_seed_is_the_same_search(tiny_llama: Any) -> None:
    ids = tiny_llama.encode("the sky over")
    for search in ("beam", "sample", "stochastic"):
        asked = beam_settings(search=search, num_beams=3, max_new_tokens=4, sample_first=1)
        first, again, other = (list(beam(tiny_llama, ids, asked, Uniforms(seed))) for seed in (1, 1, 2))
        assert first == again and first != other


def tokens_of(steps: Sequence[Any]) -> list[list[tuple[int, str]]]:
    return [[(node.token.id, node.fate) for node in step.nodes] for step in steps]


# --- sampled first ---------------------------------------------------------------------------------


def test_tokens_sampled_first_are_those_of_sampling(tiny_llama: Any) -> None:
    """The same steps as a sampled run has, then the search of a prompt that ends with them."""
    ids = tiny_llama.encode("the sky over")
    asked = beam_settings(num_beams=3, sample_first=3, max_new_tokens=7, temperature=1.3, top=6)
    for seed in range(4):
        steps = list(beam(tiny_llama, ids, asked, Uniforms(seed)))
        drawing = SampleSettings(asked.processors, "direct", 3, 6)
        sampled = list(sample(tiny_llama, ids, drawing, Uniforms(seed)))
        assert steps[: len(sampled)] == sampled
        if len(sampled) == 3 and sampled[-1].token.id not in tiny_llama.end_ids:
            longer = [*ids, *(step.token.id for step in sampled)]
            rest = beam_settings(num_beams=3, max_new_tokens=4, temperature=1.3, top=6)
            assert steps[3:] == list(beam(tiny_llama, longer, rest, Uniforms(seed)))
            known = [step.token.id for step in sampled[:2]]
            rest_of_it = list(beam(tiny_llama, ids, asked, Uniforms(seed), known))
            assert rest_of_it[0].token == sampled[2].token and tokens_of(rest_of_it[1:]) == tokens_of(steps[3:])


def test_a_sampled_end_leaves_nothing_to_search() -> None:
    model = toy({"": {".": 1}})
    trace = api.decode(model, "", beam_settings(sample_first=2, max_new_tokens=5))
    assert [step.kind for step in trace.steps] == ["sample"]
    assert (trace.finish.reason, trace.finish.text, trace.finish.returned) == ("eos", "", ())


# --- the record ------------------------------------------------------------------------------------


def all_steps(model: Any, prompts: Sequence[str]) -> Iterator[tuple[BeamSettings, list[BeamStep]]]:
    shapes: list[dict[str, Any]] = [
        {},
        {"search": "sample", "top_k": 20},
        {"search": "stochastic"},
        {"num_beam_groups": 2, "diversity_penalty": 0.5},
        {"relative_threshold": 0.1, "max_per_parent": 2},
        {"top": 1},
        {"num_beams": 8, "num_beam_groups": 4, "diversity_penalty": 3.0, "top": 2, "early_stopping": True},
    ]
    for prompt, shape in itertools.product(prompts, shapes):
        asked = beam_settings(**{"num_beams": 4, "max_new_tokens": 6, "top": 5, **shape})
        steps = list(beam(model, model.encode(prompt), asked, Uniforms(1)))
        yield asked, [step for step in steps if isinstance(step, BeamStep)]


def test_the_record_is_whole(tiny_llama: Any, lecture: Any) -> None:
    """Ids count up, best first; every choice is listed, and the `top` best of each beam, and what was cut says why."""
    for model, prompts in ((tiny_llama, ("the sky", "said")), (lecture, ("", "I"))):
        for asked, steps in all_steps(model, prompts):
            assert [n.id for s in steps for n in s.nodes] == list(range(sum(len(s.nodes) for s in steps)))
            for step in steps:
                scores = [node.score for node in step.nodes]
                assert scores == sorted(scores, reverse=True) and len(step.nodes) <= step.considered
                assert all((n.fate == "pruned") == (n.rule is not None) for n in step.nodes)
                taken = [n for n in step.nodes if n.fate == "kept"]
                assert len(taken) <= asked.num_beams and all(n.score <= 0 or asked.search != "beam" for n in taken)
                listed = Counter((n.group, n.parent) for n in step.nodes)
                assert all(count >= asked.top for count in listed.values()) or model is lecture
                widths = [n.rule for n in step.nodes if n.rule and n.rule.rule == "width"]
                assert all(cut.value <= cut.threshold for cut in widths)
            assert steps[-1].ending is not None and all(step.ending is None for step in steps[:-1])


def test_with_few_recorded_the_search_is_the_same(tiny_llama: Any) -> None:
    ids = tiny_llama.encode("the sky over")
    for options in ({}, {"search": "sample"}, {"search": "stochastic"}, {"relative_local_threshold": 0.2}):
        kept = []
        for top in (1, 8, 50):
            asked = beam_settings(num_beams=3, max_new_tokens=5, top=top, **options)
            steps = [s for s in beam(tiny_llama, ids, asked, Uniforms(3)) if isinstance(s, BeamStep)]
            kept.append([[(n.token.id, n.logprob, n.fate) for n in s.nodes if n.fate != "pruned"] for s in steps])
        assert kept[0] == kept[1] == kept[2]


def test_all_that_is_possible_is_counted() -> None:
    law = torch.tensor([[0.0, -math.inf, -800.0], [-math.inf, -math.inf, 0.0]])
    assert count_possible(law) == 3 and count_possible(law[:1, :1]) == 1


def test_a_vocabulary_smaller_than_the_beam_makes_no_copies() -> None:
    """Other searches fill the width with copies of probability 0; here there are fewer beams, and fewer texts."""
    model = toy({"": {"a": 0.7, "b": 0.3}})
    asked = beam_settings(num_beams=5, num_return_sequences=5, max_new_tokens=6)
    trace = api.decode(model, "", asked)
    assert [text.text for text in trace.finish.returned] == ["a", "b"]
    step = trace.steps[0]
    assert isinstance(step, BeamStep) and len(step.nodes) == 2 and step.considered == 2


def test_float64_laws_stay_float64(lecture: Any) -> None:
    search = Search(beam_settings(num_beams=2), Uniforms(0), lecture.end_ids, lecture.token)
    law = law_of(logits_after(lecture, lecture.encode(""))[None], torch.zeros(1, 1), search.settings, 0)
    _, step = advance(law, start(search), 1, 0, search)
    assert law.dtype == torch.float64 and step.nodes[0].logprob == pytest.approx(math.log(0.4), rel=1e-15)

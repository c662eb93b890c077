"""Token trees: their shape, their masks, and that a tree read in one forward is read path by path."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.models import load
from decoding.sampling import Uniforms, sample
from decoding.settings import greedy_settings
from decoding.speculative.loop import speculate
from decoding.speculative.tree import LOWEST, ROOT, TokenTree
from decoding.speculative_settings import speculative_settings
from tests.speculative_toys import Scripted

many = settings(max_examples=60, deadline=None, derandomize=True)

BUSHY = [-1, -1, 0, 0, 1, 2, 4, 0]
"""Two roots; three children of node 0, one of node 1, and one each of two of those."""


def tree(parents: list[int], first: int = 10) -> TokenTree:
    """Tokens `first`, `first` + 1, ..."""
    return TokenTree(torch.arange(first, first + len(parents)), torch.tensor(parents, dtype=torch.long))


shapes = st.lists(st.integers(0, 10**6), max_size=12).map(
    lambda draws: [draw % (i + 1) - 1 for i, draw in enumerate(draws)]
)
"""Parents of any tree: node i has one of i + 1."""


def test_a_tree_by_hand() -> None:
    of = tree(BUSHY)
    assert of.depths().tolist() == [1, 1, 2, 2, 2, 3, 3, 2]
    assert [of.children(node) for node in range(-1, 8)] == [(0, 1), (2, 3, 7), (4,), (5,), (), (6,), (), (), ()]
    assert of.path(5) == (0, 2, 5) and of.path(6) == (1, 4, 6) and of.path(ROOT) == ()
    assert not of.is_chain and len(of) == 8


@many
@given(shapes)
def test_ancestors_depths_paths_and_children_agree(parents: list[int]) -> None:
    of = tree(parents)
    rows, depths = of.ancestors(), of.depths().tolist()
    for node in range(len(parents)):
        path = of.path(node)
        assert rows[node].nonzero().flatten().tolist() == list(path) and len(path) == depths[node]
        assert node in of.children(parents[node])
    assert sum(len(of.children(node)) for node in range(-1, len(parents))) == len(parents)


@many
@given(shapes, st.integers(0, 4), st.integers(1, 4))
def test_the_mask_lets_each_node_see_the_text_and_its_path(parents: list[int], held: int, unread: int) -> None:
    """By definition, cell by cell; nobody sees what stands after it."""
    of, text = tree(parents), held + unread
    mask, places = of.mask(held, unread), of.positions(held, unread)
    if of.is_chain:
        assert mask is None and places is None
        return
    assert mask is not None and places is not None
    assert mask.shape == (1, 1, unread + len(of), text + len(of)) and mask.dtype == torch.float32
    assert set(mask.unique().tolist()) <= {0.0, LOWEST}
    for row in range(unread + len(of)):
        seen = (mask[0, 0, row] == 0).nonzero().flatten().tolist()
        if row < unread:
            assert seen == list(range(held + row + 1)) and places[0, row] == held + row
        else:
            path = of.path(row - unread)
            assert seen == [*range(text), *(text + node for node in path)]
            assert places[0, row] == len(seen) - 1


def test_a_chain_is_a_tree_of_width_one() -> None:
    for count in range(4):
        chain = TokenTree.chain(list(range(count)))
        assert chain.is_chain and len(chain) == count
        assert chain.depths().tolist() == list(range(1, count + 1))
    assert not tree([-1, -1]).is_chain and not tree([-1, 0, 0]).is_chain


@pytest.mark.parametrize("parents", [[0], [-2], [-1, 1], [-1, 2, 0]])
def test_a_parent_stands_before_its_children(parents: list[int]) -> None:
    with pytest.raises(AssertionError, match="before its children"):
        tree(parents)
    with pytest.raises(AssertionError, match="as many parents"):
        TokenTree(torch.tensor([1, 2]), torch.tensor([-1]))


@pytest.mark.parametrize("held", [0, 4])
def test_a_tree_in_one_forward_is_read_path_by_path(tiny_llama: Any, held: int) -> None:
    """Logits after every node, and after the branch kept in the cache: both as if only its path had been read."""
    text = tiny_llama.encode("the sky over the")
    of, count = tree(BUSHY, first=40), len(BUSHY)
    cache = tiny_llama.new_cache()
    if held:
        tiny_llama.forward(torch.tensor([text[:held]]), cache)
    unread = len(text) - held
    tokens = torch.cat((torch.tensor(text[held:]), of.tokens))[None]
    found = tiny_llama.forward(
        tokens, cache, of.positions(held, unread), of.mask(held, unread), logits_to_keep=count + 1
    ).logits[0]

    def alone(ids: list[int]) -> torch.Tensor:
        return tiny_llama.forward(torch.tensor([ids]), tiny_llama.new_cache(), logits_to_keep=1).logits[0, -1]

    for node in range(-1, count):
        expected = alone(text + of.tokens[list(of.path(node))].tolist())
        torch.testing.assert_close(found[node + 1], expected, atol=2e-5, rtol=0)
    path = of.path(6)
    cache.keep([*range(len(text)), *(len(text) + node for node in path)])
    after = tiny_llama.forward(torch.tensor([[7]]), cache, logits_to_keep=1).logits[0, -1]
    torch.testing.assert_close(after, alone([*text, *of.tokens[list(path)].tolist(), 7]), atol=2e-5, rtol=0)


def greedy_tokens(model: Any, prompt: list[int], count: int) -> list[int]:
    return [step.token.id for step in sample(model, prompt, greedy_settings(count), Uniforms(0))]


def test_the_loop_keeps_the_branch_that_is_accepted(tiny_llama: Any) -> None:
    """The greedy text hides in the second branch of each tree: it is found there, and the text goes on as greedy does.

    Wrong branches stand before it, so that the cache has to be gathered and not only cut.
    """
    prompt = tiny_llama.encode("the sky")
    greedy = greedy_tokens(tiny_llama, prompt, 9)
    wrong = next(token for token in range(40, 60) if token not in greedy)
    parents = [-1, -1, 0, 1, 3]
    rounds = [[wrong, *greedy[at : at + 1], wrong, *greedy[at + 1 : at + 3]] for at in (0, 4)]
    drafter = Scripted(rounds, tiny_llama.info.vocab_size, parents)
    asked = speculative_settings(drafter="ngram", temperature=0, gamma=3, max_new_tokens=9)
    steps = list(speculate(tiny_llama, drafter, prompt, asked, Uniforms(0)))
    assert [token.id for step in steps for token in step.emitted] == greedy
    first = steps[0]
    assert [node.parent for node in first.nodes] == [None, None, 0, 1, 3]
    assert [node.depth for node in first.nodes] == [1, 1, 2, 2, 3]
    assert [(verdict.node, verdict.accepted) for verdict in first.verdicts] == [
        *((0, False), (1, True), (3, True), (4, True))
    ]
    assert first.ending == "bonus" and len(first.emitted) == 4


def test_a_second_sibling_is_judged_by_the_residual() -> None:
    """Two drafts of one position on the lecture's table: after `He` is rejected, p without it is what `We` meets."""
    model = load("toy:lecture")
    he, we = (model.encode(word)[-1] for word in ("He", "We"))
    asked = speculative_settings(drafter="ngram", gamma=1, max_new_tokens=1, top=24)
    step = next(
        step
        for seed in range(100)
        for step in speculate(
            model, Scripted([[he, we]], model.info.vocab_size, [-1, -1]), model.encode(""), asked, Uniforms(seed)
        )
        if len(step.verdicts) == 2
    )
    first, second = step.verdicts
    assert (first.target_prob, first.draft_prob, first.threshold) == (pytest.approx(0.1), 1.0, pytest.approx(0.1))
    assert second.target_prob == second.threshold == pytest.approx(0.3 / 0.9)
    listed = {c.token.text: c.prob for c in second.target.top}
    assert "He" not in listed and listed["I"] == pytest.approx(0.4 / 0.9)

"""One suite for every engine: torch is the reference, ONNX Runtime must give the same numbers and the same runs.

Small random models of each architecture are saved to a folder and loaded from it, as a user's are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from decoding import api
from decoding.models import load, onnx, onnx_graph
from decoding.trace import BeamStep, Distribution, SampleStep, Trace
from tests.conftest import NEEDS_ONNX

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "llama-biased": ("llama", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": False}),
    "llama-long": (
        "llama",
        {
            "rope_parameters": {
                **{"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0},
                **{"high_freq_factor": 4.0, "original_max_position_embeddings": 64},
            }
        },
    ),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", {"tie_word_embeddings": False}),
    "gpt2": ("gpt2", {}),
}
ENGINES = ("torch", "onnx", "onnx-by-rows")
"""The last as in runtimes that read several rows one by one."""
PAIRS = [
    pytest.param((family, engine), id=f"{engine}-{family}", marks=[] if engine == "torch" else NEEDS_ONNX)
    for engine in ENGINES
    for family in FAMILIES
    if engine == "torch" or family != "gpt2"
]
LOWEST = torch.finfo(torch.float32).min
CLOSE = {"atol": 1e-4, "rtol": 1e-5}
PROB = 1e-4
"""A probability may differ by so much between engines."""
LOGPROB = {"abs": 1e-3, "rel": 1e-3}
"""And a sum of log-probabilities, in nats, or by this share of it."""


@pytest.fixture(scope="module")
def references(
    make_module: Callable[..., Any], tiny_tokenizer: Any, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Each family's model on torch, its norms and biases away from their starting values."""
    found = {}
    for name, (family, options) in FAMILIES.items():
        module = make_module(family, head_dim=16, **options)
        for key, weight in module.named_parameters():
            if "norm" in key or "bias" in key:
                weight.data += 0.2 * torch.randn_like(weight)
        folder = tmp_path_factory.mktemp(name)
        module.save_pretrained(folder)
        tiny_tokenizer.save_pretrained(folder)
        found[name] = load(str(folder), device="cpu", dtype="float32", engine="torch")
    return found


@pytest.fixture(scope="module", params=PAIRS)
def pair(request: Any) -> tuple[str, str]:
    """A family and an engine."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def reference(pair: tuple[str, str], references: dict[str, Any]) -> Any:
    """The family's model on torch."""
    return references[pair[0]]


@pytest.fixture(scope="module")
def model(pair: tuple[str, str], reference: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The same model on the engine, whose buffers and passes are short, so that these tests reach their ends."""
    if pair[1] == "torch":
        yield reference
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DECODING_LAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        if pair[1] == "onnx-by-rows":
            patch.setattr(onnx, "has_counts", lambda: False)
            patch.setattr(onnx_graph, "has_counts", lambda: False)
        patch.setattr(onnx, "FIRST_CAPACITY", 8)
        patch.setattr(onnx, "CHUNK", 16)
        yield load(reference.info.name, device="cpu", engine="onnx")


def ids(model: Any, text: str) -> list[int]:
    return model.encode(text)


def alone(reference: Any, tokens: list[int]) -> Tensor:
    """The last logits of one text read by torch in one go: (vocabulary,)."""
    return reference.forward(torch.tensor([tokens]), reference.new_cache(), logits_to_keep=1).logits[0, 0]


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, **CLOSE)


def close_states(found: Tensor | None, expected: Tensor | None) -> None:
    """Hidden states are not of the size of logits: within 1e-5 of the largest."""
    assert found is not None and expected is not None
    torch.testing.assert_close(found, expected.clone(), atol=1e-5 * float(expected.abs().max()), rtol=0)


# --- forward ---------------------------------------------------------------------------------------


def test_logits_are_those_of_torch(model: Any, reference: Any) -> None:
    rows = torch.tensor([ids(model, "The sky is blue and the"), ids(model, "The sea is blue and the")])
    found = model.forward(rows, model.new_cache(2)).logits
    assert found.dtype == torch.float32 and found.shape == (*rows.shape, model.info.vocab_size)
    close(found, reference.forward(rows, reference.new_cache(2)).logits)


def test_greedy_by_hand_is_generate(model: Any, reference: Any) -> None:
    for text in ("The sky is", "1995", "self", "We"):
        start = ids(model, text)
        made = reference.module.generate(torch.tensor([start]), do_sample=False, max_new_tokens=24)[0, len(start) :]
        cache, tokens, found = model.new_cache(), torch.tensor([start]), []
        while len(found) < 24 and not (found and found[-1] in model.end_ids):
            found.append(int(model.forward(tokens, cache, logits_to_keep=1).logits[0, -1].argmax()))
            tokens = torch.tensor([found[-1:]])
        assert found == made.tolist()


def test_cached_equals_whole(model: Any) -> None:
    """In parts that cross the first capacity of the buffers and the size of a pass."""
    tokens = torch.tensor(
        [ids(model, "The sky is blue and the sea is deep; she said that they said it first, in 1995")]
    )
    assert tokens.shape[1] > 24
    whole = model.forward(tokens, model.new_cache()).logits
    for cuts in ([1, 2, 3], [7, 8], [20], []):
        cache = model.new_cache()
        parts = torch.tensor_split(tokens, cuts, dim=1)
        close(torch.cat([model.forward(part, cache).logits for part in parts], 1), whole)
        assert cache.length == tokens.shape[1]


def test_only_the_logits_asked_for(model: Any) -> None:
    rows = torch.arange(3, 43).view(2, 20)
    whole = model.forward(rows, model.new_cache(2)).logits
    for keep in (1, 3, 6, 20, 50):
        close(model.forward(rows, model.new_cache(2), logits_to_keep=keep).logits, whole[:, -keep:])


def test_hidden_states_are_those_of_torch(model: Any, reference: Any) -> None:
    rows = torch.arange(3, 43).view(2, 20)
    layers = (-1, 0, 2, 0)
    whole = model.forward(rows, model.new_cache(2), hidden_layers=layers)
    head = reference.module.get_output_embeddings()
    close(head(whole.hidden[0].clone()), whole.logits.clone())
    found = model.forward(rows, model.new_cache(2), logits_to_keep=1, hidden_layers=layers).hidden
    expected = reference.forward(rows, reference.new_cache(2), hidden_layers=layers).hidden
    assert found is not None and expected is not None and found.shape == (4, 2, 20, 32)
    close_states(found, expected)
    cache = model.new_cache(2)  # asked for at some steps only
    model.forward(rows[:, :1], cache, hidden_layers=(1,))
    assert model.forward(rows[:, 1:2], cache).hidden is None
    third = model.forward(rows[:, 2:3], cache, hidden_layers=(-1,)).hidden
    close_states(third, expected[:1, :, 2:3])


def test_returned_logits_are_the_callers(model: Any) -> None:
    cache = model.new_cache()
    first = model.forward(torch.tensor([[5, 6]]), cache).logits
    before = first.clone()
    model.forward(torch.tensor([[7, 8]]), cache)
    assert torch.equal(first, before)


# --- cache -----------------------------------------------------------------------------------------


def test_crop_keep_and_reorder_are_exact(model: Any, reference: Any) -> None:
    text = ids(model, "The sky is blue")
    rows = torch.tensor([text, text[::-1]])
    cache = model.new_cache(2)
    model.forward(rows, cache)
    cache.reorder([1, 0, 1])
    cache.crop(len(text) - 1)
    again = model.forward(torch.tensor([text[:1], text[-1:], text[:1]]), cache).logits[:, 0]
    expected = torch.stack([alone(reference, list(row)) for row in (text[::-1], text, text[::-1])])
    close(again, expected)
    cache.crop(cache.length)
    cache.keep(range(cache.length))
    assert cache.length == len(text)
    cache.crop(0)
    assert cache.length == 0
    close(model.forward(rows[[1, 0, 1]], cache, logits_to_keep=1).logits[:, 0], expected)


def test_beams_of_one_prompt(model: Any, reference: Any) -> None:
    """One row becomes four, whose tokens then change places at every step, as in a beam search."""
    texts = [ids(model, "The sky is")] * 4
    cache = model.new_cache()
    model.forward(torch.tensor(texts[:1]), cache)
    cache.reorder([0, 0, 0, 0])
    for step, order in enumerate(([0, 1, 2, 3], [1, 1, 0, 3], [3, 2, 1, 0], [2, 2, 2, 2], [0, 1], [1, 0, 1])):
        cache.reorder(order)
        new = [20 + 7 * step + row for row in range(len(order))]
        texts = [[*texts[row], token] for row, token in zip(order, new, strict=True)]
        found = model.forward(torch.tensor([[token] for token in new]), cache).logits[:, 0]
        close(found, torch.stack([alone(reference, text) for text in texts]))


def test_rows_change_places_after_a_branch_was_kept(model: Any, reference: Any) -> None:
    """Two rows of one prompt read different tokens, keep the second of them, and change places."""
    start, new = ids(model, "The sky is"), [[20, 30, 40], [21, 31, 41]]
    cache, n = model.new_cache(), len(start)
    model.forward(torch.tensor([start]), cache)
    cache.reorder([0, 0])
    apart = torch.full((1, 1, 3, n + 3), LOWEST)
    apart[..., :n] = 0
    apart[0, 0].diagonal(n).fill_(0)  # each after the prompt, and none after another
    model.forward(torch.tensor(new), cache, torch.full((2, 3), n), apart)
    cache.keep([*range(n), n + 1])
    cache.reorder([1, 0])
    found = model.forward(torch.tensor([[7], [7]]), cache, torch.full((2, 1), n + 1)).logits[:, 0]
    close(found, torch.stack([alone(reference, [*start, row[1], 7]) for row in (new[1], new[0])]))


def test_an_empty_cache_takes_all_operations(model: Any) -> None:
    cache = model.new_cache()
    cache.crop(0)
    cache.keep([])
    cache.reorder([0, 0])
    assert cache.length == 0
    with pytest.raises(AssertionError, match="crop to 1 of 0"):
        cache.crop(1)
    assert model.forward(torch.tensor([[5], [6]]), cache).logits.shape[0] == 2


def test_rows_may_read_several_tokens(model: Any, reference: Any) -> None:
    first, second = torch.arange(3, 13).view(2, 5), torch.arange(30, 36).view(2, 3)
    cache = model.new_cache(2)
    model.forward(first, cache)
    found = model.forward(second, cache, hidden_layers=(1,))
    whole = reference.forward(torch.cat([first, second], 1), reference.new_cache(2), hidden_layers=(1,))
    close(found.logits, whole.logits[:, 5:].clone())
    close_states(found.hidden, whole.hidden[:, :, 5:])


# --- masks and positions ---------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", ["The sky is", ""])
def test_a_tree_under_its_mask_is_its_paths(model: Any, reference: Any, prompt: str) -> None:
    """Six nodes in one forward against each path alone, and again after one branch was kept."""
    start = ids(model, prompt) if prompt else []
    nodes, parents, n = [11, 25, 40, 60, 61, 99], [-1, -1, 0, 0, 1, 3], len(start)
    mask = torch.full((1, 1, 6, n + 6), LOWEST)
    mask[..., :n] = 0
    paths: list[list[int]] = []
    for node, parent in enumerate(parents):
        paths.append([*(paths[parent] if parent >= 0 else []), node])
        mask[0, 0, node, [n + at for at in paths[node]]] = 0
    depths = torch.tensor([[n + len(path) - 1 for path in paths]])
    cache = model.new_cache()
    if start:
        model.forward(torch.tensor([start]), cache)
    tree = model.forward(torch.tensor([nodes]), cache, depths, mask).logits[0]
    for node, path in enumerate(paths):
        close(tree[node], alone(reference, start + [nodes[at] for at in path]))
    cache.keep([*range(n), *(n + at for at in paths[5])])
    after = model.forward(torch.tensor([[7]]), cache, torch.tensor([[n + 3]])).logits[0, 0]
    close(after, alone(reference, start + [nodes[at] for at in paths[5]] + [7]))


def test_a_batch_of_ragged_prompts_is_each_alone(model: Any, reference: Any) -> None:
    """Padded at the left; the padding is masked, and positions count from each text's own start."""
    texts = [ids(model, text) for text in ("The sky", "The sky is blue and the sea is deep", "It")]
    longest = max(map(len, texts))
    padding = [longest - len(text) for text in texts]
    tokens = torch.tensor([[0] * pad + text for pad, text in zip(padding, texts, strict=True)])
    column = torch.arange(longest + 2)
    hidden_columns = column < torch.tensor(padding)[:, None]

    def mask(first: int, last: int) -> Tensor:
        causal = column[None, :last] > torch.arange(first, last)[:, None]
        blocked = causal[None] | hidden_columns[:, None, :last]
        return torch.zeros(3, 1, last - first, last).masked_fill(blocked[:, None], LOWEST)

    places = (column[None] - torch.tensor(padding)[:, None]).clamp(min=0)
    cache = model.new_cache(3)
    found = model.forward(tokens, cache, places[:, :longest], mask(0, longest), logits_to_keep=1).logits[:, 0]
    close(found, torch.stack([alone(reference, text) for text in texts]))
    more = torch.tensor([[7, 8], [9, 10], [11, 12]])
    found = model.forward(more, cache, places[:, longest:], mask(longest, longest + 2), logits_to_keep=1).logits[:, 0]
    expected = [alone(reference, [*text, *new]) for text, new in zip(texts, more.tolist(), strict=True)]
    close(found, torch.stack(expected))


def test_positions_of_a_first_pass_may_be_any(model: Any, reference: Any) -> None:
    tokens, places = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 12]]), torch.tensor([[3, 3, 9, 4], [0, 2, 4, 6]])
    mask = torch.full((4, 4), LOWEST).triu(1)[None, None]
    found = model.forward(tokens, model.new_cache(2), places, mask).logits
    close(found, reference.forward(tokens, reference.new_cache(2), places, mask).logits)


# --- whole runs ------------------------------------------------------------------------------------

SAMPLED: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0},
    "T 1": {},
    "T 1, alias": {"sampler": "alias"},
    "T 1, gumbel": {"sampler": "gumbel"},
    "T 0.8, top-k": {"temperature": 0.8, "top_k": 12, "sampler": "binary"},
    "T 0.8, top-k, top-p": {"temperature": 0.8, "top_k": 50, "top_p": 0.95},
    "T 0.8, top-p, penalty": {"temperature": 0.8, "top_p": 0.9, "repetition_penalty": 1.3},
}
SEARCHED: dict[str, dict[str, Any]] = {
    "beams": {},
    "no length penalty": {"length_penalty": 0.0},
    "length penalty 2": {"length_penalty": 2.0, "early_stopping": "never"},
    "repetition penalty": {"repetition_penalty": 1.3, "temperature": 0.9},
    "pruned": {"relative_threshold": 0.1, "max_per_parent": 2},
    "groups": {"num_beam_groups": 2, "diversity_penalty": 0.8},
    "drawn": {"search": "sample", "sample_first": 2},
    "stochastic": {"search": "stochastic"},
}


def decoded(model: Any, settings: Any) -> Trace:
    return api.decode(model, "The sky is", settings, seed=3)


def same_law(ours: Distribution, theirs: Distribution) -> None:
    """Probabilities in order, and of each token listed by both; two at a near-tie may change places."""
    probs = {candidate.token.id: candidate.prob for candidate in theirs.top}
    assert [candidate.prob for candidate in ours.top] == pytest.approx(list(probs.values()), abs=PROB)
    shared = {c.token.id: c.prob for c in ours.top if c.token.id in probs}
    assert shared == pytest.approx({id: probs[id] for id in shared}, abs=PROB)
    assert len(shared) >= len(probs) - 1 and ours.tail_mass == pytest.approx(theirs.tail_mass, abs=PROB)
    assert ours.entropy == pytest.approx(theirs.entropy, **LOGPROB)


def same_sampled(ours: SampleStep, theirs: SampleStep) -> None:
    assert (ours.position, ours.token, type(ours.draw)) == (theirs.position, theirs.token, type(theirs.draw))
    assert ours.prob == pytest.approx(theirs.prob, abs=PROB)
    assert [(stage.name, stage.kept_count) for stage in ours.stages] == [(s.name, s.kept_count) for s in theirs.stages]
    for mine, other in zip(ours.stages, theirs.stages, strict=True):
        same_law(mine.result, other.result)


def same_searched(ours: BeamStep, theirs: BeamStep) -> None:
    def plain(step: BeamStep) -> list[Any]:
        return [(n.id, n.parent, n.token, n.fate, n.group, n.rule and n.rule.rule) for n in step.nodes]

    assert (ours.depth, ours.considered, ours.ending) == (theirs.depth, theirs.considered, theirs.ending)
    assert plain(ours) == plain(theirs)
    assert [n.prob for n in ours.nodes] == pytest.approx([n.prob for n in theirs.nodes], abs=PROB)
    for value in ("logprob", "score"):
        mine, other = ([getattr(node, value) for node in step.nodes] for step in (ours, theirs))
        assert mine == pytest.approx(other, **LOGPROB)
    assert [h.node for h in ours.finished] == [h.node for h in theirs.finished]
    assert [h.score for h in ours.finished] == pytest.approx([h.score for h in theirs.finished], **LOGPROB)


def same_steps(ours: Trace, theirs: Trace) -> None:
    for mine, other in zip(ours.steps, theirs.steps, strict=True):
        if isinstance(mine, SampleStep):
            assert isinstance(other, SampleStep)
            same_sampled(mine, other)
        else:
            assert isinstance(mine, BeamStep) and isinstance(other, BeamStep)
            same_searched(mine, other)


@pytest.mark.parametrize("options", SAMPLED.values(), ids=SAMPLED)
def test_sampled_runs_are_those_of_torch(model: Any, reference: Any, options: dict[str, Any]) -> None:
    settings = api.sample_settings(max_new_tokens=12, **options)
    found, expected = decoded(model, settings), decoded(reference, settings)
    assert found.finish == expected.finish
    same_steps(found, expected)


@pytest.mark.parametrize("options", SEARCHED.values(), ids=SEARCHED)
def test_searches_are_those_of_torch(model: Any, reference: Any, options: dict[str, Any]) -> None:
    settings = api.beam_settings(num_beams=4, num_return_sequences=4, max_new_tokens=8, top=6, **options)
    found, expected = decoded(model, settings), decoded(reference, settings)
    same_steps(found, expected)
    assert found.finish.token_ids == expected.finish.token_ids and found.finish.reason == expected.finish.reason
    ours, theirs = found.finish.returned, expected.finish.returned
    assert [text.token_ids for text in ours] == [text.token_ids for text in theirs]
    for value in ("logprob", "score"):
        assert [getattr(t, value) for t in ours] == pytest.approx([getattr(t, value) for t in theirs], **LOGPROB)

"""The growing cache: whatever is cut, kept and reordered on the way, it says what reading everything anew says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from decoding.errors import UserError
from decoding.models import growing
from decoding.models.growing import ROOM, GrowingLayer
from decoding.models.huggingface import HuggingFaceModel

ROOT = Path(__file__).parents[1]
CLOSE = {"atol": 2e-4, "rtol": 1e-4}


def some(count: int, rows: int = 1, seed: int = 0) -> Tensor:
    """Token ids (rows, count) of the tiny vocabulary."""
    return torch.randint(3, 340, (rows, count), generator=torch.Generator().manual_seed(seed))


def anew(model: Any, tokens: Tensor) -> Tensor:
    """Logits (B, T, V) of everything, read at once."""
    logits: Tensor = model.forward(tokens, model.new_cache(len(tokens))).logits
    return logits


def read(model: Any, cache: Any, tokens: Tensor) -> Tensor:
    """Logits of these tokens after what the cache holds."""
    logits: Tensor = model.forward(tokens, cache).logits
    return logits


def rooms(cache: Any) -> list[int]:
    """How many places the buffer of each layer has."""
    return [layer._buffers[0].shape[-2] for layer in cache.cache.layers]


@pytest.mark.parametrize("step", [1, 3, 40])
@pytest.mark.parametrize("rows", [1, 3])
def test_many_steps_say_what_reading_everything_says(tiny_torch: Any, rows: int, step: int) -> None:
    """Over several buffers: the first of them is full after the prompt's length again and ROOM."""
    tokens, cache = some(240, rows), tiny_torch.new_cache(rows)
    parts, sizes = [read(tiny_torch, cache, tokens[:, :2])], {rooms(cache)[0]}
    for at in range(2, 240, step):
        parts.append(read(tiny_torch, cache, tokens[:, at : at + step]))
        sizes.add(rooms(cache)[0])
    assert cache.length == 240 and len(sizes) >= 2 and max(sizes) >= 240
    torch.testing.assert_close(torch.cat(parts, 1), anew(tiny_torch, tokens), **CLOSE)


def test_a_step_writes_into_the_room_there_is(tiny_torch: Any) -> None:
    """The same buffers until they are full: that is what the layer is for."""
    cache = tiny_torch.new_cache()
    read(tiny_torch, cache, some(10))
    (layer, *_), room = cache.cache.layers, rooms(cache)[0]
    place = layer.keys.data_ptr()
    assert room >= 10 + ROOM
    for at in range(10, room):
        read(tiny_torch, cache, some(1, seed=at))
        assert layer.keys.data_ptr() == place
    read(tiny_torch, cache, some(1))
    assert layer.keys.data_ptr() != place and cache.length == room + 1


@pytest.mark.parametrize("length", [0, 1, 17, 59, 60])
def test_it_goes_on_after_a_cut(tiny_torch: Any, length: int) -> None:
    """Other tokens come where some were cut off, twice, and past the end of the first buffer."""
    cache = tiny_torch.new_cache()
    text = some(60)
    read(tiny_torch, cache, text)
    for seed, more in ((1, 30), (2, 150)):
        cache.crop(length)
        assert cache.length == length
        text = torch.cat((text[:, :length], some(more, seed=seed)), 1)
        found = [read(tiny_torch, cache, text[:, at : at + 10]) for at in range(length, length + more, 10)]
        torch.testing.assert_close(torch.cat(found, 1), anew(tiny_torch, text)[:, length:], **CLOSE)


@pytest.mark.parametrize("chosen", [[0, 1, 2, 3, 5, 8], [0, 1, 2, 3, 4, 7, 9], [*range(10)], [0]])
def test_it_goes_on_after_one_branch_was_kept(tiny_torch: Any, chosen: list[int]) -> None:
    """Keys carry their places, so places are given; what is left must be what reading just that would hold."""
    text = some(10)
    places = torch.tensor([[chosen.index(i) if i in chosen else len(chosen) for i in range(10)]])
    cache, own = tiny_torch.new_cache(), tiny_torch.new_cache()
    mask = torch.full((1, 1, 10, 10), torch.finfo(torch.float32).min)
    for row in range(10):
        mask[..., row, [i for i in {*chosen, row} if i <= row]] = 0
    tiny_torch.forward(text, cache, places, mask)
    cache.keep(chosen)
    read(tiny_torch, own, text[:, chosen])
    assert cache.length == len(chosen)
    for seed in range(3):
        more = some(60, seed=seed + 1)
        torch.testing.assert_close(read(tiny_torch, cache, more), read(tiny_torch, own, more), **CLOSE)
        cache.crop(len(chosen) + 20 * (seed + 1))
        own.crop(len(chosen) + 20 * (seed + 1))


@pytest.mark.parametrize("rows", [[0, 0, 0, 0], [2, 0], [1], [0, 1, 2], [2, 2, 1, 0, 0]])
def test_it_goes_on_after_rows_were_chosen(tiny_torch: Any, rows: list[int]) -> None:
    """More, fewer, or as many: from one row and from three."""
    for first in (1, 3):
        chosen = [row % first for row in rows]
        text, cache = some(20, first), tiny_torch.new_cache(first)
        read(tiny_torch, cache, text)
        for seed in (1, 2):
            cache.reorder(chosen)
            text = torch.cat((text[chosen], some(50, len(rows), seed)), 1)
            torch.testing.assert_close(read(tiny_torch, cache, text[:, -50:]), anew(tiny_torch, text)[:, -50:], **CLOSE)
            chosen = [row % len(rows) for row in rows]


def test_beams_that_part_and_meet(tiny_torch: Any) -> None:
    """A search: rows chosen before every single step, cut back now and then, over more than one buffer."""
    chance = torch.Generator().manual_seed(5)
    text, cache = some(5), tiny_torch.new_cache()
    read(tiny_torch, cache, text)
    for step in range(90):
        rows = torch.randint(0, len(text), (1 + step % 4,), generator=chance).tolist()
        cache.reorder(rows)
        text = torch.cat((text[rows], some(1, len(rows), step)), 1)
        found = read(tiny_torch, cache, text[:, -1:])
        if step % 9 == 0:
            torch.testing.assert_close(found, anew(tiny_torch, text)[:, -1:], **CLOSE)
            cache.crop(cache.length - step % 3)
            text = text[:, : cache.length]


def test_two_caches_of_one_model_know_nothing_of_each_other(tiny_torch: Any) -> None:
    texts = some(100, seed=1), some(100, seed=2)
    caches = tiny_torch.new_cache(), tiny_torch.new_cache()
    found: tuple[list[Tensor], list[Tensor]] = ([], [])
    for at in range(0, 100, 5):
        for text, cache, parts in zip(texts, caches, found, strict=True):
            parts.append(read(tiny_torch, cache, text[:, at : at + 5]))
    for text, parts in zip(texts, found, strict=True):
        torch.testing.assert_close(torch.cat(parts, 1), anew(tiny_torch, text), **CLOSE)


@pytest.mark.parametrize("change", ["keep", "reorder"])
def test_what_was_held_before_is_not_written_over(tiny_torch: Any, change: str) -> None:
    """Tensors taken out of the cache after rows or places were chosen stay as they were, whatever comes after."""
    cache = tiny_torch.new_cache()
    read(tiny_torch, cache, some(12))
    cache.keep([0, 1, 2, 5, 7]) if change == "keep" else cache.reorder([0, 0])
    held = [tensor for layer in cache.cache.layers for tensor in (layer.keys, layer.values)]
    before = [tensor.clone() for tensor in held]
    for seed, count in enumerate((1, 2, 20, 80)):
        cache.crop(3)
        read(tiny_torch, cache, some(count, 1 if change == "keep" else 2, seed))
    assert all(torch.equal(one, other) for one, other in zip(held, before, strict=True))


@pytest.mark.parametrize("change", [lambda cache: cache.keep([0, 2]), lambda cache: cache.reorder([0, 0, 0])])
def test_a_buffer_that_is_left_is_freed_at_once(tiny_torch: Any, change: Callable[[Any], None]) -> None:
    """Not only with the next forward: until then a search would hold its whole past twice."""
    cache = tiny_torch.new_cache()
    read(tiny_torch, cache, some(12))
    old = [weak(tensor) for layer in cache.cache.layers for tensor in layer._buffers]
    change(cache)
    assert not any(gone() for gone in old)


def weak(tensor: Tensor) -> Callable[[], bool]:
    """Whether the tensor is alive still, without keeping it so."""
    import weakref

    ref = weakref.ref(tensor)
    return lambda: ref() is not None


@pytest.mark.parametrize(("held", "new"), [(1, 4), (4, 1), (2, 3)])
@pytest.mark.parametrize("filled", [False, True])
def test_rows_must_be_those_held(tiny_torch: Any, held: int, new: int, filled: bool) -> None:
    """One row for several is no broadcast: neither into the room there is, nor into a new buffer."""
    cache = tiny_torch.new_cache(held)
    read(tiny_torch, cache, some(10, held))
    if filled:
        read(tiny_torch, cache, some(rooms(cache)[0] - 10, held))
    with pytest.raises((AssertionError, RuntimeError)):
        read(tiny_torch, cache, some(1, new))


def test_a_layer_refuses_other_rows_itself() -> None:
    layer = GrowingLayer()
    layer.update(torch.zeros(1, 2, 5, 8), torch.zeros(1, 2, 5, 8))
    with pytest.raises(AssertionError):
        layer.update(torch.zeros(1, 2, 200, 8).expand(4, -1, -1, -1), torch.zeros(4, 2, 200, 8))
    layer = GrowingLayer()
    layer.update(torch.zeros(4, 2, 5, 8), torch.zeros(4, 2, 5, 8))
    with pytest.raises(AssertionError):
        layer.update(torch.zeros(1, 2, 1, 8), torch.zeros(1, 2, 1, 8))


def test_an_emptied_cache_starts_again(tiny_torch: Any) -> None:
    """With other rows than before: cut to nothing, and reset."""
    cache = tiny_torch.new_cache()
    for rows, empty in ((1, lambda: cache.crop(0)), (3, cache.cache.reset), (2, lambda: cache.crop(0)), (4, None)):
        text = some(90, rows, seed=rows)
        torch.testing.assert_close(read(tiny_torch, cache, text), anew(tiny_torch, text), **CLOSE)
        if empty is not None:
            empty()
            assert cache.length == 0


@pytest.mark.parametrize("size", [(3, 5), (8, 8)], ids=["values narrower than keys", "alike"])
def test_a_layer_holds_what_transformers_own_holds(size: tuple[int, int]) -> None:
    """Bit for bit: keys and values may have heads of different size."""
    own, theirs = GrowingLayer(), DynamicLayer()
    chance = torch.Generator().manual_seed(0)
    for count in (3, 1, 1, 70, 1, 200, 1):
        states = [torch.randn(2, 2, count, width, generator=chance) for width in size]
        for one, other in zip(own.update(*states), theirs.update(*states), strict=True):
            assert torch.equal(one, other)
        assert own.get_seq_length() == theirs.get_seq_length()
        assert own.get_mask_sizes(4) == theirs.get_mask_sizes(4)
    for layer in (own, theirs):
        layer.reorder_cache(torch.tensor([1, 0, 1]))
        layer.crop(-20)
    assert torch.equal(own.keys, theirs.keys) and torch.equal(own.values, theirs.values)


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("mistral", {"sliding_window": 4}),
        ("gemma3_text", {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"] * 2}),
        ("gemma3_text", {"sliding_window": 4, "layer_types": ["full_attention", "sliding_attention"] * 2}),
    ],
    ids=["mistral", "gemma", "gemma, the other way round"],
)
def test_layers_that_keep_a_window_stay_transformers_own(
    make_module: Callable[..., Any], tiny_tokenizer: Any, family: str, options: dict[str, Any]
) -> None:
    """Right past the window, and refused where they are to be cut, before anything was."""
    count = {"num_hidden_layers": len(options.get("layer_types", [0] * 3))}
    model = HuggingFaceModel(make_module(family, **count, **options), tiny_tokenizer, family)
    cache, text = model.new_cache(), some(40)
    theirs = [type(layer) for layer in DynamicCache(config=model.module.config).layers]
    found = [type(layer) for layer in cache.cache.layers]
    assert found == [GrowingLayer if kind is DynamicLayer else kind for kind in theirs]
    assert not all(kind is GrowingLayer for kind in found)
    parts = [read(model, cache, text[:, at : at + 1]) for at in range(30)]
    torch.testing.assert_close(torch.cat(parts, 1), anew(model, text[:, :30]), **CLOSE)
    for cut in (lambda: cache.crop(2), lambda: cache.keep([0, 2])):
        with pytest.raises(UserError) as caught:
            cut()
        assert caught.value.code == "cache_cannot_crop" and cache.length == 30
    cache.reorder([0, 0])
    two = text.expand(2, -1)
    parts = [read(model, cache, two[:, at : at + 1]) for at in range(30, 40)]
    torch.testing.assert_close(torch.cat(parts, 1), anew(model, two)[:, 30:], **CLOSE)


@pytest.mark.parametrize("family", ["llama", "gpt2", "qwen2"])
def test_every_layer_of_another_model_grows(make_module: Callable[..., Any], tiny_tokenizer: Any, family: str) -> None:
    model = HuggingFaceModel(make_module(family), tiny_tokenizer, family)
    cache = growing.new_cache(model.module.config)
    assert [type(layer) for layer in cache.layers] == [GrowingLayer] * 3


def test_nothing_gives_it_to_transformers_own_generate() -> None:
    """That one cuts and copies caches in ways of its own."""
    files = [ROOT / "app.py", *(ROOT / "decoding").rglob("*.py"), *(ROOT / "visualizations").rglob("*.py")]
    assert not [path.name for path in files if ".generate(" in path.read_text(encoding="utf-8")]

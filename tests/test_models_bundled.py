"""The bundled model: its cache of the conversion, the conversion itself, and the real SmolLM2."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from decoding.errors import UserError
from decoding.models import DEFAULT_HUB_ID, bundled, engines, huggingface, load
from decoding.models.convert import convert

# --- the cache, with a converter that writes three small files -------------------------------------


class Fake:
    """A converter that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, gguf: Path, folder: Path, progress: Any) -> None:
        self.calls += 1
        (folder / "config.json").write_text("{}")
        (folder / "tokenizer.json").write_text("[]")
        (folder / "model.safetensors").write_bytes(gguf.read_bytes() * 3)


@pytest.fixture
def gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DECODING_LAB_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights" * 1000)
    return path


def folders(gguf: Path) -> list[str]:
    return sorted(path.name for path in bundled.cache_root().iterdir() if path.is_dir())


def test_converted_once_then_found(gguf: Path) -> None:
    fake = Fake()
    folder = bundled.ensure(gguf, fake)
    assert bundled.ensure(gguf, fake) == folder and fake.calls == 1
    assert folder.parent == bundled.cache_root() and folders(gguf) == [folder.name]
    assert sorted(json.loads((folder / "manifest.json").read_text())["files"]) == [
        *("config.json", "model.safetensors", "tokenizer.json"),
    ]


def test_another_file_or_format_gets_another_folder(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = bundled.ensure(gguf, Fake())
    os.utime(gguf, (1, 1))  # the same bytes at another time are the same model
    assert bundled.ensure(gguf, Fake()) == first
    gguf.write_bytes(b"Weights" * 1000)
    second = bundled.ensure(gguf, Fake())
    monkeypatch.setattr(bundled, "FORMAT", bundled.FORMAT + 1)
    assert len({first, second, bundled.ensure(gguf, Fake())}) == 3


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "model.safetensors").write_bytes(b"half"),
        lambda folder: (folder / "model.safetensors").unlink(),
        lambda folder: (folder / "config.json").write_text("[]"),  # same size, other bytes
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text('{"files": '),
        lambda folder: (folder / "manifest.json").write_text('{"files": {}}'),
        lambda folder: (folder / "manifest.json").write_text('["files"]'),
        lambda folder: (folder / "manifest.json").write_bytes(b"\xff\x00"),
    ],
)
def test_a_broken_cache_heals(gguf: Path, harm: Callable[[Path], Any]) -> None:
    fake = Fake()
    folder = bundled.ensure(gguf, fake)
    harm(folder)
    assert not bundled.is_whole(folder)
    assert bundled.ensure(gguf, fake) == folder and fake.calls == 2
    assert bundled.is_whole(folder) and folders(gguf) == [folder.name]


def test_a_flipped_byte_near_either_end_of_a_large_file_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundled, "SAMPLE", 100)
    path = tmp_path / "large"
    for size in (50, 100, 101, 150, 200, 1000):
        whole = bytearray(os.urandom(size))
        path.write_bytes(whole)
        before = bundled.fingerprint(path)
        for at in {0, min(99, size - 1), max(size - 100, 0), size - 1}:
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            assert bundled.fingerprint(path) != before, (size, at)


def test_an_interrupted_conversion_leaves_nothing_and_is_made_again(gguf: Path) -> None:
    def dies(gguf: Path, folder: Path, progress: Any) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bundled.ensure(gguf, dies)
    assert folders(gguf) == []
    assert bundled.is_whole(bundled.ensure(gguf, Fake()))


@pytest.mark.parametrize("locks", [True, False])
def test_what_a_killed_conversion_left_is_removed(gguf: Path, monkeypatch: pytest.MonkeyPatch, locks: bool) -> None:
    """Under the lock nobody else can be at work; without locks, only what is old is surely nobody's."""
    from contextlib import nullcontext

    if not locks:
        monkeypatch.setattr(bundled, "_lock", lambda target: nullcontext(False))
    folder = bundled.ensure(gguf, Fake())
    old, fresh = (folder.with_name(f"{folder.name}.tmp-{name}") for name in ("old", "fresh"))
    for left in (old, fresh):
        left.mkdir()
        (left / "half").write_text("x")
    os.utime(old, (0, 0))
    bundled.ensure(gguf, Fake(), rebuild=True)
    assert folders(gguf) == sorted([folder.name, *([] if locks else [fresh.name])])
    old.mkdir()
    os.utime(old, (0, 0))
    bundled.ensure(gguf, Fake())  # which finds a whole folder, and has nothing to build
    assert old.name not in folders(gguf)


def test_two_at_once_convert_once(gguf: Path) -> None:
    class Slow(Fake):
        def __call__(self, *arguments: Any) -> None:
            threading.Event().wait(0.2)
            super().__call__(*arguments)

    slow = Slow()
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(bundled.ensure(gguf, slow))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert slow.calls == 1 and len(set(found)) == 1 and len(found) == 4 and bundled.is_whole(found[0])


def test_without_locks_the_last_rename_wins(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process finishes while ours converts: either copy is whole, and ours is not left about."""
    from contextlib import nullcontext

    monkeypatch.setattr(bundled, "_lock", lambda target: nullcontext(False))

    def overtaken(gguf: Path, folder: Path, progress: Any) -> None:
        Fake()(gguf, folder, progress)
        bundled.ensure(gguf, Fake())

    folder = bundled.ensure(gguf, overtaken)
    assert bundled.is_whole(folder) and folders(gguf) == [folder.name]


def test_a_cache_that_cannot_be_written(gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("DECODING_LAB_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(UserError, match=r"cannot hold the converted model \(Not a directory\): set DECODING_LAB_CACHE"):
        bundled.ensure(gguf, Fake())


def test_a_full_disk(gguf: Path) -> None:
    def full(gguf: Path, folder: Path, progress: Any) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(UserError, match=r"\(No space left on device\): set DECODING_LAB_CACHE to a folder with 1.5 GB"):
        bundled.ensure(gguf, full)
    assert folders(gguf) == []


def test_a_copy_that_does_not_load_is_made_again_once(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake, tried = Fake(), []
    monkeypatch.setattr(bundled, "_convert", fake)

    def load_model(source: str, name: str, *_: Any) -> str:
        tried.append(source)
        if len(tried) < 2:
            raise UserError("model_unusable", name=name, reason="torn")
        return "loaded"

    monkeypatch.setattr(huggingface, "load", load_model)
    assert bundled.load(gguf, "smollm2", device="cpu") == "loaded"
    assert fake.calls == 2 and len(tried) == 2

    def never(source: str, name: str, *_: Any) -> None:
        raise UserError("model_unusable", name=name, reason="torn")

    monkeypatch.setattr(huggingface, "load", never)
    with pytest.raises(UserError, match="torn"):
        bundled.load(gguf, "smollm2", device="cpu")
    assert fake.calls == 3
    with pytest.raises(UserError, match="device is 'gpu'"):
        bundled.load(gguf, "smollm2", device="gpu")
    assert fake.calls == 3


def test_without_the_package_the_hub_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(bundled, "PACKAGE", "no_such_package_here")
    monkeypatch.setattr(engines, "load", lambda *arguments: asked.append(arguments))
    assert bundled.find() is None
    load("smollm2", device="cpu")
    assert asked == [(DEFAULT_HUB_ID, "smollm2", "cpu", "auto", None, "auto", "auto")]


# --- the conversion, on a small GGUF made here -----------------------------------------------------


@pytest.fixture(scope="module")
def small_gguf(make_module: Any, write_gguf: Any, tmp_path_factory: Any) -> tuple[Path, Any]:
    module, path = make_module("llama"), tmp_path_factory.mktemp("gguf") / "small.gguf"
    write_gguf(module, path)
    return path, module


def test_conversion_gives_the_model_back(small_gguf: tuple[Path, Any], tiny_tokenizer: Any, tmp_path: Path) -> None:
    path, module = small_gguf
    told: list[tuple[str, float]] = []
    convert(path, tmp_path, lambda stage, done: told.append((stage, done)))
    assert told[0] == ("converting", 0.0) and told[-1] == ("converting", 1.0) and told == sorted(told)
    model: Any = load(str(tmp_path), device="cpu")
    for text in ("The sky is", "a\n\n1. b", "x  12", "😊 我很好"):
        ids = model.encode(text)
        assert ids == tiny_tokenizer(text, add_special_tokens=False).input_ids
        logits = model.forward(torch.tensor([ids]), model.new_cache()).logits
        assert torch.equal(logits, module(torch.tensor([ids])).logits)
    assert model.encode("hi", "chat") == tiny_tokenizer.apply_chat_template(
        [{"role": "user", "content": "hi"}], add_generation_prompt=True, return_dict=False
    )
    assert (model.end_ids, model.encode(""), model.info.context_length) == ({2}, [1], 256)


def test_another_kind_of_gguf_is_refused(small_gguf: tuple[Path, Any], tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(small_gguf[0].read_bytes().replace(b"smollm", b"qwen2_"))
    with pytest.raises(ValueError, match="is not a Llama-type model with SmolLM's tokenizer"):
        convert(other, tmp_path)


# --- the real model --------------------------------------------------------------------------------


def test_info(bundled_model: Any) -> None:
    info = bundled_model.info
    assert (info.name, info.vocab_size, info.context_length, info.dtype) == ("smollm2", 49152, 8192, "float32")
    assert bundled_model.has_chat_template
    assert [bundled_model.token(id).text for id in bundled_model.end_ids] == ["<|im_end|>"]
    assert bundled_model.encode("") == [1] and bundled_model.token(1).text == "<|im_start|>"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "😊",
            "我很好",
            "🇫🇷🇨🇳",
            "e\u0301 a\u0308",
            "שלום",
            "مرحبا بالعالم",
            "   lead",
            "trail\n\n\n",
            "\t\ttab\t",
            " ",
        ),
        *("\n", "👩‍👩‍👧‍👦", "\u200b", "1995 and  12\n\n3.", "a<b<c", "{{7*7}}", "<|im_end|>", "𝔘𝔫𝔦", "\x00\x7f"),
    ],
)
def test_round_trip(bundled_model: Any, text: str) -> None:
    ids = bundled_model.encode(text)
    assert bundled_model.decode(ids) == text
    assert b"".join(bundled_model.token(id).bytes for id in ids) == text.encode()
    assert not bundled_model.end_ids & set(ids)
    words = bundled_model.tokenization(text).words
    assert "".join(word.text for word in words) == text
    tokens = [token for word in words for token in (word.merges[-1].pieces if word.merges else word.start)]
    assert [token.id for token in tokens] == ids


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("in 1995", ["in", " ", "1", "9", "9", "5"]),
        ("x  12", ["x", "  ", "1", "2"]),  # the two spaces are one token because digits are split off first
        ("a\n\n1. b", ["a", "\n\n", "1", ".", " b"]),
        ("The capital of France is", ["The", " capital", " of", " France", " is"]),
        ("😊", ["⟨F0 9F⟩", "⟨98⟩", "⟨8A⟩"]),
    ],
)
def test_tokens_of_the_original(bundled_model: Any, text: str, pieces: list[str]) -> None:
    """SmolLM2's tokenizer.json: Digits(individual_digits=True), then ByteLevel with GPT-2's pattern."""
    assert [bundled_model.token(id).text for id in bundled_model.encode(text)] == pieces


def test_merges_of_a_word(bundled_model: Any) -> None:
    (word,) = bundled_model.tokenization(" capital").words
    assert [piece.text for piece in word.start] == [" ", *"capital"]
    assert [piece.text for piece in word.merges[0].pieces] == [" c", *"apital"]
    assert word.merges[-1].pieces == (bundled_model.token(bundled_model.encode(" capital")[0]),)
    ranks = [merge.rank for merge in word.merges]
    assert ranks[:2] == [13, 17] and len(ranks) == 7  # Ġ c, then i t


def test_chat(bundled_model: Any) -> None:
    assert bundled_model.decode(bundled_model.encode("hi", "chat")) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize(("text", "template"), [("The capital of France is", "raw"), ("What is 2+2?", "chat")])
def test_greedy_is_generate(bundled_model: Any, bundled_torch: Any, text: str, template: Any) -> None:
    ids = bundled_model.encode(text, template)
    whole = bundled_torch.module.generate(torch.tensor([ids]), do_sample=False, max_new_tokens=14)
    made = whole[0, len(ids) :].tolist()
    cache, tokens, found = bundled_model.new_cache(), torch.tensor([ids]), []
    while len(found) < 14 and not (found and found[-1] in bundled_model.end_ids):
        found.append(int(bundled_model.forward(tokens, cache, logits_to_keep=1).logits[0, -1].argmax()))
        tokens = torch.tensor([found[-1:]])
    assert found == made
    assert bundled_model.decode(found).startswith({"raw": " Paris.", "chat": "The answer"}[template])

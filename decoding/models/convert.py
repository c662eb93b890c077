"""A GGUF file of a Llama-type model with SmolLM's tokenizer, written as a transformers folder in float32.

Done here and not by transformers' GGUF loader: that one takes 30 s, leaves out SmolLM's rule that
every digit is a word of its own, and refuses to save what it loaded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from gguf import GGUFReader

    from decoding.models.protocol import Progress

NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""GGUF's names for the weights of a Llama, and transformers'."""

CONTROL = 3
"""GGUF's token type of special tokens."""


def convert(gguf: Path, folder: Path, progress: Progress | None = None) -> None:
    """Write model.safetensors, config.json, generation_config.json and the tokenizer into `folder`.

    Raises ValueError for a file of another architecture or another tokenizer.
    """
    from gguf import GGUFReader

    _report(progress, 0.0)
    reader = GGUFReader(gguf)
    fields = {name: field.contents() for name, field in reader.fields.items() if name != "tokenizer.ggml.scores"}
    if fields.get("general.architecture") != "llama" or fields.get("tokenizer.ggml.pre") != "smollm":
        raise ValueError(f"{gguf.name} is not a Llama-type model with SmolLM's tokenizer")
    _report(progress, 0.5)
    _write_json(folder / "config.json", _config(fields, tied="output.weight" not in {t.name for t in reader.tensors}))
    special = {name: fields[f"tokenizer.ggml.{key}_token_id"] for name, key in _SPECIAL.items()}
    _write_json(
        folder / "generation_config.json", {f"{name}_token_id": special[name] for name in ("bos", "eos", "pad")}
    )
    _write_tokenizer(fields, folder)
    _write_weights(reader, fields, folder, progress)
    _report(progress, 1.0)


_SPECIAL = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}


def _config(fields: dict[str, Any], tied: bool) -> dict[str, Any]:
    value = {name.removeprefix("llama."): field for name, field in fields.items()}
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(fields["tokenizer.ggml.tokens"]),
        "hidden_size": value["embedding_length"],
        "intermediate_size": value["feed_forward_length"],
        "num_hidden_layers": value["block_count"],
        "num_attention_heads": value["attention.head_count"],
        "num_key_value_heads": value["attention.head_count_kv"],
        "max_position_embeddings": value["context_length"],
        "rms_norm_eps": value["attention.layer_norm_rms_epsilon"],
        "rope_theta": value["rope.freq_base"],
        "tie_word_embeddings": tied,
        "bos_token_id": value["tokenizer.ggml.bos_token_id"],
        "eos_token_id": value["tokenizer.ggml.eos_token_id"],
        "pad_token_id": value["tokenizer.ggml.padding_token_id"],
        "dtype": "float32",
    }


def _write_tokenizer(fields: dict[str, Any], folder: Path) -> None:
    """SmolLM's byte-level BPE: split off every single digit, then GPT-2's pattern."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ", 1)) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: id for id, token in enumerate(tokens)}, merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, words])
    tokenizer.decoder = decoders.ByteLevel()
    kinds = fields["tokenizer.ggml.token_type"]
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in control])
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {f"{name}_token": tokens[fields[f"tokenizer.ggml.{key}_token_id"]] for name, key in _SPECIAL.items()}
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "chat_template": fields["tokenizer.chat_template"],
            "clean_up_tokenization_spaces": False,
            "model_max_length": fields["llama.context_length"],
            **special,
        },
    )


def _write_weights(reader: GGUFReader, fields: dict[str, Any], folder: Path, progress: Progress | None) -> None:
    import numpy as np
    from gguf import dequantize
    from safetensors.numpy import save_file

    heads = {"attn_q": fields["llama.attention.head_count"], "attn_k": fields["llama.attention.head_count_kv"]}
    weights = {}
    for number, tensor in enumerate(reader.tensors):
        kind = tensor.name.split(".")[-2]
        weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
        weights[transformers_name(tensor.name)] = (
            unpermute(weight, heads[kind]) if kind in heads else np.ascontiguousarray(weight)
        )
        _report(progress, 0.5 + 0.4 * (number + 1) / len(reader.tensors))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def transformers_name(name: str) -> str:
    """blk.3.attn_q.weight -> model.layers.3.self_attn.q_proj.weight"""
    *block, kind, suffix = name.split(".")
    layer = f"model.layers.{block[1]}." if block else ""
    return f"{layer}{NAMES[kind]}.{suffix}"


def unpermute(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a query or key projection from GGUF's order (rotary pairs side by side) to transformers' (in halves)."""
    import numpy as np

    rows = weight.reshape(heads, -1, 2, *weight.shape[1:])
    return np.ascontiguousarray(rows.swapaxes(1, 2).reshape(weight.shape))


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")


def _report(progress: Progress | None, fraction: float) -> None:
    if progress is not None:
        progress("converting", fraction)

"""The sizes of a Llama-type model, read from a transformers config: what a graph of it is built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FAMILIES = ("llama", "qwen2", "qwen3")
ROTARY_TYPES = ("default", "linear", "llama3", "yarn")
"""Kinds of rotary embedding whose angles are the same whatever the length of the text."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """The sizes of a Llama-type model. `head_norm`: an RMS norm on each query and key head (Qwen 3)."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    epsilon: float
    head_norm: bool
    tied: bool

    @classmethod
    def of(cls, config: Any) -> Architecture | None:
        """The architecture a transformers config describes; None for one that this graph is not."""
        if config.model_type not in FAMILIES or not _is_plain(config):
            return None
        heads = int(config.num_attention_heads)
        head_size = int(getattr(config, "head_dim", None) or config.hidden_size // heads)
        if head_size % 16:  # the attention operator's own limit
            return None
        return cls(
            layers=int(config.num_hidden_layers),
            hidden=int(config.hidden_size),
            heads=heads,
            kv_heads=int(getattr(config, "num_key_value_heads", None) or heads),
            head_size=head_size,
            vocabulary=int(config.vocab_size),
            epsilon=float(config.rms_norm_eps),
            head_norm=config.model_type == "qwen3",
            tied=bool(config.tie_word_embeddings),
        )


def _is_plain(config: Any) -> bool:
    """No sliding windows, no quantised weights, SiLU, and rotary angles that do not depend on the length."""
    rotary = getattr(config, "rope_parameters", None) or {}
    return (
        config.hidden_act == "silu"
        and getattr(config, "quantization_config", None) is None
        and not getattr(config, "use_sliding_window", False)
        and set(getattr(config, "layer_types", None) or ()) <= {"full_attention"}
        and rotary.get("rope_type", "default") in ROTARY_TYPES
        and float(rotary.get("partial_rotary_factor", 1.0)) == 1.0
    )

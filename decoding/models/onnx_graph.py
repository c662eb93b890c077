"""The ONNX graph of a Llama-type model, written node by node; its weights go to one file beside it.

Shapes: B batch, T new tokens, S all tokens, R = B*T rows. Between embedding and output all is (R, width);
only attention sees (B, T, width). One graph serves prompts, single tokens, batches and trees: the caller
gives each token's position and an additive bias on the attention scores.

`GroupQueryAttention`, `MatMulNBits`, `SimplifiedLayerNormalization` (RMS norm) and `QuickGelu` (x sigmoid(a x))
are ONNX Runtime's own operators: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from decoding.models.architecture import Architecture
from decoding.models.blocks import BLOCK, Blocks, Weight
from decoding.models.onnx_file import DATA, GRAPH, Graph

Weights = Callable[[str], Weight | None]
"""A weight by the name transformers gives it; None where the model has none of that name."""


class Decoder:
    """Writes a model of this architecture into a graph."""

    def __init__(self, graph: Graph, arch: Architecture, weights: Weights, accuracy: int) -> None:
        self._graph, self._arch, self._weights, self._accuracy = graph, arch, weights, accuracy
        self._ragged = has_counts()

    def write(self, cosines: np.ndarray, sines: np.ndarray, done: Callable[[float], None]) -> None:
        """All nodes, from `tokens` to `logits`. `cosines`, `sines`: (positions, head size / 2)."""
        graph, arch = self._graph, self._arch
        self._rotary = graph.constant(cosines), graph.constant(sines)
        self._batch_shape = graph.op("Concat", graph.op("Shape", "tokens"), graph.integers(-1), axis=0)
        embedding = self._weight("model.embed_tokens")
        stream = self._embed(embedding)
        normed = graph.norm(stream, self._vector("model.layers.0.input_layernorm"), arch.epsilon)
        for layer in range(arch.layers):
            normed, stream = self._layer(layer, normed, stream)
            done((layer + 1) / (arch.layers + 1))
        graph.op("Identity", normed, outputs=[hidden_name(arch.layers)])
        asked = graph.op("Gather", normed, "asked", axis=0)
        self._product(asked, embedding if arch.tied else self._weight("lm_head"), outputs=["logits"])
        done(1.0)

    def _embed(self, embedding: Weight) -> str:
        """Rows of the embedding, (R, hidden)."""
        graph = self._graph
        flat = graph.op("Reshape", "tokens", graph.integers(-1))
        if not (isinstance(embedding, Blocks) and embedding.bits == 8):
            table = embedding.matrix() if isinstance(embedding, Blocks) else embedding
            return graph.op("Gather", graph.constant(table), flat, axis=0, outputs=[hidden_name(0)])
        codes = graph.op("Gather", graph.constant(embedding.codes), flat, axis=0)
        scales = graph.op("Gather", graph.constant(embedding.scales), flat, axis=0)
        centred = graph.op(
            "Sub", graph.op("Cast", codes, to=TensorProto.FLOAT), graph.constant(np.array([128], np.float32))
        )
        rows = graph.op("Mul", centred, graph.op("Unsqueeze", scales, graph.integers(-1)))
        return graph.op("Reshape", rows, graph.integers(-1, self._arch.hidden), outputs=[hidden_name(0)])

    # A layer

    def _layer(self, number: int, normed: str, stream: str) -> tuple[str, str]:
        """Attention and feed-forward, each added to the stream; the next norm of the sum, and the sum."""
        last = number + 1 == self._arch.layers
        name = f"model.layers.{number}."
        following = "model.norm" if last else f"model.layers.{number + 1}.input_layernorm"
        attended = self._linear(self._attention(number, normed), name + "self_attn.o_proj")
        normed, stream = self._add_norm(attended, stream, name + "post_attention_layernorm", f"attended.{number}")
        fed = self._linear(self._gated(name, normed), name + "mlp.down_proj")
        sum_name = f"stream.{number + 1}" if last else hidden_name(number + 1)
        return self._add_norm(fed, stream, following, sum_name)

    def _add_norm(self, value: str, stream: str, norm: str, sum_name: str) -> tuple[str, str]:
        scale = self._graph.constant(self._vector(norm))
        names = [sum_name + ".normed", "", "", sum_name]
        epsilon = self._arch.epsilon
        normed = self._graph.ours(
            "SkipSimplifiedLayerNormalization", value, stream, scale, outputs=names, epsilon=epsilon
        )
        return normed, sum_name

    def _attention(self, number: int, normed: str) -> str:
        """(R, heads * head size). Keys and values are appended to the buffers of this layer."""
        graph, arch = self._graph, self._arch
        prefix = f"model.layers.{number}.self_attn."
        joined = self._linear(normed, *(f"{prefix}{part}_proj" for part in "qkv"))
        parts = [graph.op("Reshape", joined, self._batch_shape), "", ""]
        if arch.head_norm:
            sizes = [arch.heads * arch.head_size, *[arch.kv_heads * arch.head_size] * 2]
            parts = [f"{prefix}{part}" for part in "qkv"]
            graph.op("Split", joined, graph.integers(*sizes), axis=-1, outputs=parts)
            for at, part in enumerate("qk"):
                parts[at] = self._norm_heads(parts[at], prefix + part + "_norm")
            parts = [graph.op("Reshape", part, self._batch_shape) for part in parts]
        names = [f"{prefix}out", *(f"present.{number}.{kind}" for kind in ("key", "value"))]
        attended = graph.ours(
            *("GroupQueryAttention", *parts, f"past.{number}.key", f"past.{number}.value", "seen", "total"),
            *(*self._rotary, "positions", "bias"),
            *(["", "", "", "", "", "counts"] if self._ragged else []),
            outputs=names,
            num_heads=arch.heads,
            kv_num_heads=arch.kv_heads,
            do_rotary=1,
        )
        return graph.op("Reshape", attended, graph.integers(-1, arch.heads * arch.head_size))

    def _norm_heads(self, value: str, norm: str) -> str:
        by_head = self._graph.op("Reshape", value, self._graph.integers(-1, self._arch.head_size))
        return self._graph.norm(by_head, self._vector(norm), self._arch.epsilon)

    def _gated(self, name: str, normed: str) -> str:
        """silu(gate) * up."""
        graph = self._graph
        joined = self._linear(normed, name + "mlp.gate_proj", name + "mlp.up_proj")
        gate, up = f"{name}gate", f"{name}up"
        graph.op("Split", joined, axis=-1, num_outputs=2, outputs=[gate, up])
        return graph.op("Mul", graph.ours("QuickGelu", gate, alpha=1.0), up)

    # Products

    def _linear(self, value: str, *names: str) -> str:
        """value W^T + b for the weights of these names, side by side in one product where they are of one kind."""
        weights = [self._weight(name) for name in names]
        biases = [self._weights(name + ".bias") for name in names]
        if len({w.kind if isinstance(w, Blocks) else None for w in weights}) > 1:
            return self._graph.op("Concat", *(self._linear(value, name) for name in names), axis=-1)
        bias = None
        if any(each is not None for each in biases):
            parts = zip(weights, biases, strict=True)
            bias = np.concatenate([np.zeros(w.shape[0], np.float32) if b is None else b for w, b in parts])
        blocks = [each for each in weights if isinstance(each, Blocks)]
        matrices = [each for each in weights if not isinstance(each, Blocks)]
        joined: Weight = Blocks.concatenate(blocks) if blocks else np.concatenate(matrices)
        return self._product(value, joined, bias)

    def _product(self, value: str, weight: Weight, bias: np.ndarray | None = None, outputs: Sequence[str] = ()) -> str:
        graph = self._graph
        if isinstance(weight, Blocks):
            return self._blocks_product(value, weight, bias, outputs)
        matrix = graph.factor(weight.T)
        if bias is None:
            return graph.op("MatMul", value, matrix, outputs=outputs)
        return graph.op("Gemm", value, matrix, graph.constant(bias), outputs=outputs)

    def _blocks_product(self, value: str, blocks: Blocks, bias: np.ndarray | None, outputs: Sequence[str]) -> str:
        """x W^T with w = scale (code - middle) + offset, exactly, in two products.

        The first is the runtime's own, whose zero point is the middle of the codes. The second is
        (sums of x over each block) x offsets, 1/32 as large.
        """
        graph = self._graph
        product = graph.ours(
            *("MatMulNBits", value, graph.factor(blocks.packed()), graph.factor(blocks.scales)),
            *(("", "", graph.constant(bias)) if bias is not None else ()),
            outputs=outputs if blocks.offsets is None else (),
            K=blocks.shape[1],
            N=blocks.shape[0],
            bits=blocks.bits,
            block_size=BLOCK,
            accuracy_level=self._accuracy,
        )
        if blocks.offsets is None:
            return product
        by_block = graph.op("Reshape", value, graph.integers(-1, blocks.shape[1] // BLOCK, BLOCK))
        sums = graph.op("ReduceSum", by_block, graph.integers(2), keepdims=0)
        return graph.op("Gemm", sums, graph.factor(blocks.offsets.T), product, outputs=outputs)

    def _weight(self, name: str) -> Weight:
        weight = self._weights(name + ".weight")
        assert weight is not None, name
        return weight

    def _vector(self, name: str) -> np.ndarray:
        weight = self._weight(name)
        assert isinstance(weight, np.ndarray)
        return weight


@cache
def has_counts() -> bool:
    """Whether this runtime's attention takes the number of new tokens of each row, and so batches of several."""
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

    schemas = [each for each in get_all_operator_schema() if each.name == "GroupQueryAttention"]
    return any(each.name == "query_seqlens" for schema in schemas for each in schema.inputs)


def hidden_name(layer: int) -> str:
    """The output with the hidden state after so many layers: 0 the embedding, the last one after the final norm."""
    return f"hidden.{layer}"


def write(
    folder: Path,
    arch: Architecture,
    weights: Weights,
    rotary: tuple[np.ndarray, np.ndarray],
    accuracy: int = 0,
    done: Callable[[float], None] = lambda fraction: None,
) -> None:
    """Write GRAPH and DATA into `folder`. `accuracy`: of MatMulNBits; 0 computes in float32, 4 with 8-bit inputs."""
    with (folder / DATA).open("wb") as data:
        graph = Graph(data)
        Decoder(graph, arch, weights, accuracy).write(*rotary, done)
    integer, number = TensorProto.INT64, TensorProto.FLOAT
    buffer = ["batch", arch.kv_heads, "capacity", arch.head_size]
    buffers = [(layer, kind) for layer in range(arch.layers) for kind in ("key", "value")]
    inputs = [
        helper.make_tensor_value_info("tokens", integer, ["batch", "new"]),
        helper.make_tensor_value_info("positions", integer, ["batch", "new"]),
        helper.make_tensor_value_info("bias", number, ["bias_batch", 1, "new", "all"]),
        helper.make_tensor_value_info("seen", TensorProto.INT32, ["batch"]),
        helper.make_tensor_value_info("total", TensorProto.INT32, []),
        helper.make_tensor_value_info("asked", integer, ["asked"]),
        *([helper.make_tensor_value_info("counts", TensorProto.INT32, ["batch"])] if has_counts() else []),
        *(helper.make_tensor_value_info(f"past.{layer}.{kind}", number, buffer) for layer, kind in buffers),
    ]
    outputs = [
        helper.make_tensor_value_info("logits", number, ["asked", arch.vocabulary]),
        *(helper.make_tensor_value_info(f"present.{layer}.{kind}", number, buffer) for layer, kind in buffers),
        *(helper.make_tensor_value_info(hidden_name(n), number, ["rows", arch.hidden]) for n in range(arch.layers + 1)),
    ]
    graph.save(folder / GRAPH, inputs, outputs)

"""An ONNX graph in the making: nodes, and constants that go to a file beside it as they come."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
from onnx import TensorProto, helper

GRAPH, DATA = "model.onnx", "weights.bin"
PAGE = 4096
"""Constants start at multiples of this many bytes in the file, so that it can be mapped."""
INLINE_BYTES = 1024
"""Smaller constants stay in the graph."""
OPSET, IR_VERSION = 18, 9
RUNTIME = "com.microsoft"
READ_BYTES = "read_bytes"
"""Name of the entry that says how many bytes of weights every run reads."""


class Graph:
    """Nodes and constants in the making. Every method that adds something returns the name of its value.

    `read_bytes` counts the factors of products: all weights that every run reads, but for norms.
    """

    def __init__(self, data: BinaryIO) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.read_bytes = 0
        self._data = data
        self._small: dict[tuple[bytes, str, tuple[int, ...]], str] = {}

    def op(self, kind: str, *inputs: str, outputs: Sequence[str] = (), domain: str = "", **attributes: Any) -> str:
        """One node; an empty input is one left out. Its first output, named `outputs[0]` where given."""
        names = list(outputs) or [f"v{len(self.nodes)}"]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0]

    def ours(self, kind: str, *inputs: str, outputs: Sequence[str] = (), **attributes: Any) -> str:
        """A node of ONNX Runtime's own operators."""
        return self.op(kind, *inputs, outputs=outputs, domain=RUNTIME, **attributes)

    def constant(self, value: np.ndarray) -> str:
        """A constant; a small one is kept in the graph and shared, a large one goes to the file."""
        value = np.ascontiguousarray(value)
        key = (value.tobytes(), value.dtype.str, value.shape) if value.nbytes <= INLINE_BYTES else None
        if key in self._small:
            return self._small[key]
        name = f"c{len(self.constants)}"
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        if key is not None:
            self._small[key] = name
            self.constants.append(helper.make_tensor(name, kind, value.shape, key[0], raw=True))
            return name
        tensor = TensorProto(name=name, data_type=kind, dims=value.shape, data_location=TensorProto.EXTERNAL)
        self._data.write(b"\0" * (-self._data.tell() % PAGE))
        for field, text in (("location", DATA), ("offset", self._data.tell()), ("length", value.nbytes)):
            tensor.external_data.add(key=field, value=str(text))
        self._data.write(value.data)
        self.constants.append(tensor)
        return name

    def factor(self, value: np.ndarray) -> str:
        """A constant that a product multiplies by."""
        self.read_bytes += value.nbytes
        return self.constant(value)

    def integers(self, *values: int) -> str:
        """A constant of int64: a shape, an axis."""
        return self.constant(np.array(values, np.int64))

    def norm(self, value: str, weight: np.ndarray, epsilon: float) -> str:
        """RMS norm over the last axis: x / sqrt(mean x^2 + epsilon) * weight."""
        scale = self.constant(weight)
        return self.op("SimplifiedLayerNormalization", value, scale, axis=-1, epsilon=epsilon, stash_type=1)

    def save(self, path: Path, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]) -> None:
        """Write the graph. Its constants are in the data file already."""
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="decoding-lab")
        helper.set_model_props(model, {READ_BYTES: str(self.read_bytes)})
        path.write_bytes(model.SerializeToString())

"""A small writer of ONNX graphs: operations return the name of their result."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from retrieval.embedding.protocol import Vectors

# The first opset with Gelu (20; LayerNormalization came with 17), and the IR version of its time:
# onnx writes its newest by default, which the onnxruntime of the same day often cannot read yet.
_OPSET = 20
_IR_VERSION = 9


class Graph:
    """Collects operations and constants, then gives them back as a model."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, values: npt.NDArray[np.generic] | Vectors) -> str:
        """Store an array once under a name."""
        if name not in self._constants:
            tensor = numpy_helper.from_array(np.ascontiguousarray(values), name)
            self._constants[name] = tensor
        return name

    def integers(self, *values: int) -> str:
        """Store a list of integers: axes, shapes, sizes."""
        name = "integers_" + "_".join(map(str, values))
        return self.constant(name, np.array(values, dtype=np.int64))

    def number(self, value: float) -> str:
        """Store a single float."""
        return self.constant(f"number_{value}", np.array([value], dtype=np.float32))

    def op(self, kind: str, *inputs: str, **attributes: float | list[int]) -> str:
        """Add an operation with one result."""
        result = f"{kind}_{len(self._nodes)}"
        node = helper.make_node(kind, inputs, [result])
        node.attribute.extend(helper.make_attribute(*pair) for pair in attributes.items())
        self._nodes.append(node)
        return result

    def split(self, joined: str, sizes: Sequence[int]) -> list[str]:
        """Cut the last axis into parts."""
        parts = [f"Split_{len(self._nodes)}_{part}" for part in range(len(sizes))]
        inputs = [joined, self.integers(*sizes)]
        self._nodes.append(helper.make_node("Split", inputs, parts, axis=-1))
        return parts

    def model(self, result: str, dimensions: int) -> onnx.ModelProto:
        """Close the graph: token ids and their mask go in, one vector per text comes out."""
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info(result, TensorProto.FLOAT, ["batch", dimensions])
        graph = helper.make_graph(
            self._nodes, "sentence-encoder", inputs, [output], list(self._constants.values())
        )
        opset = helper.make_opsetid("", _OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)

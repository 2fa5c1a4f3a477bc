"""MiniLM's weights as an ONNX graph, built with onnx and numpy alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from retrieval.embedding.graph import Graph
from retrieval.embedding.protocol import EmbedderError, Vectors
from retrieval.embedding.weights import ModelFiles, read_tensors

# Added to the score of a padding token. The scores are in the tens and exp underflows to zero in
# float32 below -104, so a padding token's share is exactly zero and cannot change a vector.
_MASKED = -1e9


@dataclass(frozen=True)
class BertShape:
    """The sizes of a BERT encoder."""

    layers: int
    hidden: int
    heads: int
    epsilon: float

    @classmethod
    def read(cls, path: Path) -> "BertShape":
        """Read the sizes from a config.json."""
        config = json.loads(path.read_text(encoding="utf-8"))
        # Transformers calls the exact (erf) form "gelu"; any other name is another function.
        if (config["model_type"], config["hidden_act"]) != ("bert", "gelu"):
            raise EmbedderError(f"{path} does not describe a BERT encoder with exact gelu.")
        return cls(
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            heads=config["num_attention_heads"],
            epsilon=config["layer_norm_eps"],
        )


def converted(files: ModelFiles) -> bytes:
    """Convert the weights into a serialised ONNX model from token ids to unit vectors."""
    shape = BertShape.read(files.config)
    serialised: bytes = _Encoder(shape, read_tensors(files.weights)).model().SerializeToString()
    return serialised


class _Encoder:
    """Writes the layers of one encoder into a graph; the tensors keep the names they came with."""

    def __init__(self, shape: BertShape, tensors: Mapping[str, Vectors]) -> None:
        self._shape = shape
        self._tensors = tensors
        self._graph = Graph()

    def model(self) -> onnx.ModelProto:
        graph = self._graph
        mask = graph.op("Cast", "attention_mask", to=onnx.TensorProto.FLOAT)
        ignored = self._ignored(mask)
        state = self._embeddings()
        for layer in range(self._shape.layers):
            state = self._layer(state, ignored, f"encoder.layer.{layer}.")
        return graph.model(self._pooled(state, mask), self._shape.hidden)

    def _embeddings(self) -> str:
        graph, tensors = self._graph, self._tensors
        words = graph.constant("words", tensors["embeddings.word_embeddings.weight"])
        # Every text is a single segment, so the first segment's embedding is part of the position.
        positions = graph.constant(
            "positions",
            tensors["embeddings.position_embeddings.weight"]
            + tensors["embeddings.token_type_embeddings.weight"][0],
        )
        length = graph.op("Shape", "input_ids", start=1, end=2)
        used = graph.op("Slice", positions, graph.integers(0), length, graph.integers(0))
        state = graph.op("Add", graph.op("Gather", words, "input_ids"), used)
        return self._normalised(state, "embeddings.LayerNorm")

    def _ignored(self, mask: str) -> str:
        graph = self._graph
        padding = graph.op("Sub", graph.number(1.0), mask)
        scores = graph.op("Mul", padding, graph.number(_MASKED))
        return graph.op("Unsqueeze", scores, graph.integers(1, 2))

    def _layer(self, state: str, ignored: str, prefix: str) -> str:
        graph = self._graph
        attended = self._dense(
            self._attention(state, ignored, prefix + "attention.self."),
            prefix + "attention.output.dense",
        )
        state = self._normalised(
            graph.op("Add", state, attended), prefix + "attention.output.LayerNorm"
        )
        inner = graph.op("Gelu", self._dense(state, prefix + "intermediate.dense"))
        outer = self._dense(inner, prefix + "output.dense")
        return self._normalised(graph.op("Add", state, outer), prefix + "output.LayerNorm")

    def _attention(self, state: str, ignored: str, prefix: str) -> str:
        graph, hidden = self._graph, self._shape.hidden
        joined = self._projections(state, prefix)
        parts = graph.split(joined, [hidden, hidden, hidden])
        query, key, value = (self._per_head(part) for part in parts)
        scores = graph.op("MatMul", query, graph.op("Transpose", key, perm=[0, 1, 3, 2]))
        shares = graph.op("Softmax", graph.op("Add", scores, ignored), axis=-1)
        mixed = graph.op("Transpose", graph.op("MatMul", shares, value), perm=[0, 2, 1, 3])
        return graph.op("Reshape", mixed, graph.integers(0, 0, hidden))

    def _projections(self, state: str, prefix: str) -> str:
        # One product for queries, keys and values; the scale of the scores goes into the queries.
        scale = np.float32(1.0 / np.sqrt(self._shape.hidden / self._shape.heads))
        roles = (("query", scale), ("key", np.float32(1.0)), ("value", np.float32(1.0)))
        weight = [self._tensors[f"{prefix}{role}.weight"].T * factor for role, factor in roles]
        bias = [self._tensors[f"{prefix}{role}.bias"] * factor for role, factor in roles]
        graph = self._graph
        weights = graph.constant(prefix + "weight", np.concatenate(weight, axis=1))
        product = graph.op("MatMul", state, weights)
        return graph.op("Add", product, graph.constant(prefix + "bias", np.concatenate(bias)))

    def _per_head(self, part: str) -> str:
        heads = self._shape.heads
        size = self._shape.hidden // heads
        split = self._graph.op("Reshape", part, self._graph.integers(0, 0, heads, size))
        return self._graph.op("Transpose", split, perm=[0, 2, 1, 3])

    def _dense(self, state: str, prefix: str) -> str:
        graph = self._graph
        weight = graph.constant(prefix + ".weight", self._tensors[prefix + ".weight"].T)
        bias = graph.constant(prefix + ".bias", self._tensors[prefix + ".bias"])
        return graph.op("Add", graph.op("MatMul", state, weight), bias)

    def _normalised(self, state: str, prefix: str) -> str:
        graph = self._graph
        scale = graph.constant(prefix + ".weight", self._tensors[prefix + ".weight"])
        bias = graph.constant(prefix + ".bias", self._tensors[prefix + ".bias"])
        return graph.op(
            "LayerNormalization", state, scale, bias, axis=-1, epsilon=self._shape.epsilon
        )

    def _pooled(self, state: str, mask: str) -> str:
        # The mean over real tokens; there are always two of them, [CLS] and [SEP].
        graph = self._graph
        axis = graph.integers(1)
        real = graph.op("Mul", state, graph.op("Unsqueeze", mask, graph.integers(2)))
        total = graph.op("ReduceSum", real, axis, keepdims=0)
        mean = graph.op("Div", total, graph.op("ReduceSum", mask, axis, keepdims=1))
        return graph.op("Div", mean, graph.op("ReduceL2", mean, axis, keepdims=1))

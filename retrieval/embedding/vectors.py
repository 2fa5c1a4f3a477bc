"""The small rules on texts and rows that all embedders share."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from retrieval.embedding.protocol import EmbedderError, Vectors


def no_rows(dimensions: int) -> Vectors:
    """Return the answer to no texts."""
    return np.empty((0, dimensions), dtype=np.float32)


def well_formed(texts: Sequence[str]) -> list[str]:
    """Return the texts with lone surrogates replaced, which JSON can carry and UTF-8 cannot."""
    return [text.encode("utf-8", errors="replace").decode("utf-8") for text in texts]


def unit_rows(rows: npt.ArrayLike) -> Vectors:
    """Scale each row to length one, and refuse rows that have no direction."""
    wide = np.asarray(rows, dtype=np.float64)
    largest = np.abs(wide).max(axis=1, keepdims=True)
    if not np.all(np.isfinite(largest)) or np.any(largest == 0.0):
        raise EmbedderError("The embedder returned a vector that is zero or not finite.")
    # The largest component becomes one first: squares of huge ones overflow, of tiny ones vanish.
    scaled = wide / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True), dtype=np.float32)

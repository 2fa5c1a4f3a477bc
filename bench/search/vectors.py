"""The project's own embeddings of all texts, made once and kept for the next run."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from bench.progress import Advance
from bench.search.corpus import Corpus
from retrieval.embedding import Embedder
from retrieval.embedding.protocol import Vectors

CHUNK = 512
BLOCK = 10_000
"""Texts to a file: a run that is interrupted has lost no more than these."""


async def embedded(
    texts: Sequence[str], embedder: Embedder, folder: Path, advance: Advance
) -> Vectors:
    """Return the texts' vectors, from the folder as far as they were embedded before."""
    folder.mkdir(parents=True, exist_ok=True)
    blocks = []
    for start in range(0, len(texts), BLOCK):

        def tell(done: int, start: int = start) -> None:
            advance("embedding, once", start + done, len(texts))

        blocks.append(await _block(texts[start : start + BLOCK], embedder, folder, tell))
    return np.concatenate(blocks)


async def _block(
    texts: Sequence[str], embedder: Embedder, folder: Path, tell: Callable[[int], None]
) -> Vectors:
    key = hashlib.sha256("\0".join([embedder.name, *texts]).encode()).hexdigest()[:24]
    file = folder / f"{key}.npy"
    if file.exists():
        return np.asarray(np.load(file), np.float32)
    rows = []
    for start in range(0, len(texts), CHUNK):
        rows.append(await embedder.embed(texts[start : start + CHUNK]))
        tell(min(start + CHUNK, len(texts)))
    vectors: Vectors = np.concatenate(rows).astype(np.float32)
    half = file.with_suffix(f".{os.getpid()}.npy")
    np.save(half, vectors)
    half.replace(file)
    return vectors


class Precomputed:
    """An embedder that looks texts up, so that no time of the real one is in what it is part of."""

    def __init__(self, name: str, texts: Sequence[str], vectors: Vectors) -> None:
        self.name = name
        self.dimensions = vectors.shape[1]
        self._row = {text: row for row, text in enumerate(texts)}
        self._vectors = vectors

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts that were embedded before."""
        found: Vectors = self._vectors[[self._row[text] for text in texts]]
        return found

    def of(self, text: str) -> Vectors:
        """Return the vector of one text."""
        row: Vectors = self._vectors[self._row[text]]
        return row

    async def close(self) -> None:
        """Nothing is held."""


async def precomputed(
    corpus: Corpus, embedder: Embedder, folder: Path, advance: Advance
) -> Precomputed:
    """Embed all texts of a corpus."""
    contents = [item.content or "" for item in corpus.items]
    asked = [question.text for question in corpus.questions]
    vectors = [await embedded(texts, embedder, folder, advance) for texts in (contents, asked)]
    return Precomputed(embedder.name, [*contents, *asked], np.concatenate(vectors))

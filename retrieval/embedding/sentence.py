"""Any model of the sentence-transformers library, which is an optional extra."""

import asyncio
import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from retrieval.embedding.protocol import EmbedderError, Vectors
from retrieval.embedding.vectors import no_rows, unit_rows, well_formed

# The library looks names without an owner up under this one, so both spellings are one space.
_DEFAULT_OWNER = "sentence-transformers/"

# The library's own 32 pads every text of a call to the longest: with MiniLM on two cores, calls of
# 16 mixed texts run at 67 texts/s with 32, 102 with 8, 126 with 4 and 115 with 2.
_BATCH = 4


class SentenceEmbedder:
    """Encodes with a sentence-transformers model in one worker thread."""

    def __init__(self, name: str, model: Any) -> None:
        self._name = name.removeprefix(_DEFAULT_OWNER)
        self._model = model
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sentence")
        self._closed = False
        # Asked by encoding: the method that tells it was renamed between releases.
        self._dimensions = int(self._rows(["probe"]).shape[1])

    @property
    def name(self) -> str:
        """The vector space."""
        return self._name

    @property
    def dimensions(self) -> int:
        """The length of each vector."""
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length per text."""
        if self._closed:
            raise EmbedderError(f"The embedder {self._name} is closed.")
        if not texts:
            return no_rows(self._dimensions)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._rows, list(texts))

    async def close(self) -> None:
        """Wait for the worker thread to finish."""
        self._closed = True
        await asyncio.to_thread(self._worker.shutdown)

    def _rows(self, texts: list[str]) -> Vectors:
        rows = self._model.encode(
            well_formed(texts),
            batch_size=_BATCH,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        # Again in our own arithmetic: models in half precision come back a little off one.
        return unit_rows(rows)


def load_sentence_model(
    model: str, cache_dir: Path, progress: Callable[[str], None]
) -> SentenceEmbedder:
    """Load a model by name or folder, downloading it into the cache if it is not there."""
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise EmbedderError(
            "The embedder sentence-transformers needs an extra: run"
            " `uv sync --extra sentence-transformers`"
            " or `pip install 'memstream[sentence-transformers]'`."
        ) from error
    progress(f"loading {model}")
    try:
        return SentenceEmbedder(
            model, library.SentenceTransformer(model, cache_folder=str(cache_dir))
        )
    # What the library raises for an unknown model, a missing network or a broken folder.
    except (OSError, ValueError, RuntimeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EmbedderError(f"The model {model} cannot be loaded: {reason}") from error

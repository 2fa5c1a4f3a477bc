"""Embedders: texts in, unit vectors out."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from retrieval.embedding.batching import BatchingEmbedder, BatchLimit
from retrieval.embedding.protocol import (
    Embedder,
    EmbedderError,
    EmbedderUnavailableError,
    Vectors,
)

__all__ = ["Embedder", "EmbedderError", "EmbedderUnavailableError", "Vectors", "open_embedder"]

_SENTENCE = "sentence-transformers:"

# Two cores embed some 7,000 tokens a second. 16 memories of 30 tokens, or 4,096 characters (about
# 1,000 tokens) of longer ones, are 0.07 to 0.15 s of work: what a query can find ahead of it. That
# has a price: MiniLM runs 207 texts/s in calls of 16, 226 in calls of 64 and 251 in calls of 300,
# where more texts have a neighbour of their own length.
_LOCAL_LIMIT = BatchLimit(texts=16, characters=4_096)
# 32 texts is what text-embeddings-inference takes by default, the least of the common servers; with
# 128 KiB of text a request stays under the 300,000 tokens that OpenAI allows.
_HTTP_LIMIT = BatchLimit(texts=32, characters=131_072)


async def open_embedder(
    spec: str,
    *,
    cache_dir: Path,
    api_key: str | None = None,
    http_model: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Embedder | None:
    """Open `onnx`, `sentence-transformers:<model>`, an http(s) address, or `none` (no embedder)."""
    told = _on_loop(progress)
    if spec == "none":
        return None
    if spec == "onnx":
        return BatchingEmbedder(await _open_minilm(cache_dir, told), _LOCAL_LIMIT)
    if spec.startswith(_SENTENCE) and spec != _SENTENCE:
        model = spec.removeprefix(_SENTENCE)
        return BatchingEmbedder(await _open_sentence(model, cache_dir, told), _LOCAL_LIMIT)
    if spec.startswith(("http://", "https://")):
        return BatchingEmbedder(await _open_http(spec, http_model, api_key, told), _HTTP_LIMIT)
    raise EmbedderError(
        f"The embedder {spec!r} is not known: use onnx, sentence-transformers:<model>,"
        " http://…/v1/embeddings or none."
    )


def _on_loop(progress: Callable[[str], None] | None) -> Callable[[str], None]:
    """Have messages from a loading thread delivered where the caller runs."""
    if progress is None:
        return lambda message: None
    loop = asyncio.get_running_loop()

    def deliver(message: str) -> None:
        loop.call_soon_threadsafe(progress, message)

    return deliver


# Each kind is imported when it is asked for: onnxruntime, httpx and torch are slow to import and
# large in memory, and a service uses one of them at most.


async def _open_minilm(cache_dir: Path, progress: Callable[[str], None]) -> Embedder:
    from retrieval.embedding.minilm import load_minilm

    return await asyncio.to_thread(load_minilm, cache_dir, progress)


async def _open_sentence(model: str, cache_dir: Path, progress: Callable[[str], None]) -> Embedder:
    from retrieval.embedding.sentence import load_sentence_model

    return await asyncio.to_thread(load_sentence_model, model, cache_dir, progress)


async def _open_http(
    url: str, model: str | None, api_key: str | None, progress: Callable[[str], None]
) -> Embedder:
    from retrieval.embedding.http import http_embedder

    embedder = http_embedder(url, model=model, api_key=api_key)
    progress("asking the embeddings endpoint for its dimensions")
    await embedder.open()
    return embedder

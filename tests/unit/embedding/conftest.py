"""MiniLM, for tests that embed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from retrieval.embedding import Embedder, open_embedder


@pytest.fixture
async def minilm(models: Path) -> AsyncIterator[Embedder]:
    """MiniLM as the service opens it."""
    embedder = await open_embedder("onnx", cache_dir=models)
    assert embedder is not None
    yield embedder
    await embedder.close()

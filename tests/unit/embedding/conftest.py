"""One converted MiniLM for all tests of the session."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from retrieval.embedding import Embedder, open_embedder


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that the first test to open MiniLM fills."""
    return tmp_path_factory.mktemp("embedding-cache")


@pytest.fixture
async def minilm(model_cache: Path) -> AsyncIterator[Embedder]:
    """MiniLM as the service opens it."""
    embedder = await open_embedder("onnx", cache_dir=model_cache)
    assert embedder is not None
    yield embedder
    await embedder.close()

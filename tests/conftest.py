"""Fixtures that any test may ask for, and how hypothesis runs."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import settings

from retrieval.embedding import open_embedder
from tests.locks import locked

pytest_plugins = [
    "tests.parallel",
    "tests.integration.fixtures_postgres",
    "tests.integration.fixtures_kafka",
]

# Speed is measured in bench/; a busy machine is no reason for a test to fail.
settings.register_profile("memstream", deadline=None)
settings.load_profile("memstream")


@pytest.fixture(scope="session")
def models(shared_folder: Path) -> Path:
    """A cache folder with MiniLM in it, converted once for the whole test run."""
    folder = shared_folder / "models"

    async def convert() -> None:
        embedder = await open_embedder("onnx", cache_dir=folder)
        assert embedder is not None
        await embedder.close()

    with locked(shared_folder / "models.lock"):
        asyncio.run(convert())
    return folder

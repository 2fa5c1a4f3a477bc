"""Every specification opens its embedder or says what is wrong with it."""

import sys
from pathlib import Path

import pytest

from retrieval.embedding import EmbedderError, open_embedder


async def test_none_is_no_embedder(tmp_path: Path) -> None:
    assert await open_embedder("none", cache_dir=tmp_path) is None


@pytest.mark.parametrize("spec", ["", "onyx", "sentence-transformers:", "ftp://host/v1"])
async def test_an_unknown_specification_is_an_error(spec: str, tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="not known"):
        await open_embedder(spec, cache_dir=tmp_path)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://h:port/v1", None),
        ("http://h/v1", "sk-ключ"),
    ],
)
async def test_an_unusable_address_or_key_is_an_error(
    url: str, key: str | None, tmp_path: Path
) -> None:
    with pytest.raises(EmbedderError, match="cannot be used"):
        await open_embedder(url, cache_dir=tmp_path, api_key=key)


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # None in sys.modules makes the import fail whether or not the extra is installed.
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderError, match="uv sync --extra sentence-transformers"):
        await open_embedder("sentence-transformers:any", cache_dir=tmp_path)

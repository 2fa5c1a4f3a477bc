"""MiniLM on onnxruntime gives stable, meaningful vectors whatever it is given."""

import random

import numpy as np
import pytest

from retrieval.embedding import Embedder, EmbedderError
from retrieval.embedding.minilm import MAX_TOKENS

WORDS = ["user", "prefers", "oat", "milk", "meeting", "Berlin", "nausea", "dairy", "marathon"]


def sentence(length: int, seed: int) -> str:
    source = random.Random(seed)
    return " ".join(source.choice(WORDS) for _ in range(length))


async def test_describes_its_vector_space(minilm: Embedder) -> None:
    assert (minilm.name, minilm.dimensions) == ("all-MiniLM-L6-v2", 384)


async def test_no_texts_give_no_rows(minilm: Embedder) -> None:
    rows = await minilm.embed([])
    assert rows.shape == (0, 384)
    assert rows.dtype == np.float32


async def test_rows_have_unit_length(minilm: Embedder) -> None:
    texts = ["", " ", "a", "日本語のメモ", "🙂" * 50, sentence(40, 1), "x" * 8192, "\ud800 lone"]
    rows = await minilm.embed(texts)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


async def test_unwell_is_nearest_to_nausea(minilm: Embedder) -> None:
    memories = [
        "User experiences nausea after dairy",
        "The API team uses PostgreSQL",
        "User plays the guitar on weekends",
        "The quarterly report is due on Friday",
    ]
    query, *rows = await minilm.embed(["feeling unwell", *memories])
    scores = [float(query @ row) for row in rows]
    assert scores.index(max(scores)) == 0
    assert scores[0] > max(scores[1:]) + 0.1


async def test_the_same_text_gives_the_same_bytes(minilm: Embedder) -> None:
    first = await minilm.embed(["User prefers oat milk"])
    second = await minilm.embed(["User prefers oat milk"])
    assert first.tobytes() == second.tobytes()


async def test_the_rest_of_the_batch_does_not_matter(minilm: Embedder) -> None:
    texts = [sentence(length, seed) for seed, length in enumerate((1, 300, 2, 40, 7, 41, 150, 3))]
    together = await minilm.embed(texts)
    alone = np.concatenate([await minilm.embed([text]) for text in texts])
    assert np.abs(together - alone).max() <= 1e-5


async def test_text_after_the_last_token_is_not_read(minilm: Embedder) -> None:
    # "milk" is one token; [CLS] and [SEP] take two of the 256.
    full = "milk " * (MAX_TOKENS - 2)
    exact, longer, shorter = await minilm.embed([full, full + "guitar " * 500, full[5:]])
    assert np.abs(exact - longer).max() <= 1e-5
    assert np.abs(exact - shorter).max() > 1e-5


async def test_more_than_the_shipped_128_tokens_are_read(minilm: Embedder) -> None:
    start = "milk " * 130
    plain, different = await minilm.embed([start, start + "guitar concert " * 30])
    assert float(plain @ different) < 0.95


async def test_a_very_long_text_is_embedded(minilm: Embedder) -> None:
    long = sentence(2000, 5)[:8192]
    (row,) = await minilm.embed([long])
    assert np.linalg.norm(row) == pytest.approx(1.0, abs=1e-5)


async def test_a_closed_embedder_says_so(minilm: Embedder) -> None:
    await minilm.close()
    with pytest.raises(EmbedderError, match="closed"):
        await minilm.embed(["late"])

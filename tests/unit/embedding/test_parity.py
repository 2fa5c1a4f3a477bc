"""MiniLM on onnxruntime is the model that sentence-transformers runs on torch."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from retrieval.embedding import Embedder, EmbedderError, Vectors, open_embedder
from retrieval.embedding.weights import installed_model

pytest.importorskip(
    "sentence_transformers", reason="the extra sentence-transformers is not in the default install"
)

SENTENCES = [
    "The user experiences nausea after dairy and avoids milk.",
    "Die Sitzung wurde auf Donnerstag, den 3. März, verschoben.",
    "El usuario prefiere café con leche de avena por la mañana.",
    "Пользователь живёт в Берлине и играет на гитаре.",
    "ユーザーは毎朝五時に走ります。",
    "用户对花生过敏，喜欢徒步旅行。",
    "المستخدم يعمل في فريق المنصة.",
    "SELECT id FROM memories WHERE tenant = 'a' ORDER BY created_at DESC;",
    "Café naïve — “quotes”, emoji 🙂🚀 and https://example.org/a?b=c&d=1",
    "deployment latency regression in kubernetes cluster eu-west-1",
]


def generated_texts(count: int) -> list[str]:
    """Texts of 1 to about 400 words in several languages, the same on every run."""
    source = random.Random(20)
    words = " ".join(SENTENCES).split()
    lengths = [min(400, max(1, int(source.lognormvariate(2.7, 1.1)))) for _ in range(count)]
    texts = [" ".join(source.choice(words) for _ in range(length)) for length in lengths]
    return ["", *SENTENCES, *texts][:count]


def top(rows: Vectors, count: int) -> list[list[int]]:
    """The nearest other texts of each text, best first."""
    scores = rows @ rows.T
    np.fill_diagonal(scores, -np.inf)
    return [[int(n) for n in np.argsort(-row, kind="stable")[:count]] for row in scores]


@pytest.fixture
async def torch_minilm(tmp_path: Path) -> AsyncIterator[Embedder]:
    """The same weights in sentence-transformers."""
    folder = installed_model().folder
    embedder = await open_embedder(f"sentence-transformers:{folder}", cache_dir=tmp_path)
    assert embedder is not None
    yield embedder
    await embedder.close()


async def test_both_give_the_same_vectors_and_neighbours(
    minilm: Embedder, torch_minilm: Embedder
) -> None:
    texts = generated_texts(200)
    ours, theirs = await minilm.embed(texts), await torch_minilm.embed(texts)
    cosines = np.sum(ours.astype(np.float64) * theirs.astype(np.float64), axis=1)
    same = [a == b for a, b in zip(top(ours, 10), top(theirs, 10), strict=True)]
    print(f"min cosine {cosines.min():.8f}, top-10 identical for {sum(same)} of {len(same)}")
    assert cosines.min() >= 0.99999
    assert all(same)


async def test_an_unknown_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        await open_embedder(f"sentence-transformers:{tmp_path / 'no'}", cache_dir=tmp_path)

"""An evaluation counts as many results as it is told."""

import pytest

from memstream.evaluation.dataset import Dataset, DatasetMemory, DatasetQuery
from memstream.evaluation.run import evaluate
from memstream.settings import Settings

MANY = 40
"""More than the 27 that the default threshold of a search lets through."""


@pytest.mark.parametrize("k", [MANY, 10])
async def test_all_of_k_count(k):
    memories = tuple(
        DatasetMemory(id=f"m{n}", tenant="t", layer="user", content=f"tea {n}") for n in range(MANY)
    )
    gold = frozenset(memory.id for memory in memories)
    query = DatasetQuery(id="q", tenant="t", query="which tea?", category="c", gold=gold)
    dataset, settings = Dataset("tea", memories, (query,)), Settings(embedder="none")
    measured = await evaluate(dataset, settings, k, lambda *_: None, route="standard")
    assert measured["recall"] == k / MANY

"""Batches of tokens hold every text once, within the budget."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from retrieval.embedding.token_batches import token_batches

texts_of_tokens = st.lists(st.lists(st.integers(1, 30_000), min_size=2, max_size=60), max_size=40)


@given(texts_of_tokens, st.integers(1, 200))
def test_every_text_is_in_one_batch_unchanged(texts: list[list[int]], budget: int) -> None:
    seen: dict[int, list[int]] = {}
    for batch in token_batches(texts, budget=budget):
        for row, position in enumerate(batch.positions):
            assert position not in seen
            seen[position] = batch.ids[row][batch.mask[row] == 1].tolist()
    assert seen == dict(enumerate(texts))


@given(texts_of_tokens, st.integers(1, 200))
def test_no_batch_of_several_exceeds_the_budget(texts: list[list[int]], budget: int) -> None:
    for batch in token_batches(texts, budget=budget):
        assert batch.ids.size <= budget or len(batch.positions) == 1
        assert np.all(batch.ids[batch.mask == 0] == 0)

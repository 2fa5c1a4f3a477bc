"""Batches of tokens hold every text once, within the budget."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from retrieval.embedding.token_batches import BatchRules, token_batches

texts_of_tokens = st.lists(st.lists(st.integers(1, 30_000), min_size=2, max_size=60), max_size=40)


rules = st.builds(BatchRules, budget=st.integers(1, 200), padding=st.integers(0, 50))


@given(texts_of_tokens, rules)
def test_every_text_is_in_one_batch_unchanged(texts: list[list[int]], rules: BatchRules) -> None:
    seen: dict[int, list[int]] = {}
    for batch in token_batches(texts, rules):
        for row, position in enumerate(batch.positions):
            assert position not in seen
            seen[position] = batch.ids[row][batch.mask[row] == 1].tolist()
    assert seen == dict(enumerate(texts))


@given(texts_of_tokens, rules)
def test_no_batch_of_several_exceeds_the_budget(texts: list[list[int]], rules: BatchRules) -> None:
    for batch in token_batches(texts, rules):
        assert batch.ids.size <= rules.budget or len(batch.positions) == 1
        assert np.all(batch.ids[batch.mask == 0] == 0)


@given(texts_of_tokens, rules)
def test_one_more_text_adds_little_padding(texts: list[list[int]], rules: BatchRules) -> None:
    for batch in token_batches(texts, rules):
        lengths = batch.mask.sum(axis=1)
        for count in range(1, len(lengths)):
            assert (lengths[count] - lengths[count - 1]) * count <= rules.padding

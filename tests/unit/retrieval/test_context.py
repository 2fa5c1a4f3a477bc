"""Contexts: never over the budget, the evidence in them however large the memories are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.context import count_tokens, pack
from tests.unit.retrieval.test_search import NOON, hit

TEXT = st.text(st.sampled_from("ab zé日本。.!?\n 012-🎈"), min_size=1, max_size=300)


def remembered(*contents):
    return [hit(f"m{n}", None, content=text, created_at=NOON) for n, text in enumerate(contents)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("tea", 1), ("coffee", 2), ("tea, please!", 5), ("日本", 2), ("  \n ", 0), ("🎈", 3)],
)
def test_tokens_are_counted_on_the_high_side(text, tokens):
    assert count_tokens(text) == tokens


@pytest.mark.requirement("RX-9")
@given(st.lists(TEXT, max_size=12), TEXT, st.integers(1, 200))
def test_the_budget_is_never_exceeded_and_what_is_in_is_told(contents, query, budget):
    packed = pack(query, remembered(*contents), budget)
    assert packed.tokens == count_tokens(packed.text) <= budget
    assert len(packed.memory_ids) == len(set(packed.memory_ids))
    assert bool(packed.memory_ids) == bool(packed.text)
    assert packed.text.count("\n") == max(len(packed.memory_ids) - 1, 0)


@pytest.mark.requirement("RX-9")
def test_the_first_come_first_and_whole_where_they_fit():
    packed = pack("tea", remembered("green tea", "black\n tea", "x" * 400, "mint"), 12)
    assert packed.text == "- green tea\n- black tea\n- mint"
    assert packed.memory_ids == ("m0", "m1", "m3")


@pytest.mark.requirement("RX-9")
def test_of_a_memory_a_hundred_times_the_budget_the_evidence_is_in():
    filler = "The weather was fine and people talked about the garden. " * 300
    content = f"{filler}The vault code is 7391. {filler}"
    budget = count_tokens(content) // 100
    packed = pack("What is the vault code?", remembered(content), budget)
    assert "The vault code is 7391." in packed.text
    assert packed.tokens <= budget


def test_a_sentence_that_is_too_long_by_itself_is_cut():
    packed = pack("tea", remembered("tea " * 100), 20)
    assert packed.text.startswith("- tea tea")
    assert packed.tokens <= 20


def test_nothing_fits_into_almost_nothing():
    assert pack("tea", remembered("a long story about tea"), 1).memory_ids == ()

"""How rules take a question apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.decomposition.questions import asks_for_several, sides, topic


def test_the_topic_is_the_question_without_the_names():
    assert topic("What has Melanie painted?") == "What has painted?"
    assert topic("Where was the singer of Hello Love born?") == "Where was the singer of born?"


def test_a_question_of_names_only_stays_as_it_is():
    assert topic("Who is Ada Lovelace?") == "Who is Ada Lovelace?"


@pytest.mark.requirement("RX-6")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Compare Redis and Postgres.", ("Redis", "Postgres")),
        (
            "compare error handling in the API team and the web team",
            ("error handling in the API team", "error handling in the web team"),
        ),
        (
            "What is the difference between tea and coffee?",
            ("tea", "coffee"),
        ),
        ("retries in billing vs. search", ("retries in billing", "retries in search")),
        (
            "Who wrote the plan, and when was it approved?",
            ("Who wrote the plan", "when was it approved"),
        ),
        ("Who likes tea and coffee?", ()),
        ("compare patterns across teams", ()),
        ("compare it and the", ()),
    ],
)
def test_comparisons_and_joined_questions_have_sides(query, expected):
    assert sides(query) == expected


@given(st.text(max_size=200))
def test_any_text_can_be_taken_apart(query):
    assert all(side.strip() for side in sides(query))
    topic(query)
    asks_for_several(query)


@pytest.mark.parametrize(
    "query", ["What books has Ada read?", "How many cats are there?", "What do both like?"]
)
def test_lists_counts_and_comparisons_ask_for_several(query):
    assert asks_for_several(query)


@pytest.mark.parametrize("query", ["When did Ada paint a sunrise?", "Where is the key?", ""])
def test_a_single_fact_does_not(query):
    assert not asks_for_several(query)

"""The months that queries name, and of which years."""

from datetime import UTC, datetime

import pytest

from retrieval.ranking.named_time import named_time


@pytest.mark.requirement("SE-4")
@pytest.mark.parametrize(
    ("query", "months", "years"),
    [
        ("When did Melanie go camping in June?", {6}, set()),
        ("what happened on 8 May 2023", {5}, {2023}),
        ("what was painted on October 13, 2023?", {10}, {2023}),
        ("the evening of 7 July", {7}, set()),
        ("the 3rd of June", {6}, set()),
        ("what did we decide in may", {5}, set()),
        ("the end of May", {5}, set()),
        ("the invoice from October", {10}, set()),
        ("what was said in late april?", {4}, set()),
        ("April 2022", {4}, {2022}),
        ("in December and January", {1, 12}, set()),
        ("from May to July 2023", {5, 7}, {2023}),
        ("who may march here?", set(), set()),
        ("March on Rome: who led it?", set(), set()),
        ("was it in March or late april of 2022?", {3, 4}, {2022}),
        ("Which office did April move to?", set(), set()),
        ("what was the note from April about?", set(), set()),
        ("which book of June did May and August read?", set(), set()),
        ("revenue target for 2026", set(), set()),
        ("Which 1988 comedy was a hit in 2003?", set(), set()),
        ("version 2.2023 of port 20231", set(), set()),
        ("between 1999-2003", set(), set()),
        ("her cat", set(), set()),
    ],
)
def test_what_is_named(query, months, years):
    assert named_time(query) == (frozenset(months), frozenset(years))


def test_a_moment_must_be_of_both():
    june = datetime(2023, 6, 5, tzinfo=UTC)
    assert named_time("in June").has(june)
    assert named_time("in June 2023").has(june)
    assert not named_time("in 2023").has(june)
    assert not named_time("in June 2022").has(june)
    assert not named_time("in July 2023").has(june)
    assert not named_time("her cat").has(june)

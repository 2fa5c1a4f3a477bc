"""What is asked after a hit."""

import pytest

from retrieval.decomposition.follow_ups import follow_ups
from retrieval.fusion import Scored
from tests.unit.retrieval.test_search import hit

QUERY = "Where was the singer of Hello Love born?"
SONG = hit("song", 0.9, content="Hello Love: It was cold. Hello Love is a single by Hank Snow.")
FAR = hit("far", 0.1, content="Something else.")
BEST = [Scored(SONG, 3.0), Scored(FAR, -5.0)]


@pytest.mark.requirement("RX-8")
def test_a_hit_is_followed_by_its_new_names_and_what_it_leaves_unanswered():
    one, _ = follow_ups(QUERY, BEST, 2)
    assert one.parent is SONG
    assert one.unanswered == ("singer", "born")
    assert one.names[:2] == ("hank", "snow")
    assert one.asked.terms == (*one.unanswered, *one.names)


@pytest.mark.requirement("RX-8")
def test_the_text_has_the_best_sentence_and_no_names_that_the_hit_already_has():
    one, _ = follow_ups(QUERY, BEST, 2)
    expected = "Where was the singer of born? Hello Love: Hello Love is a single by Hank Snow."
    assert one.text == expected


def test_of_a_turn_the_speaker_is_left_out():
    turn = hit("turn", 0.9, content="Ada: I paint.", session_id="s")
    (one,) = follow_ups("What does Ada paint?", [Scored(turn, 1.0)], 3)
    assert "Ada" not in one.text


@pytest.mark.requirement("RX-8")
def test_a_path_ends_at_a_memory_that_is_not_good_enough():
    assert [one.parent for one in follow_ups(QUERY, BEST, 2, least=-6.0)] == [SONG]
    assert [one.odds for one in follow_ups(QUERY, BEST, 2)] == [0.0, -8.0]
    assert follow_ups(QUERY, BEST, 1) == follow_ups(QUERY, BEST, 2)[:1]
    assert follow_ups(QUERY, [], 5) == []

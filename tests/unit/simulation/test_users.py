"""Simulated users: what they do follows from their parameters, round and seed, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstream.simulation.users import Reaction, Users, mind
from models import ContextUsage, QueryRefinement, SessionAbandonment

SHOWN = [f"m{place}" for place in range(10)]
MEMORIES = st.lists(st.sampled_from(SHOWN), unique=True)


def reactions(shown, gold, users=None, rounds=2000):
    return [
        mind(users or Users(), 1, n).react("who is it", shown, frozenset(gold))
        for n in range(rounds)
    ]


def share(found, wanted):
    return sum(map(wanted, found)) / len(found)


def test_what_helps_is_used_as_often_as_it_is_looked_at():
    for place, seen in ((0, 1.0), (3, 0.5), (8, 1 / 3)):
        came = reactions(SHOWN, [SHOWN[place]])
        used = share(came, lambda one, place=place: SHOWN[place] in one.used)
        assert used == pytest.approx(0.9 * seen, abs=0.04)


def test_who_finds_nothing_rewords_or_gives_up_or_is_not_heard_of():
    came = reactions(SHOWN, ["elsewhere"], Users(mistake=0.0))
    assert share(came, lambda one: one.reworded == "is it") == pytest.approx(0.5, abs=0.04)
    assert share(came, lambda one: one.abandoned) == pytest.approx(0.35, abs=0.04)
    assert not any(one.used for one in came)


def test_quality_is_the_share_of_the_evidence_that_was_used():
    sure = Users(position_bias=0.0, use=1.0, mistake=0.0)
    (found,) = reactions(SHOWN, ["m1", "m3", "elsewhere", "nowhere"], sure, 1)
    assert (found.used, found.quality) == (("m1", "m3"), 0.5)


def test_inverted_users_go_away_from_what_helps_and_claim_to_use_what_does_not():
    inverted = Users(position_bias=0.0, use=1.0, mistake=0.0, mood="inverted")
    (helped,) = reactions(SHOWN[:3], ["m1"], inverted, 1)
    assert helped == Reaction(abandoned=True)
    (not_helped,) = reactions(SHOWN[:3], ["elsewhere"], inverted, 1)
    assert (not_helped.used, not_helped.quality) == (("m0",), 1.0)


def test_poisoned_users_turn_halfway():
    moods = [Users(mood="poisoned").in_round(number, 4).mood for number in range(4)]
    assert moods == ["honest", "honest", "inverted", "inverted"]
    assert Users(mood="noise").in_round(9, 10).mood == "noise"


def test_noise_has_nothing_to_do_with_what_helps():
    noise = Users(mood="noise")
    assert reactions(SHOWN, ["m0"], noise, 50) == reactions(SHOWN, ["m5"], noise, 50)


@pytest.mark.parametrize("mood", ["honest", "noise", "inverted"])
def test_whatever_is_told_a_result_is_worth_what_it_is_to_an_honest_user(mood):
    for number in range(50):
        honest = mind(Users(), 1, number).react("who is it", SHOWN, {"m2", "m4"})
        other = mind(Users(mood=mood), 1, number)
        assert other.meant("who is it", SHOWN, {"m2", "m4"}) == honest
        assert mood != "inverted" or other.react("who is it", SHOWN, {"m2", "m4"}) != honest


@given(MEMORIES, st.frozensets(st.sampled_from(SHOWN), min_size=1), st.integers(0, 9))
def test_the_same_round_meets_the_same_user(shown, gold, number):
    once, again = (mind(Users(), 7, number).react("q", shown, gold) for _ in range(2))
    assert once == again
    assert set(once.used) <= set(shown)
    assert bool(once.used) + (once.reworded is not None) + once.abandoned <= 1


def test_better_placed_is_never_less_used():
    """The same draws in another order: moving what helps up can only help."""
    for number in range(300):
        low = mind(Users(mistake=0.0), 1, number).react("q", SHOWN, {"m7"})
        high = mind(Users(mistake=0.0), 1, number).react("q", ["m7", *SHOWN[:7]], {"m7"})
        assert set(low.used) <= set(high.used)


def test_every_reaction_is_told_by_one_event_or_none():
    ids = ("tenant", "session", "request")
    (usage,) = Reaction(used=("m",), quality=0.5).signals(*ids)
    assert isinstance(usage, ContextUsage)
    assert (usage.memory_ids, usage.quality_score) == (("m",), 0.5)
    (reworded,) = Reaction(reworded="q").signals(*ids)
    assert isinstance(reworded, QueryRefinement)
    (gone,) = Reaction(abandoned=True).signals(*ids)
    assert isinstance(gone, SessionAbandonment)
    assert Reaction().signals(*ids) == []

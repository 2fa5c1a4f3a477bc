"""What a demonstration tells of its tenants."""

from datetime import UTC, datetime, timedelta

import pytest

from memstream.demo.habits import demo_tenants
from memstream.demo.story import STRETCH, Story, apart
from memstream.demo.view import sparkline, view
from tests.unit.demo.shown import shown

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def story(rewards=(), moved=None, place=0, **more):
    told = Story(demo_tenants(1)[place], right=[reward > 0.8 for reward in rewards], **more)
    began = [NOON + timedelta(seconds=number) for number in range(len(rewards))]
    told.labels = {str(one): (one, reward) for one, reward in zip(began, rewards, strict=True)}
    # One more search, so much later that all labels before it have come.
    told.labels |= {"last": (NOON + timedelta(hours=1), -1.0)} if rewards else {}
    weights = {f"rank/{name}": {"weight": by, "prior": 0.0} for name, by in (moved or {}).items()}
    told.policy = {"version": 2, "exploration_rate": 0.15, "weights": weights}
    return told


def test_start_and_now_are_told_apart():
    told = story([0.3] * STRETCH + [1.0] * STRETCH)
    assert told.reward() == (pytest.approx(0.3), pytest.approx(1.0))
    assert told.share() == (0.0, 1.0)
    assert told.curve(2) == [pytest.approx(0.3), pytest.approx(1.0)]
    assert len(told.curve(7)) == 7
    assert story().reward() is None
    assert story().curve(5) == []


def test_rewards_wait_for_those_that_come_last():
    told = story([1.0] * 30)
    told.labels.pop("last")
    assert 0 < len(told.rewards()) < 30


def test_a_line_rises_with_what_it_shows():
    assert sparkline([-0.5, 0.3, 0.65, 1.0]) == "▁▁▅█"


def test_how_far_policies_are_apart():
    one, other = story(moved={"bm25": 3.0}), story(moved={"cosine": 4.0})
    assert apart(one, other) == pytest.approx(5.0)
    assert apart(one, one) == 0


def test_what_is_shown():
    event = {
        "kind": "promoted",
        "part": "ranker",
        "version": 1,
        "trained": 140,
        "at": "2026-11-16T12:00:01.5+00:00",
        "estimate": 0.31,
        "lower": 0.12,
    }
    held = {**event, "kind": "held", "part": "route"}
    stories = [
        story([0.3] * 70 + [1.0] * 70, {"bm25": 2.5, "cosine": -1.25}, history=[event, held]),
        story(place=1),
    ]
    text = " ".join(shown(view(stories, 42.0)).split())
    assert "equal weights" in text
    assert "0.30 → 1.00" in text
    assert "bm25 +2.5" in text
    assert "ranker promoted as version 1 after 140 searches, better by 0.31" in text
    assert "route" not in text
    assert "depot–clinic 2.8" in text


def test_memories_stand_in_each_others_way():
    for tenant in demo_tenants(7):
        asked_for = [memory_id for one in tenant.questions for memory_id in one.gold]
        assert {*asked_for} == {*tenant.memories}
        assert 200 <= len(tenant.memories) <= 400
        assert len({*tenant.memories.values()}) == len(tenant.memories)

"""The course of rewards: every search once, as labelled last, over any time in bounded memory."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from aiokafka import TopicPartition

from memstream.console import course as module
from memstream.console.course import Course
from models import Outcome
from tests.integration.storage.aftermath import NOON
from tests.integration.storage.school import corrected, trajectory
from topics import encode


def placed(number, *, tenant="acme", seconds=None, reward=1.0):
    at = NOON + timedelta(seconds=number if seconds is None else seconds)
    return trajectory(number, tenant=tenant, reward=reward).model_copy(update={"completed_at": at})


def take(course, *trajectories, start=0):
    for offset, one in enumerate(trajectories, start):
        value = one if isinstance(one, bytes | None) else encode(one)
        course.take(SimpleNamespace(topic="t", partition=0, offset=offset, value=value), 0)


def counts(course, tenant="acme"):
    return [(one["searches"], round(one["reward"], 6)) for one in course.of(tenant)["buckets"]]


@pytest.mark.requirement("TR-2", "TJ-1")
def test_a_correction_replaces_what_was_counted():
    course, first = Course(), placed(1, reward=0.5)
    ignored = corrected(first, -0.2).model_copy(update={"outcome": Outcome(type="result_ignored")})
    take(course, first, placed(2), None, b"{}", first)
    assert counts(course) == [(1, 0.5), (1, 1.0)]
    take(course, ignored, first, start=5)
    assert counts(course) == [(1, -0.2), (1, 1.0)]
    outcomes = course.of("acme")["buckets"][0]["outcomes"]
    assert {name: many for name, many in outcomes.items() if many} == {"result_ignored": 1}


def test_stretches_become_wider_and_nothing_is_lost(monkeypatch):
    monkeypatch.setattr(module, "MOST_BUCKETS", 8)
    course = Course()
    take(course, *(placed(number, reward=number / 100) for number in range(64)))
    told = course.of("acme")
    assert told["width_ms"] == 8000
    assert counts(course) == [(8, round((8 * at + 3.5) / 100, 6)) for at in range(8)]
    # A correction finds its stretch, however wide it has become.
    take(course, corrected(placed(0, reward=0.0), 0.8), start=64)
    assert counts(course)[0] == (8, round(0.035 + 0.1, 6))


def test_it_goes_on_where_it_stopped_unless_the_topic_is_another():
    course = Course()
    take(course, placed(1), placed(2))
    at = TopicPartition("t", 0)
    course.begin({at: 2})
    take(course, placed(1), placed(2), placed(3))
    assert counts(course) == [(1, 1.0)] * 3
    course.begin({at: 1})
    assert counts(course) == []
    take(course, placed(4))
    assert counts(course) == [(1, 1.0)]


def test_only_so_many_tenants_and_labels_are_kept(monkeypatch):
    monkeypatch.setattr(module, "MOST_TENANTS", 2)
    monkeypatch.setattr(module, "MOST_LABELS", 3)
    course = Course()
    take(course, *(placed(number, tenant=f"t{number}") for number in range(3)))
    assert (counts(course, "t0"), counts(course, "t2")) == ([], [(1, 1.0)])
    # What was forgotten is not taken away from what is counted anew.
    take(course, corrected(placed(0, tenant="t0"), 0.5), start=3)
    assert counts(course, "t0") == [(1, 0.5)]
    assert len(course._labels) <= 3

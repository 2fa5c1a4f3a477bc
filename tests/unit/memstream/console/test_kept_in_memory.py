"""What the console keeps in memory is bounded, and is what was labelled last."""

from types import SimpleNamespace

import pytest

from memstream.console import letters, recent
from memstream.console.letters import Letters
from memstream.console.pulse import quantile
from memstream.console.recent import Recent
from tests.integration.storage.school import corrected, trajectory
from topics import TopicNames, encode


def take(kept, *trajectories):
    for one in trajectories:
        kept.take(SimpleNamespace(value=encode(one)), 0)


@pytest.mark.requirement("TR-2", "TJ-1")
def test_a_search_is_told_as_it_was_labelled_last_with_what_was_known_before():
    kept, first = Recent(), trajectory(1)
    take(kept, first, trajectory(2), corrected(first, 0.2), first)
    assert [one.trajectory_id for one in kept.of("acme")] == ["t-r1", "t-r2"]
    known = kept.one("acme", "t-r1")
    found = kept.whole(known)
    assert (found.revision, found.reward) == (1, 0.2)
    assert [(one.revision, one.reward) for one in known.labels] == [(0, 1.0), (1, 0.2)]


def test_only_so_much_is_kept_of_each_tenant_and_of_all(monkeypatch):
    monkeypatch.setattr(recent, "MOST_EACH", 3)
    monkeypatch.setattr(recent, "MOST_TENANTS", 2)
    kept = Recent()
    take(kept, *(trajectory(number, tenant=f"t{number // 5}") for number in range(15)))
    assert kept.tenants() == ["t2", "t1"]
    assert [one.trajectory_id for one in kept.of("t2")] == ["t-r12", "t-r13", "t-r14"]
    assert kept.one("t0", "t-r4") is None
    assert kept.one("t1", "t-r14") is None
    monkeypatch.setattr(recent, "MOST_BYTES", 2 * len(encode(trajectory(14, tenant="t2"))))
    take(kept, trajectory(17, tenant="t2"))
    assert kept.whole(kept.one("t2", "t-r17"))
    assert kept.whole(kept.one("t2", "t-r13")) is None
    assert len(kept.of("t2")) == 3


def test_what_is_far_behind_when_somebody_begins_to_look_is_not_taken_in():
    kept = Recent()
    for behind in (recent.MOST_BEHIND, recent.MOST_BEHIND - 1):
        kept.take(SimpleNamespace(value=encode(trajectory(behind))), behind)
    assert [one.trajectory_id for one in kept.of("acme")] == [f"t-r{recent.MOST_BEHIND - 1}"]


def test_what_is_not_a_trajectory_is_left_out():
    kept = Recent()
    for value in (None, b"", b"{}", b"\xff"):
        kept.take(SimpleNamespace(value=value), 0)
    assert list(kept.everything()) == []


def test_payloads_are_shown_up_to_a_limit():
    kept = Letters(TopicNames())
    large = b"x" * (letters.SHOWN_BYTES + 1)
    kept.take(SimpleNamespace(offset=1, key=None, value=large, headers=()), 0)
    kept.take(SimpleNamespace(offset=2, key=b"\xff", value=b"\xff<", headers=()), 0)
    second, first = kept.found(None, None, None, 10)
    assert (len(first["payload"]), first["cut"], first["bytes"]) == (8192, True, len(large))
    assert (second["payload"], second["key"]) == ("\ufffd<", "\ufffd")


@pytest.mark.parametrize(
    ("counts", "share", "told"),
    [
        ([], 0.5, None),
        ([(1.0, 0), (float("inf"), 0)], 0.5, None),
        ([(1.0, 10), (2.0, 10), (float("inf"), 10)], 0.5, 0.5),
        ([(1.0, 10), (2.0, 20), (float("inf"), 20)], 0.75, 1.5),
        ([(1.0, 1), (float("inf"), 10)], 0.95, 1.0),
    ],
)
def test_quantiles_are_guessed_within_their_bucket(counts, share, told):
    assert quantile(counts, share) == told

"""Dead letters read back: what was written is there, and the original is sent again."""

from datetime import UTC, datetime

import pytest

from topics import TopicNames, dead_letter_headers
from topics.dead_letters import DeadLetter, UnreplayableError
from topics.handover import Handover, handover_headers

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
NAMES = TopicNames()
SENT = [
    ("ce_id", b"\xff"),
    ("Authorization", b"Bearer secret"),
    ("twice", b"1"),
    ("twice", b"2"),
    ("none", None),
]


def letter(value=b'{"tenant_id": "acme"}', headers=SENT, topic="memory.items", **fields):
    why = {"code": "forbidden", "message": "why", "partition": 3, "offset": 7, "at": NOON}
    written = dead_letter_headers(headers, topic=topic, **why | fields)
    return DeadLetter.read(11, b"key", value, written)


def test_what_was_written_is_found_again():
    read = letter()
    assert (read.offset, read.at, read.code, read.message) == (11, NOON, "forbidden", "why")
    assert (read.topic, read.partition, read.original_offset) == ("memory.items", 3, 7)
    assert (read.tenant_id, read.replays, read.trimmed) == ("acme", 0, None)


@pytest.mark.parametrize("value", [None, b"", b"\xff", b"[", b'{"tenant_id": 5}'])
@pytest.mark.parametrize("headers", [None, [], [("memstream-error-at", b"noon"), ("x", None)]])
def test_whatever_is_on_the_topic_can_be_read(value, headers):
    read = DeadLetter.read(0, None, value, headers)
    assert (read.tenant_id, read.code, read.at, read.replays) == ("", "", None, 0)
    with pytest.raises(UnreplayableError, match="not a topic that memstream reads"):
        read.again(NAMES, None)


def test_the_original_is_sent_again_with_a_mark_and_another_token():
    read = letter()
    topic, headers = read.again(NAMES, None)
    assert (topic, read.key, read.value) == ("memory.items", b"key", b'{"tenant_id": "acme"}')
    others = [one for one in SENT if one[0] != "Authorization"]
    assert headers == [*others, ("memstream-replays", b"1")]
    assert ("authorization", b"Bearer mine") in read.again(NAMES, "mine")[1]
    # It fails again: that it was sent again, and how often, stays with it.
    again = letter(headers=headers, code="internal")
    assert (again.replays, again.code) == (1, "internal")
    assert again.again(NAMES, None)[1] == [*others, ("memstream-replays", b"2")]


def test_what_was_handed_over_goes_back_to_where_it_came_from():
    over = handover_headers(
        [("correlation-id", b"c")], Handover("memory.search.requests", NOON, NOON)
    )
    topic, headers = letter(headers=over, topic="memory.internal.decompositions").again(NAMES, None)
    assert topic == "memory.search.requests"
    assert headers == [("correlation-id", b"c"), ("memstream-replays", b"1")]
    forged = handover_headers([], Handover("memory.trajectories", NOON, NOON))
    with pytest.raises(UnreplayableError):
        letter(headers=forged, topic="memory.internal.decompositions").again(NAMES, None)


@pytest.mark.parametrize("topic", ["memory.trajectories", "memory.search.results", "elsewhere", ""])
def test_nothing_is_sent_to_where_memstream_does_not_read(topic):
    with pytest.raises(UnreplayableError, match="not a topic"):
        letter(topic=topic).again(NAMES, None)


def test_of_what_was_too_large_only_the_place_is_known():
    long = [("long", b"x" * 5000), *(("short", b"x") for _ in range(1000))]
    read = letter(value=b"{", headers=long, trimmed=9_000_000)
    assert read.trimmed == 9_000_000
    assert sum(len(name) + len(value or b"") for name, value in read.headers) < 5000
    with pytest.raises(UnreplayableError, match=r"9000000 bytes at offset 7 of memory.items \[3\]"):
        read.again(NAMES, None)

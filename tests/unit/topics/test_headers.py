"""Headers: read tolerantly, passed on exactly, and written on dead letters."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from topics import Headers, dead_letter_headers

AT = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
WHERE = {"topic": "memory.items", "partition": 3, "offset": 42, "at": AT}


@pytest.mark.parametrize("raw", [None, [], {}, ()])
def test_there_may_be_none(raw):
    assert Headers.parse(raw) == Headers()


@pytest.mark.parametrize("form", [dict, list, tuple])
def test_all_forms_of_clients_are_read(form):
    pairs = [
        ("authorization", b"Bearer abc.def.ghi"),
        ("reply-to", b"my.results"),
        ("correlation-id", b"\xff\x00"),
        ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ]
    headers = Headers.parse(form(pairs))
    assert headers.token == "abc.def.ghi"
    assert headers.reply_to == "my.results"
    assert headers.correlation_id == b"\xff\x00"
    assert headers.traceparent == pairs[3][1].decode()


@pytest.mark.parametrize(
    ("authorization", "token"),
    [
        (b"Bearer abc", "abc"),
        (b"bearer  abc ", "abc"),
        (b"BEARER abc", "abc"),
        (b"Basic abc", None),
        (b"Bearer", None),
        (b"Bearer a b", None),
        (b"abc", None),
        (b"\xff", None),
        (b"", None),
        (None, None),
    ],
)
def test_a_token_comes_after_bearer(authorization, token):
    assert Headers.parse([("authorization", authorization)]).token == token


def test_names_have_no_case_and_the_last_wins():
    headers = Headers.parse([("Reply-To", b"first"), ("REPLY-TO", b"last")])
    assert headers.reply_to == "last"


def test_what_is_not_utf_8_is_as_good_as_absent():
    headers = Headers.parse([("reply-to", b"\xff"), ("traceparent", b"\xff")])
    assert (headers.reply_to, headers.traceparent) == (None, None)


def test_no_log_line_shows_a_token():
    assert "secret" not in repr(Headers.parse([("authorization", b"Bearer secret")]))


def test_an_answer_echoes_the_correlation_id_and_passes_the_trace_on():
    raw = [("correlation-id", b"\xff1"), ("traceparent", b"00-1-2-01"), ("reply-to", b"x")]
    assert Headers.parse(raw).answer() == [
        ("correlation-id", b"\xff1"),
        ("traceparent", b"00-1-2-01"),
    ]
    assert Headers.parse([("correlation-id", b"")]).answer() == [("correlation-id", b"")]
    assert Headers().answer() == []


def test_a_dead_letter_keeps_its_headers_and_says_what_happened():
    original = [("a", b"\xff"), ("a", None), ("ce_id", b"1")]
    letter = dead_letter_headers(original, code="too_large", message="ä: too much", **WHERE)
    assert letter == [
        *original,
        ("memstream-error-code", b"too_large"),
        ("memstream-error-message", "ä: too much".encode()),
        ("memstream-error-topic", b"memory.items"),
        ("memstream-error-partition", b"3"),
        ("memstream-error-offset", b"42"),
        ("memstream-error-at", b"2026-11-16T09:30:00Z"),
    ]


@pytest.mark.requirement("SE-17")
def test_a_dead_letter_keeps_no_token():
    original = [("Authorization", b"Bearer secret"), ("authorization", b"\xff"), ("b", b"1")]
    for raw in (original, dict(original)):
        letter = dead_letter_headers(raw, code="internal", message="m", **WHERE)
        redacted = [("Authorization", b"redacted"), ("authorization", b"redacted"), ("b", b"1")]
        assert letter[:3] == redacted


def test_a_moment_elsewhere_is_written_in_utc():
    there = AT.astimezone(timezone(timedelta(hours=5)))
    letter = dict(dead_letter_headers(None, code="c", message="m", **{**WHERE, "at": there}))
    assert letter["memstream-error-at"] == b"2026-11-16T09:30:00Z"


@pytest.mark.parametrize("message", ["x" * 5_000, "ä" * 5_000, "😀" * 5_000, "\ud800" * 5_000])
def test_a_long_message_is_shortened_to_whole_characters(message):
    letter = dict(dead_letter_headers({}, code="c", message=message, **WHERE))
    assert len(letter["memstream-error-message"]) <= 1024
    assert letter["memstream-error-message"].decode().endswith("…")


def test_a_letter_dead_again_tells_of_its_last_failure_only():
    once = dead_letter_headers([("a", b"1")], code="internal", message="first", **WHERE)
    twice = dead_letter_headers(once, code="internal", message="second", **WHERE)
    assert len(twice) == len(once)
    assert dict(twice)["memstream-error-message"] == b"second"

"""How long a client waits."""

from datetime import UTC, datetime

import pytest

from retrieval.embedding.retry import RetryRules, seconds_asked

NOON = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        (" 0 ", 0.0),
        ("Mon, 16 Nov 2026 12:00:30 GMT", 30.0),
        ("Mon, 16 Nov 2026 12:00:30", 30.0),
        ("Mon, 16 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("", None),
    ],
)
def test_retry_after_is_read(header: str | None, seconds: float | None) -> None:
    assert seconds_asked(header, now=lambda: NOON) == seconds


def test_delays_grow_and_end() -> None:
    rules = RetryRules(attempts=7, first_delay_s=1.0, longest_delay_s=10.0)
    delays = [rules.delay(attempt, None) for attempt in range(1, 8)]
    bounds = [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    for delay, bound in zip(delays, bounds, strict=False):
        assert delay is not None
        assert bound / 2 <= delay <= bound
    assert delays[-1] is None

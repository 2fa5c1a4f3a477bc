"""Rates and latencies are those of the time between two looks."""

from datetime import UTC, datetime, timedelta

import pytest

from agents.metrics import CONSUMER_LAG, DEAD_LETTERS, SEARCH_SECONDS
from memstream.console.pulse import Pulse
from retrieval.metrics import EXECUTION_MS, ROUTES


@pytest.mark.requirement("OB-1", "OB-2")
def test_what_was_counted_between_two_looks_is_told():
    moments = [datetime(2026, 11, 16, 12, tzinfo=UTC) + timedelta(seconds=2 * n) for n in range(3)]
    coming = iter(moments)
    pulse = Pulse(lambda: next(coming))
    assert pulse.told()["course"] == []
    pulse.beat()
    assert pulse.told()["searches_per_s"] == 0.0
    for _ in range(8):
        ROUTES.labels("standard").inc()
        SEARCH_SECONDS.observe(0.02)
    ROUTES.labels("rlm").inc(2)
    EXECUTION_MS.observe(80)
    DEAD_LETTERS.labels("t", "late").inc(3)
    CONSUMER_LAG.labels("t").set(7)
    pulse.beat()
    pulse.beat()
    told = pulse.told()
    assert [one["searches_per_s"] for one in told["course"]] == [5.0, 0.0]
    assert told["searches_per_s"] == 2.5
    assert 10 < told["search_ms"]["p50"] < told["search_ms"]["p95"] <= 25
    assert 50 < told["decomposition_ms"]["p95"] <= 100
    assert told["course"][1]["search_ms"] == {"p50": None, "p95": None}
    assert told["lag"]["t"] == 7
    assert {"topic": "t", "code": "late", "count": 3} in told["dead_letters"]

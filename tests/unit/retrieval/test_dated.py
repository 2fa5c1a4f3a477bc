"""Memories of dated files fade by half every half-life; others do not."""

from datetime import UTC, datetime

import pytest

from retrieval.dated import freshness

AT = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.requirement("SE-15")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("2026-11-16.md", 1.0),
        ("2026-10-17.md", 0.5),
        ("notes/daily/2026-09-17.md", 0.25),
        ("2027-01-01.md", 1.0),
        ("2026-02-31.md", 1.0),
        ("MEMORY.md", 1.0),
        ("2026-10-17.txt", 1.0),
        ("my-2026-10-17.md", 1.0),
        ("2026-10-17/notes.md", 1.0),
        ("", 1.0),
        (None, 1.0),
    ],
)
def test_freshness(path, expected):
    assert freshness(path, AT) == pytest.approx(expected)


@pytest.mark.requirement("SE-15")
def test_the_half_life_can_be_chosen():
    assert freshness("2026-11-06.md", AT, half_life_days=10) == pytest.approx(0.5)

"""Moments: RFC 3339 with an offset in, UTC out."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import TypeAdapter, ValidationError

from models.quantities import Moment

MOMENT = TypeAdapter(Moment)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-11-16T09:30:00Z", "2026-11-16T09:30:00Z"),
        ("2026-11-16t09:30:00z", "2026-11-16T09:30:00Z"),
        ("2026-11-16 09:30:00Z", "2026-11-16T09:30:00Z"),
        ("2026-11-16T09:30:00.5+02:00", "2026-11-16T07:30:00.500000Z"),
        ("2026-11-16T09:30:00.123456789-00:00", "2026-11-16T09:30:00.123456Z"),
    ],
)
def test_rfc_3339_is_read_and_written_in_utc(text, written):
    moment = MOMENT.validate_json(f'"{text}"')
    assert moment.tzinfo is UTC
    assert MOMENT.dump_json(moment).decode() == f'"{written}"'


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-16T09:30:00",
        "2026-11-16",
        "1700000000",
        "2026-13-01T00:00:00Z",
        "2026-11-16T09:30:00+99:00",
        "2026-11-16T09:30Z",
        "٢٠٢٦-11-16T09:30:00Z",
        "yesterday",
        "",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(ValidationError, match="RFC 3339 date and time with its offset"):
        MOMENT.validate_json(f'"{text}"')


def test_a_moment_that_utc_has_no_year_for_is_refused():
    with pytest.raises(ValidationError, match="years 1 to 9999"):
        MOMENT.validate_json('"0001-01-01T00:00:00+14:00"')


def test_a_datetime_needs_its_zone_as_well():
    with pytest.raises(ValidationError, match="timezone"):
        MOMENT.validate_python(datetime(2026, 11, 16, 9, 30))  # noqa: DTZ001
    there = datetime(2026, 11, 16, 9, 30, tzinfo=timezone(timedelta(hours=2)))
    assert MOMENT.validate_python(there) == there

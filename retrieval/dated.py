"""Memories of dated files fade: yesterday's notes say more about today than last year's."""

import re
from datetime import UTC, date, datetime, time

HALF_LIFE_DAYS = 30.0

_DATED_FILE = re.compile(r"(?:.*/)?(\d{4}-\d{2}-\d{2})\.md", re.DOTALL)


def freshness(
    source_path: str | None, at: datetime, half_life_days: float = HALF_LIFE_DAYS
) -> float:
    """Return what a score is multiplied by: 2^(−age/half-life) for YYYY-MM-DD.md, else 1."""
    dated = source_path and _DATED_FILE.fullmatch(source_path)
    if not dated:
        return 1.0
    try:
        midnight = datetime.combine(date.fromisoformat(dated[1]), time(), UTC)
    except ValueError:  # Such as the 31st of February: a name like any other.
        return 1.0
    age_days = (at - midnight).total_seconds() / 86_400
    return float(2.0 ** (-max(age_days, 0.0) / half_life_days))

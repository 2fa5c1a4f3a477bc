"""Reads how far back a query wants to look."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from storage.words import folded

_DAYS: Final = {"day": 1, "week": 7, "sprint": 14, "month": 31, "quarter": 92, "year": 366}
_NUMBERS: Final = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
}
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_UNIT: Final = "|".join(_DAYS)
# "last quarter" reaches from now to the beginning of the one before this: twice its length.
_LAST: Final = re.compile(rf"\b(?:last|previous)\s+({_UNIT})\b")
_THIS: Final = re.compile(rf"\b(?:this|past)\s+({_UNIT})\b")
_NUMBER: Final = rf"\d{{1,3}}|{'|'.join(_NUMBERS)}"
_COUNT: Final = re.compile(rf"\b(?:last|past|previous)\s+({_NUMBER})\s+({_UNIT})s?\b")
_SINCE_YEAR: Final = re.compile(r"\bsince\s+((?:19|20)\d\d)\b")
_SINCE_MONTH: Final = re.compile(rf"\bsince\s+({'|'.join(_MONTHS)})\b(?:\s+((?:19|20)\d\d)\b)?")


def period(query: str, at: datetime) -> timedelta | None:
    """Return how old a memory may be at most, None if the query does not say."""
    text = folded(query)
    if found := _COUNT.search(text):
        count = int(found[1]) if found[1].isdecimal() else _NUMBERS[found[1]]
        return timedelta(days=count * _DAYS[found[2]])
    if found := _LAST.search(text):
        return timedelta(days=2 * _DAYS[found[1]])
    if found := _THIS.search(text):
        return timedelta(days=_DAYS[found[1]])
    if re.search(r"\b(?:since\s+)?yesterday\b", text):
        return timedelta(days=2)
    return _since(text, at)


def _since(text: str, at: datetime) -> timedelta | None:
    if found := _SINCE_MONTH.search(text):
        month = _MONTHS.index(found[1]) + 1
        year = int(found[2]) if found[2] else at.year - (month > at.month)
    elif found := _SINCE_YEAR.search(text):
        month, year = 1, int(found[1])
    else:
        return None
    age = at - datetime(year, month, 1, tzinfo=UTC)
    return age if age > timedelta() else None

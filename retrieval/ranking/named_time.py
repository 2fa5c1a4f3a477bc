"""Which months a query names, and of which years: a memory of that time is more likely meant."""

import re
from datetime import datetime
from typing import Final, NamedTuple

_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_NAMES: Final = "|".join(_MONTHS)
# April, May, June and August are people as well, and one may march: what leads to a month must not
# lead to them. "By", "of" and "from" lead to both ("a note from April").
_LEADING: Final = (
    r"in|during|since|until|till|last|this|next|before|after|around|early|mid|late|each|every"
    r"|(?:start|begin(?:ning)?|middle|mid|half|end|rest|month|weeks?|days?|weekend) of"
)
_LED_TO: Final = re.compile(rf"\b(?:{_LEADING})[ -](?:early |mid[ -]|late )?({_NAMES})\b")
_NOBODY: Final = re.compile(
    r"\b(?:on|of|by|from|to)[ -](january|february|july|september|october|november|december)\b"
)
# "March or April", "from May to July": if one of the two is a month, so is the other.
_JOINED: Final = re.compile(
    rf"\b({_NAMES})(?: ?(?:,|-|–|/|and|or|to|until|till|through) ?)+({_NAMES})\b"
)
_DAY: Final = r"(?:[0-3]?\d(?:st|nd|rd|th)?)"
_YEAR: Final = r"((?:19|20)\d\d)(?![\w-])"
_DATED: Final = re.compile(
    rf"\b{_DAY}(?: of)? ({_NAMES})\b|\b({_NAMES}) {_DAY}\b|\b({_NAMES})(?:,| of)? {_YEAR}"
)
_ANY_YEAR: Final = re.compile(rf"(?<![\w.,-]){_YEAR}")


class NamedTime(NamedTuple):
    """The months that a query names, and the years if it names any."""

    months: frozenset[int] = frozenset()
    years: frozenset[int] = frozenset()

    def has(self, moment: datetime) -> bool:
        """Tell whether a moment is of the time named; never if none is."""
        return moment.month in self.months and (not self.years or moment.year in self.years)

    def __bool__(self) -> bool:
        """Tell whether any time is named."""
        return bool(self.months)


def named_time(query: str) -> NamedTime:
    """Return the time that a query names.

    A year alone is none: "the target for 2026" was set before, and "the 1988 comedy" is a comedy.
    """
    said = query.lower()
    names = {*_LED_TO.findall(said), *_NOBODY.findall(said)}
    names |= {name for match in _DATED.findall(said) for name in match[:3] if name}
    for pair in _JOINED.findall(said):
        if names & {*pair}:
            names |= {*pair}
    if not names:
        return NamedTime()
    return NamedTime(
        frozenset(_MONTHS.index(name) + 1 for name in names),
        frozenset(int(year) for year in _ANY_YEAR.findall(said)),
    )

"""Whether this machine's clock agrees with those of the others."""

from datetime import datetime
from typing import Final

from memstream.doctor.finding import Finding, ok, warn

CLOCK: Final = "clock"
MOST_APART_S: Final = 5.0
"""Far more than a network takes, far less than the window in which a search gets its outcome."""

_REMEDY: Final = "let both keep time by NTP (chrony, systemd-timesyncd)"


def compared(ours: datetime, theirs: datetime, whose: str) -> Finding:
    """Tell whether our clock agrees with another."""
    apart = (ours - theirs).total_seconds()
    if abs(apart) <= MOST_APART_S:
        return ok(CLOCK, f"agrees with {whose}")
    way = "ahead of" if apart > 0 else "behind"
    return warn(CLOCK, f"{abs(apart):.0f} s {way} {whose}", _REMEDY)


def compared_with_newest(ours: datetime, newest: datetime | None, whose: str) -> Finding:
    """Tell whether something was written in our future; that it is old tells nothing."""
    if newest is None:
        return ok(CLOCK, f"nothing to compare it with yet on {whose}")
    ahead = (newest - ours).total_seconds()
    if ahead <= MOST_APART_S:
        return ok(CLOCK, f"nothing on {whose} is from the future")
    return warn(CLOCK, f"the newest message on {whose} is from {ahead:.0f} s ahead", _REMEDY)

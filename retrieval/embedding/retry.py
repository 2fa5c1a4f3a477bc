"""When to ask an HTTP service again, and how long to wait before."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# 408 and 429 ask for patience; a 5xx is the server's trouble and may pass.
_PASSING = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class RetryRules:
    """How patient a client is."""

    # Four attempts wait 0.5 + 1 + 2 s at most: longer than a restart of a model server behind a
    # balancer takes to be noticed, shorter than a search can wait for its embedding.
    attempts: int = 4
    first_delay_s: float = 0.5
    # A server that asks for more than this is down for the purposes of a search.
    longest_delay_s: float = 10.0

    def delay(self, attempt: int, retry_after: str | None) -> float | None:
        """Return the seconds to wait after this attempt (from 1), or None to give up."""
        if attempt >= self.attempts:
            return None
        asked = seconds_asked(retry_after, now=lambda: datetime.now(UTC))
        if asked is not None:
            return asked if asked <= self.longest_delay_s else None
        # Between half and all of the delay, so that clients that failed together spread out.
        longest = min(self.first_delay_s * 2.0 ** (attempt - 1), self.longest_delay_s)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, hides nothing


def is_passing(status: int) -> bool:
    """Say whether the same request may succeed a little later."""
    return status in _PASSING


def seconds_asked(retry_after: str | None, now: Callable[[], datetime]) -> float | None:
    """Read a Retry-After header, which holds seconds or a date; None if it holds neither."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        date = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    # A date without a zone is read as naive; HTTP dates are always in GMT.
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (aware - now()).total_seconds())

"""How a request is passed from one of memstream's agents to another: as it came, and from where."""

from datetime import datetime
from typing import Final

from topics.headers import Header, RawHeaders, pairs

ORIGIN: Final = "memstream-origin"
HANDED_OVER_AT: Final = "memstream-handed-over-at"


class HandoverError(Exception):
    """A message was not handed over by an agent; the message says how one can tell."""


def handover_headers(raw: RawHeaders, origin: str, at: datetime) -> list[Header]:
    """Return the headers of a request that is passed on."""
    kept = [(name, value) for name, value in pairs(raw) if name not in (ORIGIN, HANDED_OVER_AT)]
    return [*kept, (ORIGIN, origin.encode()), (HANDED_OVER_AT, at.isoformat().encode())]


def handover(raw: RawHeaders) -> tuple[str, datetime]:
    """Return the topic a request came from, and when it was passed on."""
    values = dict(pairs(raw))
    try:
        origin, moment = (values[name] or b"" for name in (ORIGIN, HANDED_OVER_AT))
        at = datetime.fromisoformat(moment.decode())
        if at.tzinfo is None:
            raise ValueError("no offset")
        return origin.decode(), at
    except (KeyError, ValueError) as error:
        raise HandoverError(f"a header is missing or malformed: {error}") from error

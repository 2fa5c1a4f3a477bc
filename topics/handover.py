"""How a request is passed from one of memstream's agents to another: as it came, and from where."""

from datetime import datetime
from typing import Final, NamedTuple

from topics.headers import Header, RawHeaders, pairs

ORIGIN: Final = "memstream-origin"
HANDED_OVER_AT: Final = "memstream-handed-over-at"
WRITTEN_AT: Final = "memstream-written-at"
OURS: Final = (ORIGIN, HANDED_OVER_AT, WRITTEN_AT)


class HandoverError(Exception):
    """A message was not handed over by an agent; the message says how one can tell."""


class Handover(NamedTuple):
    """Where a request came from, when it was passed on, and when it had been written."""

    origin: str
    at: datetime
    written_at: datetime


def handover_headers(raw: RawHeaders, handed_over: Handover) -> list[Header]:
    """Return the headers of a request that is passed on."""
    kept = [(name, value) for name, value in pairs(raw) if name not in OURS]
    origin, *moments = handed_over
    told = [origin, *(moment.isoformat() for moment in moments)]
    return [*kept, *((name, one.encode()) for name, one in zip(OURS, told, strict=True))]


def handover(raw: RawHeaders) -> Handover:
    """Return what the headers say of how a request was passed on."""
    values = dict(pairs(raw))
    try:
        origin, at = ((values[name] or b"").decode() for name in (ORIGIN, HANDED_OVER_AT))
        # Earlier builds did not say when it had been written.
        written_at = (values.get(WRITTEN_AT) or at.encode()).decode()
        return Handover(origin, _moment(at), _moment(written_at))
    except (KeyError, ValueError) as error:
        raise HandoverError(f"a header is missing or malformed: {error}") from error


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("no offset")
    return moment

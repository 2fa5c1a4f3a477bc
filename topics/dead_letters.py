"""Dead letters read back: what each is about, and what it takes to send it once more."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from topics.handover import ORIGIN, OURS
from topics.headers import (
    ERROR_PREFIX,
    REDACTED,
    REPLAYS,
    TRIMMED,
    Header,
    Headers,
    RawHeaders,
    bearer,
    pairs,
)
from topics.names import Topic, TopicNames
from topics.salvage import salvage

_REQUESTS: Final = (Topic.SEARCH_REQUESTS, Topic.CONTEXT_REQUESTS)
_READ: Final = tuple(
    topic
    for topic in Topic
    if topic.value.writer != "memstream" or topic in (Topic.DECOMPOSITIONS, Topic.DECISIONS)
)


class UnreplayableError(Exception):
    """A dead letter cannot be sent again; the message says why."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that could not be handled, and why."""

    offset: int
    """Where it is among the dead letters."""
    at: datetime | None
    code: str
    message: str
    topic: str
    partition: int
    original_offset: int
    tenant_id: str
    """As the message says it: nobody has checked that; empty where it cannot be read."""
    replays: int
    """How often it was sent again already."""
    trimmed: int | None
    """How many bytes it had, if it was too large to be kept as a whole."""
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: tuple[Header, ...] = field(repr=False)

    def facts(self) -> dict[str, Any]:
        """Return what is told of it wherever it is shown; not its payload."""
        return {
            "offset": self.offset,
            "at": self.at and self.at.isoformat(),
            "code": self.code,
            "message": self.message,
            "topic": self.topic,
            "partition": self.partition,
            "original_offset": self.original_offset,
            "tenant_id": self.tenant_id,
            "replays": self.replays,
            "bytes": len(self.value or b"") if self.trimmed is None else self.trimmed,
            "trimmed": self.trimmed is not None,
        }

    @classmethod
    def read(
        cls, offset: int, key: bytes | None, value: bytes | None, raw: RawHeaders
    ) -> "DeadLetter":
        """Read one as it is on the topic; what is missing is left empty."""
        headers = pairs(raw)
        told = {name: value or b"" for name, value in headers}
        ids = salvage(value, Headers.parse(headers), own_id=None)
        return cls(
            offset=offset,
            at=_moment(_said(told, "at")),
            code=_said(told, "code"),
            message=_said(told, "message"),
            topic=_said(told, "topic"),
            partition=_number(_said(told, "partition"), -1),
            original_offset=_number(_said(told, "offset"), -1),
            tenant_id=ids.tenant_id,
            replays=_number(told.get(REPLAYS, b"").decode(errors="replace"), 0),
            trimmed=_number(told[TRIMMED].decode(errors="replace"), -1)
            if TRIMMED in told
            else None,
            key=key,
            value=value,
            headers=headers,
        )

    def again(self, names: TopicNames, token: str | None) -> tuple[str, list[Header]]:
        """Return where the message belongs, and its headers; the bytes and the key are its own.

        Tokens are not kept with dead letters, so whoever sends one again does so with their own.
        """
        if self.trimmed is not None:
            raise UnreplayableError(
                f"only its beginning was kept; it was {self.trimmed} bytes at offset "
                f"{self.original_offset} of {self.topic} [{self.partition}]"
            )
        topic, dropped = self.topic, {REPLAYS}
        if names.topic(topic) is Topic.DECOMPOSITIONS:
            # It was handed over: sent there again, its time would have run out long ago.
            topic = (dict(self.headers).get(ORIGIN) or b"").decode(errors="replace")
            dropped |= {*OURS}
            readable: tuple[Topic, ...] = _REQUESTS
        else:
            readable = _READ
        if names.topic(topic) not in readable:
            raise UnreplayableError(f"{topic!r} is not a topic that memstream reads")
        kept = [
            (name, value)
            for name, value in self.headers
            if not name.startswith(ERROR_PREFIX)
            and name not in dropped
            and (name.lower() != "authorization" or value != REDACTED)
        ]
        marked = (REPLAYS, str(self.replays + 1).encode())
        return topic, [*kept, *(bearer(token) if token else ()), marked]


def _said(told: Mapping[str, bytes], name: str) -> str:
    return told.get(ERROR_PREFIX + name, b"").decode(errors="replace")


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else otherwise


def _moment(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else None

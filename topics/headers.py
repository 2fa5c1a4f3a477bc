"""Kafka headers: what callers say beside the message, and what memstream says back."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Self

from topics.traces import is_worth_keeping

Header = tuple[str, bytes | None]
RawHeaders = Iterable[Header] | Mapping[str, bytes | None] | None

ERROR_PREFIX: Final = "memstream-error-"
# Brokers take about 1 MiB a message with its headers; an explanation needs no more than this.
MAX_ERROR_BYTES: Final = 1024
REDACTED: Final = b"redacted"
MAX_TRIMMED_HEADERS: Final = 50
TRIMMED: Final = f"{ERROR_PREFIX}trimmed"
"""On a dead letter too large to be kept as a whole: how many bytes the original had."""
REPLAYS: Final = "memstream-replays"
"""On a dead letter that was sent again: how often, so that one that fails for ever is seen."""

_BEARER: Final = re.compile(r"bearer +(\S+) *", re.IGNORECASE)


def pairs(raw: RawHeaders) -> tuple[Header, ...]:
    """Return headers as pairs, however a Kafka client gives them."""
    if raw is None:
        return ()
    return tuple(raw.items()) if isinstance(raw, Mapping) else tuple(raw)


def _text(value: bytes | None) -> str | None:
    """Text of a header; one that is not UTF-8 is as good as absent, never a reason to fail."""
    try:
        return value.decode() if value else None
    except UnicodeDecodeError:
        return None


def _token(authorization: str | None) -> str | None:
    bearer = _BEARER.fullmatch(authorization or "")
    return bearer[1] if bearer else None


def bearer(token: str) -> list[Header]:
    """Headers of a message that is sent with a token."""
    return [("authorization", f"Bearer {token}".encode())]


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers memstream understands; names are read without regard to case, the last wins."""

    # Not in repr, so that no log line ever shows a token.
    token: str | None = field(default=None, repr=False)
    reply_to: str | None = None
    # Bytes, not text: it is the caller's and goes back exactly as it came.
    correlation_id: bytes | None = None
    traceparent: str | None = None
    # How often it was sent again from the dead letters, as far as it says so.
    replays: str | None = None
    content_type: str | None = None
    cloudevent: Mapping[str, str | None] = field(default_factory=dict)
    original: tuple[Header, ...] = field(default=(), repr=False)

    @classmethod
    def parse(cls, raw: RawHeaders) -> Self:
        """Read headers as a Kafka client gives them: pairs, a mapping, or nothing."""
        original = pairs(raw)
        if not original:
            return cls()  # As most messages have none.
        values = {name.lower(): value for name, value in original}
        return cls(
            token=_token(_text(values.get("authorization"))),
            reply_to=_text(values.get("reply-to")),
            correlation_id=values.get("correlation-id"),
            traceparent=_text(values.get("traceparent")),
            replays=_text(values.get(REPLAYS)),
            content_type=_text(values.get("content-type")),
            cloudevent={
                name[3:]: _text(value) for name, value in values.items() if name[:3] == "ce_"
            },
            original=original,
        )

    def carrying(self, traceparent: str | None) -> Self:
        """Return the same with another place in a trace; as they came if nothing is traced."""
        if traceparent is None:
            return self
        others = [one for one in self.original if one[0].lower() != "traceparent"]
        original = (*others, ("traceparent", traceparent.encode()))
        return replace(self, traceparent=traceparent, original=original)

    def trace(self) -> list[Header]:
        """Headers of what is told of a search, and kept with it: its trace, if it is one."""
        if self.traceparent is None or not is_worth_keeping(self.traceparent):
            return []
        return [("traceparent", self.traceparent.encode())]

    def answer(self) -> list[Header]:
        """Headers of an answer: the caller's correlation id and trace, passed on."""
        passed_on: list[Header] = []
        if self.correlation_id is not None:
            passed_on.append(("correlation-id", self.correlation_id))
        if self.traceparent is not None:
            passed_on.append(("traceparent", self.traceparent.encode()))
        return passed_on

    def on_behalf(self) -> list[Header]:
        """Headers of what memstream tells in the caller's name: its trace, and its token."""
        told: list[Header] = []
        if self.token is not None:
            told += bearer(self.token)
        if self.traceparent is not None:
            told.append(("traceparent", self.traceparent.encode()))
        return told


def _shortened(message: str) -> bytes:
    encoded = message.encode(errors="replace")
    if len(encoded) <= MAX_ERROR_BYTES:
        return encoded
    # Cutting bytes may cut a character in half; the half is dropped.
    return encoded[: MAX_ERROR_BYTES - 3].decode(errors="ignore").encode() + "…".encode()


def dead_letter_headers(
    raw: RawHeaders,
    *,
    code: str,
    message: str,
    topic: str,
    partition: int,
    offset: int,
    at: datetime,
    trimmed: int | None = None,
) -> list[Header]:
    """Headers of a dead letter: the original ones but the token, and why and where it failed.

    Of an original with so many bytes that it is trimmed only short headers are kept.
    """
    moment = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    # A letter replayed and dead again tells of its last failure only.
    kept = [
        # Whoever reads dead letters must not be able to act as who sent them.
        (name, REDACTED if name.lower() == "authorization" else value)
        for name, value in pairs(raw)
        if not name.startswith(ERROR_PREFIX)
    ]
    if trimmed is not None:
        short = [(n, v) for n, v in kept if len(n) + len(v or b"") <= MAX_ERROR_BYTES]
        kept = [*short[:MAX_TRIMMED_HEADERS], (TRIMMED, str(trimmed).encode())]
    return [
        *kept,
        (f"{ERROR_PREFIX}code", code.encode()),
        (f"{ERROR_PREFIX}message", _shortened(message)),
        (f"{ERROR_PREFIX}topic", topic.encode()),
        (f"{ERROR_PREFIX}partition", str(partition).encode()),
        (f"{ERROR_PREFIX}offset", str(offset).encode()),
        (f"{ERROR_PREFIX}at", moment.encode()),
    ]

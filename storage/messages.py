"""Messages as text: how stores keep what came and what is to go out."""

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import datetime

from storage.joins import KINDS, Heard, Origin
from topics import Header


def headers_text(headers: Sequence[Header]) -> str:
    """Write headers, whose values may be any bytes."""
    return json.dumps([(name, _text(value)) for name, value in headers])


def headers_of(text: str) -> tuple[Header, ...]:
    """Read headers."""
    return tuple((name, _bytes(value)) for name, value in json.loads(text))


def origin_text(origin: Origin) -> str:
    """Write where a signal came from."""
    return json.dumps(
        {
            "topic": origin.topic,
            "partition": origin.partition,
            "offset": origin.offset,
            "key": _text(origin.key),
            "value": _text(origin.value),
            "headers": headers_text(origin.headers),
        }
    )


def heard_again(kind: str, signal: str, received_at: datetime, origin: str) -> Heard:
    """Read a signal that was parked."""
    came = json.loads(origin)
    return Heard(
        KINDS[kind].model_validate_json(signal),
        received_at,
        Origin(
            came["topic"],
            came["partition"],
            came["offset"],
            _bytes(came["key"]),
            _bytes(came["value"]),
            headers_of(came["headers"]),
        ),
    )


def _text(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)

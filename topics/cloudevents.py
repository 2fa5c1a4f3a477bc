"""CloudEvents 1.0 over Kafka, structured and binary, taken apart into plain messages.

The cloudevents SDK (2.2.0) is not used: it invents a missing id, time and specversion where a wrong
event must be refused, and fails in many ways where reading a message has to fail in one.
"""

import base64
from collections.abc import Mapping
from typing import Any, Final

from topics.faults import DecodeError
from topics.headers import Headers
from topics.parsing import JsonFields, parse_object

STRUCTURED: Final = "application/cloudevents+json"

_REQUIRED: Final = ("specversion", "id", "source", "type")
_DATA: Final = ("data", "data_base64")


def unwrap(headers: Headers, fields: JsonFields) -> tuple[JsonFields, str | None]:
    """Take a message and the event's id out of its CloudEvent; a plain message stays as it is."""
    content_type = (headers.content_type or "").partition(";")[0].strip().lower()
    if content_type.startswith("application/cloudevents"):
        return _unwrap_structured(fields, content_type)
    if headers.cloudevent:
        return fields, _checked_id(headers.cloudevent)
    if _looks_structured(fields):
        return _unwrap_structured(fields, STRUCTURED)
    return fields, None


def _looks_structured(fields: JsonFields) -> bool:
    """Many producers cannot set headers, so what has an event's attributes and data is one."""
    attributes = fields.keys() >= {"specversion", "type", "source"}
    return attributes and not fields.keys().isdisjoint(_DATA)


def _unwrap_structured(event: JsonFields, content_type: str) -> tuple[JsonFields, str]:
    if content_type != STRUCTURED:
        raise _refused(f"content-type: got {content_type[:100]!r}; should be {STRUCTURED!r}")
    event_id = _checked_id(event)
    return _data(event), event_id


def _refused(problem: str) -> DecodeError:
    return DecodeError("invalid_request", f"CloudEvent: {problem}")


def _checked_id(attributes: Mapping[str, Any]) -> str:
    wrong = [name for name in _REQUIRED if not _is_text(attributes.get(name))]
    if wrong:
        raise _refused(f"{', '.join(wrong)} missing, empty or not text")
    if attributes["specversion"] != "1.0":
        raise _refused(f"specversion: got {attributes['specversion'][:100]!r}; should be '1.0'")
    return str(attributes["id"])


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _data(event: JsonFields) -> JsonFields:
    present = [name for name in _DATA if event.get(name) is not None]
    if len(present) != 1:
        raise _refused("should have either data or data_base64")
    if present == ["data_base64"]:
        return _from_base64(event["data_base64"])
    if not isinstance(event["data"], dict):
        raise _refused("data should be a JSON object")
    return event["data"]


def _from_base64(encoded: object) -> JsonFields:
    if not isinstance(encoded, str):
        raise _refused("data_base64 should be text")
    try:
        return parse_object(base64.b64decode(encoded, validate=True))
    except ValueError:
        raise _refused("data_base64 should be base64") from None

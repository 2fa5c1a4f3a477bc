"""Messages to records and back."""

import json
from typing import Final, TypeVar

from pydantic import ValidationError

from models import Record
from topics.cloudevents import unwrap
from topics.complaints import code_of, describe
from topics.faults import DecodeError
from topics.headers import Headers, RawHeaders
from topics.parsing import parse_object
from topics.salvage import salvage

# The largest item within its limits fits: 65,536 characters outside the basic plane, each escaped
# in 12 bytes, and its metadata. It is also what brokers take by default.
MAX_VALUE_BYTES: Final = 1024 * 1024

R = TypeVar("R", bound=Record)


def encode(record: Record) -> bytes:
    """Write a record as a message."""
    return record.model_dump_json().encode()


def decode(
    model: type[R],
    value: bytes | None,
    headers: Headers | RawHeaders = None,
    *,
    own: bool = False,
) -> R:
    """Read a message as a record, unwrapping a CloudEvent; fails only with DecodeError.

    What memstream wrote itself may be larger, such as a result with long memories, and is no
    CloudEvent; the model alone reads it, as nobody else has to understand it in the same way.
    """
    parsed = headers if isinstance(headers, Headers) else Headers.parse(headers)
    try:
        there = _within(value, None if own else MAX_VALUE_BYTES)
        return model.model_validate_json(there if own else _payload(model, there, parsed))
    except DecodeError as fault:
        code, message = fault.code, fault.message
    except ValidationError as error:
        code, message = code_of(error), describe(error)
    except RecursionError:
        code, message = "invalid_request", "value: nested too deeply"
    raise DecodeError(code, message, salvage(value, parsed, own_id=_own_id(model)))


def _within(value: bytes | None, max_bytes: int | None) -> bytes:
    if not value:
        got = "null" if value is None else "nothing"
        raise DecodeError("invalid_request", f"value: got {got}; should be a JSON object")
    if max_bytes is not None and len(value) > max_bytes:
        raise DecodeError(
            "too_large", f"value: got {len(value)} bytes; should have at most {max_bytes}"
        )
    return value


def _payload(model: type[Record], value: bytes, headers: Headers) -> bytes:
    """JSON to validate; the bytes as they came unless a CloudEvent was around them."""
    fields = parse_object(value)
    payload, event_id = unwrap(headers, fields)
    own_id = _own_id(model)
    if event_id is not None and own_id is not None and own_id not in payload:
        # The sender has named its event already; asking for a second name would be pedantry.
        payload = {**payload, own_id: event_id}
    return value if payload is fields else json.dumps(payload).encode()


def _own_id(model: type[Record]) -> str | None:
    """Field that names the message itself: a signal's request_id names the search instead."""
    return next((name for name in ("event_id", "request_id") if name in model.model_fields), None)

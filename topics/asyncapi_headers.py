"""Kafka headers as the AsyncAPI document describes them."""

from typing import Any, Final

from topics.headers import ERROR_PREFIX, REPLAYS, TRIMMED

Node = dict[str, Any]


def _text(description: str) -> Node:
    return {"type": "string", "description": description}


def _headers(**described: str) -> Node:
    names = {name.replace("_", "-"): _text(text) for name, text in described.items()}
    return {"type": "object", "properties": names}


CORRELATION_ID: Final[Node] = {
    "description": "The caller's own id of a request, echoed in its answer.",
    "location": "$message.header#/correlation-id",
}

EVENT_HEADERS: Final = _headers(
    authorization="Bearer and a JWT (HS256, RS256 or EdDSA) with the claims tenant, sub and roles.",
    reply_to="The topic the answer goes to instead of the usual one, if the tenant may use it.",
    correlation_id="The caller's own id of the request; the answer carries it.",
    traceparent="W3C trace context; the answer and the trajectory carry it on.",
)

DEAD_LETTER_HEADERS: Final[Node] = {
    "type": "object",
    "properties": {
        f"{ERROR_PREFIX}code": _text("The kind of failure."),
        f"{ERROR_PREFIX}message": _text("The failure in words."),
        f"{ERROR_PREFIX}topic": _text("The topic the message was on."),
        f"{ERROR_PREFIX}partition": _text("The partition it was in."),
        f"{ERROR_PREFIX}offset": _text("The offset it had."),
        f"{ERROR_PREFIX}at": _text("When it failed, in RFC 3339."),
        TRIMMED: _text("How many bytes it had; only if it was too large to be kept as a whole."),
        REPLAYS: _text("How often it has been sent again."),
    },
}

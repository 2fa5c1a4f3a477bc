"""Records to messages, and answers back to records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError

from memstream_client.answers import Answer, ContextAssembled, SearchResult
from memstream_client.caller import Header
from memstream_client.errors import InvalidRequestError, UnreadableResultError
from memstream_client.events import (
    ContextUsage,
    Feedback,
    Item,
    QueryRefinement,
    SessionAbandonment,
    Signal,
)
from memstream_client.records import Record
from memstream_client.requests import ContextRequest, SearchRequest

DEFAULT_PREFIX: Final = "memory."

TOPICS: Final[dict[type[Record], str]] = {
    SearchRequest: "search.requests",
    SearchResult: "search.results",
    ContextRequest: "context.requests",
    ContextAssembled: "context.assembled",
    Item: "items",
    ContextUsage: "context.usage",
    QueryRefinement: "query.refinements",
    SessionAbandonment: "session.abandonments",
    Feedback: "feedback",
}
"""What each topic is called behind the prefix."""

A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True)
class Message:
    """What is published."""

    topic: str
    key: bytes
    value: bytes
    headers: Sequence[Header]


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered, as it came."""

    value: bytes
    correlation_id: str | None


class _Answered(BaseModel):
    """Only what tells whose an answer is."""

    model_config = ConfigDict(extra="ignore")

    request_id: str


def message(
    record: SearchRequest | ContextRequest | Item | Signal, prefix: str, headers: Sequence[Header]
) -> Message:
    """Write a record as a message; its key keeps a session's messages in order."""
    try:
        value = record.model_dump_json(exclude_none=True).encode()
    except PydanticSerializationError as error:
        raise InvalidRequestError(str(error)) from None
    key = f"{record.tenant_id}/{record.session_id or ''}".encode()
    return Message(prefix + TOPICS[type(record)], key, value, headers)


def request_of(reply: Reply) -> str | None:
    """Return the request that an answer belongs to; a broken request's id is only in the header."""
    if reply.correlation_id is not None:
        return reply.correlation_id
    try:
        return _Answered.model_validate_json(reply.value).request_id
    except ValidationError:
        return None


def read(model: type[A], reply: Reply) -> A:
    """Read an answer."""
    try:
        return model.model_validate_json(reply.value)
    except ValidationError as error:
        reason = "the answer cannot be read; is the client older than the service?"
        raise UnreadableResultError(f"{reason} ({error})") from error

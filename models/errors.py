"""What an answer says when a request could not be served."""

from typing import Literal

from models.records import Record

ErrorCode = Literal[
    "invalid_request", "unauthorized", "forbidden", "too_large", "unavailable", "internal"
]

Status = Literal["ok", "error"]


class ErrorInfo(Record):
    """Why a request failed."""

    code: ErrorCode
    """The kind of failure, for programs."""
    message: str
    """The failure in words, for people."""

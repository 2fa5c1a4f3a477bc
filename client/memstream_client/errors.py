"""What can go wrong, each with a type of its own; all are a MemstreamError."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memstream_client.answers import Answer
    from memstream_client.security import Refusal


class MemstreamError(Exception):
    """Something went wrong; the message says what, and what to do."""


class BrokerError(MemstreamError):
    """The broker cannot be reached, or does not take or give messages."""

    def __init__(self, message: str, refusal: "Refusal | None" = None) -> None:
        """Keep why the broker turned us away, if it did."""
        super().__init__(message)
        self.refusal = refusal


class ResultTimeoutError(MemstreamError, TimeoutError):
    """A request was published, but its result did not come in time."""


class UnreadableResultError(MemstreamError):
    """A result came that this version of the client cannot read."""


class RequestError(MemstreamError):
    """A request was answered with an error, or is refused before it is sent."""

    code: str = "internal"

    def __init__(self, message: str, answer: "Answer | None" = None) -> None:
        """Keep what was answered, if anything was."""
        super().__init__(message)
        self.message = message
        """The reason in words."""
        self.answer = answer
        """The answer; none if the request was not sent."""

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class InvalidRequestError(RequestError):
    """Something in the request is missing or wrong."""

    code = "invalid_request"


class UnauthorizedError(RequestError):
    """The token is missing, expired or wrong."""

    code = "unauthorized"


class ForbiddenError(RequestError):
    """The token does not allow this."""

    code = "forbidden"


class TooLargeError(RequestError):
    """The request or its answer is larger than allowed."""

    code = "too_large"


class UnavailableError(RequestError):
    """A part of the service is away; the same request may succeed later."""

    code = "unavailable"


class InternalError(RequestError):
    """The service failed."""

    code = "internal"


_BY_CODE = {
    kind.code: kind
    for kind in (
        InvalidRequestError,
        UnauthorizedError,
        ForbiddenError,
        TooLargeError,
        UnavailableError,
        InternalError,
    )
}


def request_error(answer: "Answer") -> RequestError:
    """Return the error that an answer tells of."""
    assert answer.error is not None
    return _BY_CODE[answer.error.code](answer.error.message, answer)

"""What every answer to a request has in common."""

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from models.errors import ErrorInfo, Status
from models.identifiers import EchoedIdentifier
from models.quantities import Moment
from models.records import Record


class Answer(Record):
    """An answer; every field is always written, nulls included, so its shape tells nothing."""

    request_id: EchoedIdentifier
    """The request answered; empty when it could not be read."""
    tenant_id: EchoedIdentifier
    """The tenant of the request; empty when it could not be read."""
    session_id: EchoedIdentifier
    """The session of the request; empty when it could not be read."""
    status: Status
    """Whether the request was served."""
    degraded: bool
    """Whether something helpful had to be left out to answer in time."""
    error: ErrorInfo | None
    """Why it was not served; null when it was."""
    completed_at: Moment
    """When the answer was ready."""

    @model_validator(mode="after")
    def _status_tells_of_error(self) -> Self:
        if (self.status == "error") != (self.error is not None):
            raise PydanticCustomError("status_contradicts_error", "error: needed if status=error")
        return self

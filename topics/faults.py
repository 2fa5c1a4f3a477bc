"""The one way in which reading a message fails."""

from dataclasses import dataclass
from typing import Literal

DecodeCode = Literal["invalid_request", "too_large"]


@dataclass(frozen=True, slots=True)
class SalvagedIds:
    """The ids that could still be read from a broken message; empty where not."""

    request_id: str = ""
    tenant_id: str = ""
    session_id: str = ""


class DecodeError(Exception):
    """A message cannot be read as what its topic carries."""

    def __init__(self, code: DecodeCode, message: str, ids: SalvagedIds | None = None) -> None:
        """Keep what an error result and a dead letter need to say."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.ids = ids or SalvagedIds()

    def __reduce__(self) -> tuple[type["DecodeError"], tuple[DecodeCode, str, SalvagedIds]]:
        """Pickle all of it, where an exception alone would only keep its message."""
        return type(self), (self.code, self.message, self.ids)


RefusalCode = Literal["unauthorized", "forbidden"]


class RefusedError(Exception):
    """A message can be read, but its sender may not ask for what it asks for."""

    def __init__(self, code: RefusalCode, message: str) -> None:
        """Keep what an error result and a dead letter need to say; never the token."""
        super().__init__(message)
        self.code = code
        self.message = message

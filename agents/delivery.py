"""A message as an agent gets it, and what an agent can do with one."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from topics import Header, RawHeaders

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message off Kafka, not yet read."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: RawHeaders
    at: datetime
    """When it was written, by the clock of its producer or broker."""
    by_broker: bool = False
    """Whether that is the broker's clock, which no producer can set."""


Handler = Callable[[Sequence[Delivery]], Awaitable[None]]
"""Handles a batch for good: once it returns, the messages are never seen again."""


OneByOne = Callable[[Delivery], Awaitable[None]]
"""Handles one message for good; several may be under way at once."""


class TooLargeError(Exception):
    """The broker takes no message of this size."""


class UnwritableError(Exception):
    """The broker does not let us write to this topic, or has it no longer."""


Arrival = Callable[[], Awaitable[None]]
"""Waits until the broker has a message, or raises TooLargeError or UnwritableError."""


class Publisher(Protocol):
    """Writes messages to Kafka."""

    async def publish(
        self,
        topic: str,
        *,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
    ) -> None:
        """Return once the broker has the message.

        Raise TooLargeError or UnwritableError if it never will.
        """

    async def begin(
        self,
        topic: str,
        *,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
    ) -> Arrival:
        """Return once the message is on its way, after those that were begun before it."""

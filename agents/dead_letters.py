"""Keeps what could not be handled: the original message, and why."""

from dataclasses import replace
from typing import Final

import structlog

from agents.delivery import Clock, Delivery, Publisher, TooLargeError
from agents.metrics import DEAD_LETTERS
from topics import Headers, Topic, TopicNames, dead_letter_headers

log = structlog.get_logger(__name__)

KEPT_BYTES: Final = 64 * 1024
KEPT_KEY_BYTES: Final = 1024
"""So much is kept of what is too large to be kept as a whole: enough to tell what it was."""


class DeadLetters:
    """Writes messages that failed for a reason of their own to the dead-letters topic."""

    def __init__(self, publisher: Publisher, names: TopicNames, clock: Clock) -> None:
        self._publisher = publisher
        self._topic = names.name(Topic.DEAD_LETTERS)
        self._clock = clock

    async def keep(self, delivery: Delivery, code: str, message: str) -> None:
        """Keep a message with the reason why it was not handled."""
        try:
            await self._publish(delivery, code, message)
        except TooLargeError:
            # With the reason it is larger than the broker takes: where the rest is, it says.
            await self._publish(_beginning(delivery), code, message, trimmed=_size(delivery))
        DEAD_LETTERS.labels(topic=delivery.topic, code=code).inc()
        log.warning(
            "dead letter",
            topic=delivery.topic,
            partition=delivery.partition,
            offset=delivery.offset,
            code=code,
            **_repeated(delivery),
        )
        # It may quote what was sent: the letter tells it to those who may read that.
        log.debug("reason of a dead letter", reason=message)

    async def _publish(
        self, delivery: Delivery, code: str, message: str, trimmed: int | None = None
    ) -> None:
        headers = dead_letter_headers(
            delivery.headers,
            code=code,
            message=message,
            topic=delivery.topic,
            partition=delivery.partition,
            offset=delivery.offset,
            at=self._clock(),
            trimmed=trimmed,
        )
        await self._publisher.publish(
            self._topic, key=delivery.key, value=delivery.value, headers=headers
        )


def _beginning(delivery: Delivery) -> Delivery:
    value, key = delivery.value, delivery.key
    return replace(delivery, value=value and value[:KEPT_BYTES], key=key and key[:KEPT_KEY_BYTES])


def _repeated(delivery: Delivery) -> dict[str, str]:
    """Say how often it was sent again, if it was: one that fails for ever should be seen."""
    replays = Headers.parse(delivery.headers).replays
    return {} if replays is None else {"replays": replays}


def _size(delivery: Delivery) -> int:
    return len(delivery.value or b"")

"""Keeps what could not be handled: the original message, and why."""

import structlog

from agents.delivery import Clock, Delivery, Publisher
from agents.metrics import DEAD_LETTERS
from topics import Topic, TopicNames, dead_letter_headers

log = structlog.get_logger(__name__)


class DeadLetters:
    """Writes messages that failed for a reason of their own to the dead-letters topic."""

    def __init__(self, publisher: Publisher, names: TopicNames, clock: Clock) -> None:
        self._publisher = publisher
        self._topic = names.name(Topic.DEAD_LETTERS)
        self._clock = clock

    async def keep(self, delivery: Delivery, code: str, message: str) -> None:
        """Keep a message with the reason why it was not handled."""
        headers = dead_letter_headers(
            delivery.headers,
            code=code,
            message=message,
            topic=delivery.topic,
            partition=delivery.partition,
            offset=delivery.offset,
            at=self._clock(),
        )
        await self._publisher.publish(
            self._topic, key=delivery.key, value=delivery.value, headers=headers
        )
        DEAD_LETTERS.labels(topic=delivery.topic, code=code).inc()
        log.warning(
            "dead letter",
            topic=delivery.topic,
            partition=delivery.partition,
            offset=delivery.offset,
            code=code,
            reason=message,
        )

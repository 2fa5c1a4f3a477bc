"""The outbox → published."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import structlog

from agents.delivery import Publisher, TooLargeError
from agents.metrics import RETRIES
from agents.outcomes import Outcomes
from agents.patience import FIRST_PAUSE_S, LONGEST_PAUSE_S
from storage.joins import Message

log = structlog.get_logger(__name__)

MOST = 500
"""So many messages are on their way at once; a worker that is killed publishes these again."""

LOOK_AGAIN_S = 1.0
"""How often to look for what another worker left behind; one's own is told at once."""


class Relay:
    """Publishes what the join wrote, at least once, in the order in which it was written."""

    def __init__(self, outcomes: Outcomes, publisher: Publisher) -> None:
        self._outcomes = outcomes
        self._publisher = publisher

    async def run(self) -> None:
        """Publish for ever; what fails is tried again."""
        pause = FIRST_PAUSE_S
        while True:
            try:
                await self.empty()
                pause = FIRST_PAUSE_S
            except Exception as error:
                RETRIES.labels(topic="outbox").inc()
                log.warning("outbox not published, trying again", reason=repr(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
            await self._wait()

    async def empty(self) -> None:
        """Publish until nothing is left."""
        self._outcomes.news.clear()
        while await self._outcomes.joins.relay(self._publish, MOST) == MOST:
            pass

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._outcomes.news.wait(), LOOK_AGAIN_S)

    async def _publish(self, messages: Sequence[Message]) -> None:
        await asyncio.gather(*(self._publish_one(message) for message in messages))

    async def _publish_one(self, message: Message) -> None:
        try:
            await self._publisher.publish(
                message.topic, key=message.key, value=message.value, headers=message.headers
            )
        except TooLargeError as error:
            # It would be too large each time, and hold up all that come after it.
            log.error("message too large to be published", topic=message.topic, reason=str(error))

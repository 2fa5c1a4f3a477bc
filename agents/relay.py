"""The outbox → published."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from agents.delivery import Arrival, Clock, Publisher, TooLargeError, UnwritableError
from agents.metrics import RETRIES, TOO_LARGE
from agents.outcomes import Outcomes
from agents.patience import FIRST_PAUSE_S, LONGEST_PAUSE_S
from storage.joins import Message

log = structlog.get_logger(__name__)

MOST = 500
"""So many messages are on their way at once; a worker that is killed publishes these again."""

TRY_AGAIN_AFTER = timedelta(minutes=10)
"""So long what the broker refused is left alone: somebody has to change its limits first."""

LOOK_AGAIN_S = 1.0
"""How often to look for what another worker left behind; one's own is told at once."""


class Relay:
    """Publishes what the join wrote, at least once, in the order in which it was written."""

    def __init__(self, outcomes: Outcomes, publisher: Publisher, clock: Clock) -> None:
        self._outcomes = outcomes
        self._publisher = publisher
        self._clock = clock
        self._released_at: datetime | None = None

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
        """Publish until nothing is left; what was refused is tried again now and then."""
        self._outcomes.news.clear()
        joins, at = self._outcomes.joins, self._clock()
        if self._released_at is None or at - self._released_at >= TRY_AGAIN_AFTER:
            # A worker that starts tries at once: its broker may have been told to take more.
            await joins.release(at if self._released_at is None else at - TRY_AGAIN_AFTER)
            self._released_at = at
        while await joins.relay(self._publish, MOST, self._clock()) == MOST:
            pass

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._outcomes.news.wait(), LOOK_AGAIN_S)

    async def _publish(self, messages: Sequence[Message]) -> Collection[int]:
        """Publish messages; return the places of those that the broker does not take."""
        # One after the other into the producer's batches: if all tried at once, all that find no
        # room would wake up each time that a batch is sent, for a few of them to find some.
        arrivals = [
            await self._publisher.begin(
                one.topic, key=one.key, value=one.value, headers=one.headers
            )
            for one in messages
        ]
        taken = await asyncio.gather(*map(_taken, messages, arrivals))
        return [place for place, one in enumerate(taken) if not one]


async def _taken(message: Message, arrival: Arrival) -> bool:
    """Return whether the broker took a message; what it does not take must hold up no other."""
    try:
        await arrival()
    except TooLargeError as error:
        TOO_LARGE.labels(topic=message.topic).inc()
        _refused(message, "raise the topic's max.message.bytes", error)
        return False
    except UnwritableError as error:
        _refused(message, "see that the topic is there and memstream may write to it", error)
        return False
    return True


def _refused(message: Message, remedy: str, error: Exception) -> None:
    log.error(
        "message refused by its topic, kept",
        remedy=remedy,
        topic=message.topic,
        bytes=len(message.value or b""),
        reason=str(error),
    )

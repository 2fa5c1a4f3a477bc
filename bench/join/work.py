"""The work itself, with nothing around it: what the limit and the peer do with a batch."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Self

from agents.registry import MAX_BATCH
from learning.labelling import Labeller, Windows
from learning.rewards import RewardWeights
from memstream.clock import now
from memstream.garbage import collect_rarely
from models import (
    ContextUsage,
    Decision,
    Feedback,
    QueryRefinement,
    SessionAbandonment,
    Signal,
)
from storage import Use
from storage.joins import Heard, Origin, Publish
from storage.postgres import PostgresStore
from topics import Topic, TopicNames, decode

BATCH = MAX_BATCH[Topic.DECISIONS]
RELAYED = 500

SIGNALS: dict[Topic, type[Signal]] = {
    Topic.CONTEXT_USAGE: ContextUsage,
    Topic.FEEDBACK: Feedback,
    Topic.QUERY_REFINEMENTS: QueryRefinement,
    Topic.SESSION_ABANDONMENTS: SessionAbandonment,
}
TOPICS = (Topic.DECISIONS, *SIGNALS)


class Given(NamedTuple):
    """A message as a Kafka client gave it."""

    partition: int
    offset: int
    key: bytes
    value: bytes
    timestamp_ms: int

    @property
    def at(self) -> datetime:
        """When it was written."""
        return datetime.fromtimestamp(self.timestamp_ms / 1000, UTC)


class Work:
    """Decodes messages, and writes what they say."""

    def __init__(self, store: PostgresStore, names: TopicNames) -> None:
        self._store = store
        self._names = names
        windows = Windows(timedelta(minutes=10), timedelta(days=1))
        self._labeller = Labeller(windows, RewardWeights(), names, now)

    @classmethod
    async def open(cls) -> Self:
        """Open the store that the environment names, as a worker would."""
        names = TopicNames(os.environ["MEMSTREAM_TOPIC_PREFIX"])
        # By default both would take up to a fifth longer.
        collect_rarely()
        return cls(await PostgresStore.open(os.environ["MEMSTREAM_DATABASE"]), names)

    @property
    def group(self) -> str:
        """The consumer group of this run."""
        return f"bench-{self._names.prefix}"

    @property
    def topics(self) -> dict[str, Topic]:
        """The topics to read, by their names."""
        return {self._names.name(topic): topic for topic in TOPICS}

    async def take(self, topic: Topic, messages: Sequence[Given]) -> None:
        """Do what messages of one topic ask for, so many in a transaction."""
        for start in range(0, len(messages), BATCH):
            await self._take(topic, messages[start : start + BATCH])

    async def publish(self, publish: Publish) -> None:
        """Publish all that waits in the outbox."""
        while await self._store.joins.relay(publish, RELAYED, now()) == RELAYED:
            pass

    async def _take(self, topic: Topic, messages: Sequence[Given]) -> None:
        joins = self._store.joins
        if topic is Topic.DECISIONS:
            decided = [
                # As a worker does: a course is not written again that has been written already.
                self._labeller.decided(
                    decode(Decision, one.value, own=True), one.at, None, one.value
                )
                for one in messages
            ]
            await joins.decide(decided, self._labeller, now())
            return
        heard = [self._heard(topic, one) for one in messages]
        if topic is Topic.CONTEXT_USAGE:
            await self._store.use([_use(one) for one in heard])
        if topic is Topic.FEEDBACK:
            await self._store.unknown([(one.signal.tenant_id, _judged(one)) for one in heard])
        await joins.hear(heard, self._labeller, now())

    def _heard(self, topic: Topic, one: Given) -> Heard:
        origin = Origin(self._names.name(topic), one.partition, one.offset, one.key, one.value, ())
        return Heard(decode(SIGNALS[topic], one.value), one.at, origin)


def _use(heard: Heard) -> Use:
    assert isinstance(heard.signal, ContextUsage)
    return Use(heard.signal, heard.received_at)


def _judged(heard: Heard) -> str:
    assert isinstance(heard.signal, Feedback)
    return heard.signal.memory_id or ""

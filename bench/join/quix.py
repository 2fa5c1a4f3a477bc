"""The peer: Quix Streams with a sink that does the work at each checkpoint."""

import asyncio
import logging
import os
from collections.abc import Coroutine, Sequence
from typing import Any

from quixstreams import Application
from quixstreams.sinks import BaseSink

from bench.join.work import BATCH, TOPICS, Given, Work
from storage.joins import Message

COMMIT_INTERVAL_S = 0.1
"""When there is little to do: a checkpoint is committed after 640 messages, or after this."""


class JoinSink(BaseSink):
    """Gathers messages, and writes and publishes when a checkpoint is committed."""

    def __init__(self, app: Application) -> None:
        super().__init__()
        self._loop = asyncio.new_event_loop()
        self._work: Work = self._wait(Work.open())
        self.topics = self._work.topics
        self._given: dict[str, list[Given]] = {}
        self._producer = app.get_producer()

    def add(
        self,
        value: Any,
        key: Any,
        timestamp: int,
        headers: Any,
        topic: str,
        partition: int,
        offset: int,
    ) -> None:
        """Keep a message until the checkpoint."""
        self._given.setdefault(topic, []).append(Given(partition, offset, key, value, timestamp))

    def flush(self) -> None:
        """Write and publish what was gathered; the offsets are committed after this."""
        given, self._given = self._given, {}
        if given:
            self._wait(self._write(given))

    async def _write(self, given: dict[str, list[Given]]) -> None:
        for name, messages in given.items():
            await self._work.take(self.topics[name], messages)
        await self._work.publish(self._publish)

    async def _publish(self, messages: Sequence[Message]) -> Sequence[int]:
        for one in messages:
            self._producer.produce(one.topic, value=one.value, key=one.key)
        assert not self._producer.flush()
        return ()

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


def main() -> None:
    """Run the application."""
    logging.basicConfig(level=logging.WARNING)
    app = Application(
        broker_address=os.environ["MEMSTREAM_BROKER"].removeprefix("kafka://"),
        consumer_group=os.environ["MEMSTREAM_TOPIC_PREFIX"],
        auto_offset_reset="earliest",
        commit_interval=COMMIT_INTERVAL_S,
        commit_every=len(TOPICS) * BATCH,
        consumer_extra_config={"fetch.wait.max.ms": 20},
        producer_extra_config={"acks": "all", "linger.ms": 2},
        auto_create_topics=False,
    )
    sink = JoinSink(app)
    for name in sink.topics:
        topic = app.topic(name, key_deserializer="bytes", value_deserializer="bytes")
        app.dataframe(topic).sink(sink)
    app.run()


if __name__ == "__main__":
    main()

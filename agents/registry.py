"""The one place where agents meet their topics."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agents.batches import handle_in_batches
from agents.delivery import Clock, Handler
from topics import Topic, TopicNames

MAX_BATCH = {
    # An embedding takes about 4 ms of a core, so a batch of items stays under half a second …
    Topic.ITEMS: 64,
    # … and searches, whose callers wait, go in smaller ones.
    Topic.SEARCH_REQUESTS: 32,
    # Nobody waits for signals, but searches wait while the embedded store counts: 20 ms for these.
    Topic.CONTEXT_USAGE: 128,
    Topic.FEEDBACK: 128,
}


def register(app: Any, names: TopicNames, handlers: Mapping[Topic, Handler], clock: Clock) -> None:
    """Register an agent for each topic that has a handler."""
    for topic, handler in handlers.items():
        source = app.topic(
            names.name(topic), key_type=bytes, value_type=bytes, value_serializer="raw"
        )
        agent = _agent(app, handler, MAX_BATCH[topic], clock)
        # concurrency stays 1: with more, Faust can commit past a message in flight (faust#606).
        app.agent(source, name=topic.value.suffix)(agent)


def _agent(
    app: Any, handler: Handler, max_batch: int, clock: Clock
) -> Callable[[Any], Awaitable[None]]:
    async def agent(stream: Any) -> None:
        try:
            await handle_in_batches(stream, handler, max_batch, clock)
        except Exception as error:
            # Faust would start the agent again behind the batch that failed, and that batch would
            # never be done. The worker ends instead, and what it did not acknowledge comes again.
            await app.crash(error)
            await asyncio.Event().wait()

    return agent

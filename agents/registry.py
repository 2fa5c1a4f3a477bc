"""The one place where agents meet their topics."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from faust.serializers.schemas import Schema

from agents.batches import Pace, handle_in_batches, handle_side_by_side
from agents.delivery import Clock, Handler, OneByOne
from agents.precedence import AtOnce, Following, Leading, Turns
from topics import Topic, TopicNames

MAX_BATCH = {
    # An embedding takes about 4 ms of a core, so a batch of items stays under half a second …
    Topic.ITEMS: 64,
    # … and searches, whose callers wait, go in smaller ones.
    Topic.SEARCH_REQUESTS: 32,
    Topic.CONTEXT_REQUESTS: 32,
    # Nobody waits for signals, but searches wait while the embedded store counts: 20 ms for these.
    Topic.CONTEXT_USAGE: 128,
    Topic.FEEDBACK: 128,
    Topic.DECISIONS: 128,
    Topic.QUERY_REFINEMENTS: 128,
    Topic.SESSION_ABANDONMENTS: 128,
    # Two steps of learning of one tenant, or three: some ten milliseconds.
    Topic.TRAJECTORIES: 40,
}


LINGER_S = 0.05
"""So long a small batch waits for more where nobody waits for what comes of it: a transaction costs
as much for one event as for thirty."""

LANES = {Topic.DECISIONS: 2, Topic.CONTEXT_USAGE: 2}
"""Searches, and most of what is told of them: reading a batch takes as long as writing it, so one
is read while another is written. Sessions are in one lane, as they are in one partition."""

SIGNALS = {
    Topic.CONTEXT_USAGE,
    Topic.FEEDBACK,
    Topic.QUERY_REFINEMENTS,
    Topic.SESSION_ABANDONMENTS,
}

AWAITED = {Topic.ITEMS, Topic.SEARCH_REQUESTS, Topic.CONTEXT_REQUESTS}
"""Somebody waits for an answer, or searches for what was just remembered."""

IN_FLIGHT = 64
"""So many requests are taken apart at a time: nearly all of them wait for a language model."""


class _AsTheyCame(Schema[bytes, bytes]):
    """Hands messages on as they came: agents read them, and Faust's codecs take 30 µs of each."""

    def compile(self, app: Any, **_: Any) -> Any:
        """Return what makes an event of a message."""
        create_event = app.create_event

        async def decode(message: Any, *, propagate: bool = False) -> Any:
            return create_event(message.key, message.value, message.headers, message)

        return decode


def register(
    app: Any,
    names: TopicNames,
    batched: Mapping[Topic, Handler],
    one_by_one: Mapping[Topic, OneByOne],
    clock: Clock,
) -> None:
    """Register an agent for each topic that has a handler."""
    searches = Leading()
    for topic, handler in batched.items():
        lanes = LANES.get(topic, 1)
        linger_s = 0.0 if topic in AWAITED else LINGER_S
        work = partial(
            handle_in_batches,
            handler=handler,
            pace=Pace(lanes * MAX_BATCH[topic], linger_s, lanes),
            clock=clock,
            turns=_turns(topic, searches),
        )
        _register(app, names, topic, work)
    for topic, single in one_by_one.items():
        work = partial(handle_side_by_side, handler=single, in_flight=IN_FLIGHT, clock=clock)
        _register(app, names, topic, work)


def _turns(topic: Topic, searches: Leading) -> Turns:
    if topic is Topic.DECISIONS:
        return searches
    return Following(searches) if topic in SIGNALS else AtOnce()


def _register(
    app: Any, names: TopicNames, topic: Topic, work: Callable[[Any], Awaitable[None]]
) -> None:
    source = app.topic(names.name(topic), schema=_AsTheyCame(key_type=bytes, value_type=bytes))

    async def agent(stream: Any) -> None:
        try:
            await work(stream)
        except Exception as error:
            # Faust would start the agent again behind the batch that failed, and that batch would
            # never be done. The worker ends instead, and what it did not acknowledge comes again.
            await app.crash(error)
            await asyncio.Event().wait()

    # concurrency stays 1: with more, Faust can commit past a message in flight (faust#606).
    app.agent(source, name=topic.value.suffix)(agent)

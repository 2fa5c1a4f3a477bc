"""Faust's aiokafka transport, made prompt, patient with the embedded broker, and honest.

Faust offers no settings for these, so they are set on the objects of aiokafka that it creates;
tests fail if a new version names them differently.
"""

import inspect
import time
import types
from collections.abc import Mapping
from functools import partial
from typing import Any

from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer, Transport
from memstream_client.listener import FETCH_MAX_WAIT_MS
from mode.services import WaitResults

FOLLOWERS_FIRST_S = 0.25
"""How long a group's leader lets the other workers go first.

The embedded broker thinks a group complete when its leader has spoken, and turns away a worker
that speaks later. A real broker loses this quarter of a second at a rebalance.
"""


class UnhurriedAssignor(RoundRobinPartitionAssignor):  # type: ignore[misc]
    """Deals out partitions in turn, the leader last."""

    @classmethod
    def assign(cls, cluster: Any, members: Any) -> Any:
        """Run by the leader, in the consumer's own thread."""
        if len(members) > 1:
            time.sleep(FOLLOWERS_FIRST_S)
        return super().assign(cluster, members)


class StreamConsumerThread(AIOKafkaConsumerThread):
    """The thread that talks to the broker."""

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = FETCH_MAX_WAIT_MS  # noqa: SLF001
        consumer._partition_assignment_strategy = [UnhurriedAssignor]  # noqa: SLF001
        return consumer

    async def seek_to_committed(self) -> Any:
        """Go back to what is committed, and where nothing is, to the beginning."""
        return await self.call_thread(self._seek_to_committed)

    async def _seek_to_committed(self) -> Any:
        """Do so in the thread.

        aiokafka stays where it is in a partition of which nothing was ever committed. What was
        fetched there and thrown away, because a rebalance was under way, would never be read again;
        and once something newer is committed, it would be lost.
        """
        consumer = self._ensure_consumer()
        committed = await consumer.seek_to_committed()
        unread = [partition for partition, offset in committed.items() if not offset]
        if unread:
            await consumer.seek_to_beginning(*unread)
        return committed

    def has_left_group(self) -> bool:
        """Tell whether group membership has ended for good: nothing would ever be read again."""
        coordinator = self._consumer._coordinator if self._consumer else None  # noqa: SLF001
        return coordinator is not None and coordinator._coordination_task.done()  # noqa: SLF001


class StreamConsumer(Consumer):
    """A consumer with such a thread, that hands on at once what nothing holds up."""

    _thread: StreamConsumerThread

    async def wait_first(self, *coros: Any, **limit: Any) -> Any:
        """Wait for one of several, as Faust does when it hands on a message.

        It makes four tasks of each message, in case a rebalance begins while the message waits for
        room. Mostly there is room: if the first does not wait for anything, it is done at once.
        """
        first, *others = coros
        if not inspect.iscoroutine(first):
            return await super().wait_first(*coros, **limit)
        try:
            waits_for = first.send(None)
        except BaseException as ended:
            for other in others:
                other.close()
            if isinstance(ended, StopIteration):
                return WaitResults([first], [ended.value], stopped=False)
            raise
        return await super().wait_first(_go_on(first, waits_for), *others, **limit)

    async def _commit_offsets(
        self, offsets: Mapping[Any, int], start_new_transaction: bool = True
    ) -> bool:
        """Commit offsets, and know as committed only what is.

        Faust takes offsets for committed even if the group was dealt out anew meanwhile and the
        broker refused them. What is read again then would count as acknowledged long ago, and
        would never be committed: as long as nothing newer comes, deadlines wait for it.
        """
        of_group = {tp: self._acked[tp] for tp in offsets.keys() & self.assignment()}
        if not of_group:
            return False
        await self.app.producer.flush()
        committed = {tp: offsets[tp] for tp in of_group}
        if not await self._commit(committed):
            return False
        for tp, acked in of_group.items():
            # When partitions are dealt out anew, lists are too; what counts then is where
            # reading began.
            if self._acked.get(tp) is acked:
                self._committed_offset[tp] = offsets[tp]
        self.app.monitor.on_tp_commit(committed)
        return True

    def _new_consumer_thread(self) -> StreamConsumerThread:
        return StreamConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def has_left_group(self) -> bool:
        """Tell whether this worker is no longer a member of its group, and will not be again."""
        return self._thread.has_left_group()


async def _go_on(begun: Any, waits_for: Any) -> Any:
    """Wait for what a coroutine that was begun waits for, and do the rest of it."""
    return await _the_rest(begun, waits_for)


@types.coroutine
def _the_rest(begun: Any, waits_for: Any) -> Any:
    while True:
        try:
            yield waits_for
        except BaseException as error:
            go_on = partial(begun.throw, error)
        else:
            go_on = partial(begun.send, None)
        try:
            waits_for = go_on()
        except StopIteration as done:
            return done.value


class StreamTransport(Transport):
    """The transport that makes such consumers."""

    Consumer = StreamConsumer

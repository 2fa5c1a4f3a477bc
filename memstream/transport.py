"""Faust's aiokafka transport, made prompt, patient with the embedded broker, and honest.

Faust offers no settings for these, so they are set on the objects of aiokafka that it creates;
tests fail if a new version names them differently.
"""

import time
from typing import Any

from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer, Transport

from memstream.messenger import FETCH_MAX_WAIT_MS

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

    def has_left_group(self) -> bool:
        """Tell whether group membership has ended for good: nothing would ever be read again."""
        coordinator = self._consumer._coordinator if self._consumer else None  # noqa: SLF001
        return coordinator is not None and coordinator._coordination_task.done()  # noqa: SLF001


class StreamConsumer(Consumer):
    """A consumer with such a thread."""

    _thread: StreamConsumerThread

    def _new_consumer_thread(self) -> StreamConsumerThread:
        return StreamConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def has_left_group(self) -> bool:
        """Tell whether this worker is no longer a member of its group, and will not be again."""
        return self._thread.has_left_group()


class StreamTransport(Transport):
    """The transport that makes such consumers."""

    Consumer = StreamConsumer

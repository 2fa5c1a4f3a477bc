"""Faust's aiokafka transport, with a shorter wait for new messages."""

from typing import Any

from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer, Transport

from memstream.messenger import FETCH_MAX_WAIT_MS


class PromptConsumerThread(AIOKafkaConsumerThread):
    """The thread that fetches, asking again soon."""

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        # Faust has no setting for it; aiokafka reads the attribute when it starts.
        assert hasattr(consumer, "_fetch_max_wait_ms")
        consumer._fetch_max_wait_ms = FETCH_MAX_WAIT_MS  # noqa: SLF001
        return consumer


class PromptConsumer(Consumer):
    """A consumer with such a thread."""

    def _new_consumer_thread(self) -> PromptConsumerThread:
        return PromptConsumerThread(self, loop=self.loop, beacon=self.beacon)


class PromptTransport(Transport):
    """The transport that makes such consumers."""

    Consumer = PromptConsumer

"""The Faust application: how it talks to the broker, and how its messages are published."""

import asyncio
import sys
from collections.abc import Awaitable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import faust
from aiokafka.errors import (
    InvalidTopicError,
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    RecordTooLargeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from faust.exceptions import ProducerSendError

from agents.delivery import Arrival, TooLargeError, UnwritableError
from memstream.broker import MAX_MESSAGE_BYTES, Broker
from memstream.stream_metrics import StreamMonitor
from memstream.transport import StreamTransport
from topics import Header

MAX_BATCH_BYTES = 512 * 1024
"""So much goes to a partition at once; brokers take a mebibyte. In Faust's 16 kB there is room for
one trajectory, and all others that are being published wake up to see that there is no more."""

_TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError, RecordTooLargeError)
_UNWRITABLE = (InvalidTopicError, TopicAuthorizationFailedError, UnknownTopicOrPartitionError)

APP_ID = "memstream"
"""The consumer group: workers with the same id and topic prefix share the work."""


def build_app(broker: Broker, prefix: str, data_dir: Path, partitions: int) -> Any:
    """Return a Faust app for the broker, with no agents yet."""
    app = faust.App(
        f"{APP_ID}-{prefix.rstrip('.')}",
        broker=[f"kafka://{address}" for address in broker.address.split(",")],
        broker_credentials=broker.credentials(),
        datadir=data_dir / "faust",
        # Topics are created by memstream.topology; there are no tables, leaders or web of Faust's.
        topic_allow_declare=False,
        topic_disable_leader=True,
        topic_partitions=partitions,
        web_enabled=False,
        # Rejoining waits for almost a whole session; Faust's 60 s would look hung.
        broker_session_timeout=6.0,
        broker_heartbeat_interval=1.0,
        # Commits cost little; the rarer they are, the more is done twice after a kill.
        broker_commit_interval=0.5,
        # By time alone: to commit by number, Faust stops reading in the middle of a message. If the
        # group is dealt out anew meanwhile, it takes what it reads again for read already.
        broker_commit_every=sys.maxsize,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=MAX_MESSAGE_BYTES,
        producer_max_request_size=MAX_MESSAGE_BYTES,
        producer_acks=-1,
        producer_max_batch_size=MAX_BATCH_BYTES,
        # An answer waits for others at most this long before it goes out in a request of its own.
        producer_linger=0.002,
        # Stopping must not wait for a batch in hand: what is not acknowledged comes again.
        stream_wait_empty=False,
    )
    app.transport = StreamTransport(app.conf.broker_consumer, app)
    app.monitor = StreamMonitor()
    return app


class FaustPublisher:
    """Publishes through the app's producer."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def publish(
        self,
        topic: str,
        *,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
    ) -> None:
        """Return once every in-sync replica has the message."""
        arrival = await self.begin(topic, key=key, value=value, headers=headers)
        await arrival()

    async def begin(
        self,
        topic: str,
        *,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
    ) -> Arrival:
        """Return once the message has a place in a batch; whatever goes wrong is told later."""
        if key is None and value is None:
            # aiokafka sends no such message; others do, and it must be possible to keep theirs.
            value = b""
        producer, sensors = self._app.producer, self._app.sensors
        sizes = {"keysize": len(key or b""), "valsize": len(value or b"")}
        # Faust counts what its topics send; this goes past them.
        begun = sensors.on_send_initiated(producer, topic, None, **sizes)
        try:
            sent = await producer.send(
                topic, key, value, partition=None, timestamp=None, headers=list(headers)
            )
        except ProducerSendError as error:
            sent = asyncio.Future()
            sent.set_exception(error)
        return partial(self._arrive, topic, begun, sent)

    async def _arrive(self, topic: str, begun: Any, sent: Awaitable[Any]) -> None:
        producer, sensors = self._app.producer, self._app.sensors
        try:
            sensors.on_send_completed(producer, begun, await sent)
        except (KafkaError, ProducerSendError) as error:
            sensors.on_send_error(producer, error, begun)
            # Faust wraps what its producer refuses, but not what the broker does.
            if isinstance(error.__cause__ or error, _TOO_LARGE):
                raise TooLargeError(str(error)) from error
            if isinstance(error.__cause__ or error, _UNWRITABLE):
                raise UnwritableError(f"{topic}: {error}") from error
            raise

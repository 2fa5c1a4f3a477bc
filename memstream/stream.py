"""The Faust application: how it talks to the broker, and how its messages are published."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faust
from aiokafka.errors import (
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    RecordTooLargeError,
)
from faust.exceptions import ProducerSendError

from agents.delivery import TooLargeError
from memstream.transport import StreamTransport
from topics import Header

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""Large enough to read and to dead-letter whatever a broker lets in: they stop at 1 MiB by default,
and ours at 4."""

_TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError, RecordTooLargeError)

APP_ID = "memstream"
"""The consumer group: workers with the same id and topic prefix share the work."""


def build_app(broker: str, prefix: str, data_dir: Path, partitions: int) -> Any:
    """Return a Faust app for the broker at ``host:port[,host:port…]``, with no agents yet."""
    app = faust.App(
        f"{APP_ID}-{prefix.rstrip('.')}",
        broker=[f"kafka://{address}" for address in broker.split(",")],
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
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=MAX_MESSAGE_BYTES,
        producer_max_request_size=MAX_MESSAGE_BYTES,
        producer_acks=-1,
        # An answer waits for others at most this long before it goes out in a request of its own.
        producer_linger=0.002,
        # Stopping must not wait for a batch in hand: what is not acknowledged comes again.
        stream_wait_empty=False,
    )
    app.transport = StreamTransport(app.conf.broker_consumer, app)
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
        try:
            await self._app.producer.send_and_wait(
                topic, key, value, partition=None, timestamp=None, headers=list(headers)
            )
        except (KafkaError, ProducerSendError) as error:
            # Faust wraps what its producer refuses, but not what the broker does.
            if isinstance(error.__cause__ or error, _TOO_LARGE):
                raise TooLargeError(str(error)) from error
            raise

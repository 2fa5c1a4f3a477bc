"""What Faust counts of its own, under names that do not change with the topic prefix."""

from typing import Any, Final

from faust.sensors import Monitor
from faust.sensors.prometheus import FaustMetrics, PrometheusMonitor
from faust.types import TP
from prometheus_client import REGISTRY, CollectorRegistry

PREFIX: Final = "faust"

TOLD: Final = (
    *("messages_received", "active_messages"),
    *("messages_received_per_topics", "messages_received_per_topics_partition"),
    *("topic_messages_sent", "total_sent_messages", "producer_send_latency"),
    *("total_error_messages_sent", "producer_error_send_latency"),
    *("total_rebalances", "total_rebalances_recovering"),
    *("rebalance_done_consumer_latency", "rebalance_done_latency"),
    *("topic_partition_end_offset", "topic_partition_offset_commited"),
    "consumer_commit_latency",
)
"""Tables, Faust's web and its assignor are not used here, and batches do not go through its stream
iterator one by one: what it counts of these would be nothing, or wrong."""

_METRICS: Final = FaustMetrics.create(CollectorRegistry(), PREFIX)
STREAM_METRICS: Final = tuple(getattr(_METRICS, name) for name in TOLD)
for _metric in STREAM_METRICS:
    REGISTRY.register(_metric)


class StreamMonitor(PrometheusMonitor):
    """Faust's sensor, which looks up the series of a partition or topic only once.

    To look them up each time takes 3 of 9 µs for a message that is taken, 4 of 8 for one sent.
    """

    def __init__(self) -> None:
        super().__init__(metrics=_METRICS)
        self._taken: dict[TP, tuple[Any, Any]] = {}
        self._sent: dict[str, Any] = {}

    def on_message_in(self, tp: TP, offset: int, message: Any) -> None:
        """Count a message that is taken."""
        Monitor.on_message_in(self, tp, offset, message)
        if tp not in self._taken:
            self._taken[tp] = (
                _METRICS.messages_received_per_topics.labels(tp.topic),
                _METRICS.messages_received_per_topics_partition.labels(tp.topic, tp.partition),
            )
        of_topic, of_partition = self._taken[tp]
        _METRICS.messages_received.inc()
        _METRICS.active_messages.inc()
        of_topic.inc()
        of_partition.set(offset)

    def on_send_initiated(
        self, producer: Any, topic: str, message: Any, keysize: int, valsize: int
    ) -> Any:
        """Count a message that begins to be sent."""
        if topic not in self._sent:
            self._sent[topic] = _METRICS.topic_messages_sent.labels(f"topic.{topic}")
        self._sent[topic].inc()
        return Monitor.on_send_initiated(self, producer, topic, message, keysize, valsize)

    def _clear_partition_related_metrics(self) -> None:
        self._taken.clear()
        self._sent.clear()
        super()._clear_partition_related_metrics()

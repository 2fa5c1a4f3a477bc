"""What travels on Kafka: names, keys, headers and the reading and writing of messages."""

from topics.codec import MAX_VALUE_BYTES, decode, encode
from topics.faults import DecodeError, RefusedError, SalvagedIds
from topics.headers import Header, Headers, RawHeaders, dead_letter_headers
from topics.keys import check_key, event_key, tenant_key
from topics.names import (
    CONTRACT,
    DEFAULT_PREFIX,
    PARTITIONS,
    Topic,
    TopicNames,
    TopicSpec,
    topic_sizes,
)

__all__ = [
    "CONTRACT",
    "DEFAULT_PREFIX",
    "MAX_VALUE_BYTES",
    "PARTITIONS",
    "DecodeError",
    "Header",
    "Headers",
    "RawHeaders",
    "RefusedError",
    "SalvagedIds",
    "Topic",
    "TopicNames",
    "TopicSpec",
    "check_key",
    "dead_letter_headers",
    "decode",
    "encode",
    "event_key",
    "tenant_key",
    "topic_sizes",
]

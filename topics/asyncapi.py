"""The AsyncAPI 3 document: topics, messages and who sends them, made from the models."""

from inspect import cleandoc
from typing import Any, Final

from topics.asyncapi_headers import CORRELATION_ID, DEAD_LETTER_HEADERS, EVENT_HEADERS
from topics.names import CONTRACT, PARTITIONS, KeyRule, Topic, TopicNames, TopicSpec
from topics.schemas import schema_file

# Of the contract, not of the program: it changes when what travels on the topics changes.
CONTRACT_VERSION: Final = "1.0.0"
KAFKA_BINDING: Final = "0.5.0"

Node = dict[str, Any]

_KEYS: Final[dict[KeyRule, str]] = {
    "tenant/session": "{tenant_id}/{session_id}; the session part is empty where there is none.",
    "tenant": "{tenant_id}",
    "original": "The key of the message that could not be read.",
}
_ANSWERED_ON: Final = {
    Topic.SEARCH_REQUESTS: Topic.SEARCH_RESULTS,
    Topic.CONTEXT_REQUESTS: Topic.CONTEXT_ASSEMBLED,
}
_DEAD_LETTER: Final = "The original bytes, key and headers of a message that could not be read."
_ABOUT: Final = """
    Searches come in, results go out, and what happens to a result afterwards comes back as events
    from which memstream learns how to search.

    Delivery is at least once: `request_id` tells results apart, `event_id` makes effects happen
    once. Unknown fields are ignored. A message that cannot be read goes to the dead letters, and
    if it was a request its sender gets an error result.

    What services write may also come as CloudEvents 1.0, structured or binary; the event's `id`
    stands in for a missing `event_id` or `request_id`.
"""


def asyncapi(names: TopicNames | None = None) -> Node:
    """Build the whole document, for topics of the default prefix unless told otherwise."""
    prefixed = names or TopicNames()
    return {
        "asyncapi": "3.0.0",
        "info": _info(),
        "defaultContentType": "application/json",
        "servers": {"broker": _server()},
        "channels": {_id(topic): _channel(topic, prefixed) for topic in CONTRACT},
        "operations": {name: node for topic in CONTRACT for name, node in _operations(topic)},
        "components": {"messages": {_carried(topic): _message(topic.value) for topic in CONTRACT}},
    }


def _info() -> Node:
    return {
        "title": "memstream",
        "version": CONTRACT_VERSION,
        "description": cleandoc(_ABOUT),
        "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
    }


def _server() -> Node:
    return {
        "host": "{address}",
        "protocol": "kafka",
        "description": "Any broker that speaks the Kafka protocol.",
        "variables": {
            "address": {"default": "127.0.0.1:9092", "description": "The embedded broker's."}
        },
    }


def _id(topic: Topic) -> str:
    first, *rest = topic.name.lower().split("_")
    return first + "".join(part.capitalize() for part in rest)


def _carried(topic: Topic) -> str:
    model = topic.value.carries
    return model.__name__ if model else "DeadLetter"


def _channel(topic: Topic, names: TopicNames) -> Node:
    spec, name = topic.value, names.name(topic)
    return {
        "address": name,
        "description": f"Written by {spec.writer}.",
        "messages": {_carried(topic): {"$ref": f"#/components/messages/{_carried(topic)}"}},
        "bindings": {
            "kafka": {
                "topic": name,
                "partitions": spec.partitions(PARTITIONS),
                "topicConfiguration": {"cleanup.policy": [spec.cleanup]}
                | ({"retention.ms": -1} if spec.kept else {}),
                "bindingVersion": KAFKA_BINDING,
            }
        },
    }


def _message(spec: TopicSpec) -> Node:
    key = {"type": "string", "description": _KEYS[spec.key]}
    bindings = {"kafka": {"key": key, "bindingVersion": KAFKA_BINDING}}
    if spec.carries is None:
        return {
            "summary": _DEAD_LETTER,
            "contentType": "application/octet-stream",
            "headers": DEAD_LETTER_HEADERS,
            "bindings": bindings,
        }
    return {
        "summary": cleandoc(spec.carries.__doc__ or ""),
        "headers": EVENT_HEADERS,
        "correlationId": CORRELATION_ID,
        "payload": {"$ref": f"./schemas/{schema_file(spec)}"},
        "bindings": bindings,
    }


def _operations(topic: Topic) -> list[tuple[str, Node]]:
    """Say what memstream does with a topic, as it sees it."""
    writer, name = topic.value.writer, _id(topic)
    titled = name[0].upper() + name[1:]
    operations = []
    if writer != "memstream":
        operations.append((f"receive{titled}", _operation(topic, "receive")))
    # Its own assembler of contexts is one of those that report what they used.
    if writer != "services":
        operations.append((f"send{titled}", _operation(topic, "send")))
    return operations


def _operation(topic: Topic, action: str) -> Node:
    node: Node = {"action": action, "channel": {"$ref": f"#/channels/{_id(topic)}"}}
    answers = _ANSWERED_ON.get(topic)
    if answers is not None:
        node["reply"] = {"channel": {"$ref": f"#/channels/{_id(answers)}"}}
    return node

"""Makes sure that the topics exist before anything reads or writes them."""

from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaClient
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from memstream.broker import Broker
from memstream.embedded.process import PartError
from topics import Topic, TopicNames

LARGE_BYTES = 8 * 1024 * 1024
"""For what memstream writes that can be larger than what it reads: a hundred long memories in one
result, or an original with more headers than it came with."""

LARGE = (
    *(Topic.SEARCH_RESULTS, Topic.CONTEXT_ASSEMBLED, Topic.DEAD_LETTERS),
    *(Topic.DECOMPOSITIONS, Topic.DECISIONS, Topic.TRAJECTORIES),
)

MAX_REPLICAS = 3
"""With three copies one broker can be away and another fail; more only cost."""


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as the broker has it."""

    name: str
    partitions: int


async def ensure_topics(broker: Broker, names: TopicNames, partitions: int) -> None:
    """Create the topics that are missing; those that exist are left as they are."""
    admin = AIOKafkaAdminClient(**broker.options())
    try:
        await admin.start()
        cluster = await admin.describe_cluster()
        if cluster["controller_id"] not in {node["node_id"] for node in cluster["brokers"]}:
            # The embedded broker has no controller: it started with its topics.
            return
        replicas = min(len(cluster["brokers"]), MAX_REPLICAS)
        wanted = [_new_topic(names, topic, partitions, replicas) for topic in Topic]
        _check(await admin.create_topics(wanted))
    except KafkaError as error:
        raise await broker.failure(error) from error
    finally:
        await admin.close()


def _check(response: Any) -> None:
    for name, code, *_ in response.topic_errors:
        error = for_code(code)
        if code and error is not TopicAlreadyExistsError:
            raise PartError(f"topic {name} could not be created: {error.__name__}")


async def topic_states(broker: Broker, names: TopicNames) -> list[TopicState]:
    """Return the contract's topics as the broker has them, missing ones with 0 partitions."""
    client = AIOKafkaClient(**broker.options())
    wanted = [names.name(topic) for topic in Topic]
    try:
        await client.bootstrap()
        await client.set_topics(wanted)
        return [
            TopicState(name, len(client.cluster.partitions_for_topic(name) or ()))
            for name in wanted
        ]
    except KafkaError as error:
        raise await broker.failure(error) from error
    finally:
        await client.close()


def _new_topic(names: TopicNames, topic: Topic, partitions: int, replicas: int) -> Any:
    config = topic.value.config
    if topic in LARGE:
        config["max.message.bytes"] = str(LARGE_BYTES)
    return NewTopic(
        names.name(topic), topic.value.partitions(partitions), replicas, topic_configs=config
    )

"""Whether a Kafka broker truly serves, asked the way a client would."""

import asyncio

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

REQUEST_TIMEOUT_MS = 5_000
"""A broker of this machine that takes longer for metadata is asked again."""

PROBE_GROUP = "memstream-health"
"""A group nobody joins; asking for its coordinator makes Kafka create the offsets topic."""


async def serves(address: str, members: frozenset[int]) -> bool:
    """Return whether the broker at ``address`` works in a cluster of at least ``members``.

    That is: it answers, knows them all, every partition is led and copied to those of its
    replicas that are members, and a group's coordinator has loaded its offsets.
    """
    if not await _listens(address):
        return False
    admin = AIOKafkaAdminClient(bootstrap_servers=address, request_timeout_ms=REQUEST_TIMEOUT_MS)
    try:
        await admin.start()
        return (
            await _knows(admin, members)
            and await _coordinates(admin)
            and await _is_replicated(admin, members)
        )
    except KafkaError:
        return False
    finally:
        await admin.close()


async def _listens(address: str) -> bool:
    # Before aiokafka tries, because it logs an error for every refused connection.
    host, port = address.split(":")
    try:
        _, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return False
    writer.close()
    return True


async def _knows(admin: AIOKafkaAdminClient, members: frozenset[int]) -> bool:
    cluster = await admin.describe_cluster()
    return members <= {broker["node_id"] for broker in cluster["brokers"]}


async def _coordinates(admin: AIOKafkaAdminClient) -> bool:
    coordinator = await admin.find_coordinator(PROBE_GROUP)
    (answer,) = await admin.describe_consumer_groups([PROBE_GROUP], coordinator)
    return all(group[0] == 0 for group in answer.groups)  # its error code


async def _is_replicated(admin: AIOKafkaAdminClient, members: frozenset[int]) -> bool:
    topics = await admin.describe_topics()
    return all(
        partition["leader"] in members and members & {*partition["replicas"]} <= {*partition["isr"]}
        for topic in topics
        for partition in topic["partitions"]
    )

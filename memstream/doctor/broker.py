"""The broker: can it be reached, does it let us in, has it our topics, and is it our time."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from aiokafka.errors import KafkaError
from memstream_client.security import refusal

from memstream.broker import SETTINGS_PREFIX, Broker, broker_of, settings_to_check
from memstream.doctor.clocks import CLOCK, compared_with_newest
from memstream.doctor.finding import Finding, fail, ok, warn
from memstream.doctor.kafka import listener, reachable
from memstream.doctor.machine import missing_tools
from memstream.doctor.newest import newest_at
from memstream.embedded.process import PartError
from memstream.settings import Settings
from memstream.topology import TopicState, topic_states
from topics import Topic, TopicNames

BROKER: Final = "broker"
TOPICS: Final = "topics"
TALK_S: Final = 3.5

_WRITTEN: Final = (Topic.SEARCH_REQUESTS, Topic.SEARCH_RESULTS, Topic.ITEMS)
"""What others and we write most."""


async def examine_broker(settings: Settings, clock: Callable[[], datetime]) -> Sequence[Finding]:
    """Tell how the configured broker is."""
    if settings.broker == "embedded":
        return [ok(BROKER, "the embedded one starts with `make up`")]
    if settings.broker == "local-kafka":
        if missing := missing_tools():
            what = f"local-kafka needs {' and '.join(missing)}"
            return [fail(BROKER, what, "install it, or use MEMSTREAM_BROKER=embedded")]
        return [ok(BROKER, "local-kafka starts with `memstream up`")]
    broker, names = broker_of(settings), TopicNames(settings.topic_prefix)
    findings, reached = await _addresses(broker)
    if not reached:
        return findings
    try:
        async with asyncio.timeout(TALK_S):
            states = await topic_states(broker, names)
    except (PartError, KafkaError, OSError) as error:
        return [await _turned_away(broker, reached[0], error)]
    findings.append(ok(BROKER, f"{broker} answers"))
    findings.append(_topics(states, names, settings.partitions))
    if not any(state.partitions for state in states):
        return findings
    try:
        async with asyncio.timeout(TALK_S):
            newest = await newest_at(broker, [names.name(topic) for topic in _WRITTEN])
    except (KafkaError, TimeoutError) as error:
        what = f"not compared with the broker: its messages cannot be read ({error!r})"
        return [*findings, warn(CLOCK, what, "see the broker's log, and who may read the topics")]
    return [*findings, compared_with_newest(clock(), newest, "the broker")]


async def _addresses(broker: Broker) -> tuple[list[Finding], list[tuple[str, int]]]:
    """Return what to say of those that cannot be connected to, and those that can."""
    places = [address.rpartition(":") for address in broker.address.split(",")]
    asked = [(host, int(port)) for host, _, port in places]
    reasons = await asyncio.gather(*(reachable(*address) for address in asked))
    reached = [address for address, why in zip(asked, reasons, strict=True) if why is None]
    told = fail if not reached else warn
    findings = [
        told(
            BROKER,
            f"{host}:{port} cannot be reached ({why})",
            "start it, or correct MEMSTREAM_BROKER",
        )
        for (host, port), why in zip(asked, reasons, strict=True)
        if why is not None
    ]
    return findings, reached


async def _turned_away(broker: Broker, address: tuple[str, int], error: Exception) -> Finding:
    """Tell why something that can be connected to does not let us in."""
    place, ours = f"{address[0]}:{address[1]}", broker.security
    found = await listener(*address)
    if found is None:
        remedy = "correct MEMSTREAM_BROKER, or see the broker's log"
        return fail(BROKER, f"what listens at {place} does not answer as Kafka does", remedy)
    if ours.protocol not in found.protocol.split(" or "):
        remedy = f"set {SETTINGS_PREFIX}SECURITY_PROTOCOL to {found.protocol}"
        if found.mechanisms:
            remedy += f", {SETTINGS_PREFIX}SASL_MECHANISM to {' or '.join(found.mechanisms)}"
            remedy += f", and {SETTINGS_PREFIX}USERNAME and _PASSWORD"
        return fail(BROKER, f"{place} speaks {found.protocol}, not {ours.protocol}", remedy)
    if found.mechanisms and ours.mechanism not in found.mechanisms:
        what = f"{place} takes {' or '.join(found.mechanisms)}, not {ours.mechanism}"
        return fail(BROKER, what, f"correct {SETTINGS_PREFIX}SASL_MECHANISM")
    refused = await refusal(place, ours)
    if refused is not None:
        return fail(BROKER, refused.reason, f"check {settings_to_check(refused)}")
    if ours.protocol == "SSL" and ours.cert_file is None:
        remedy = f"set {SETTINGS_PREFIX}CERT_FILE and _KEY_FILE, if it asks for a certificate"
        return fail(BROKER, f"{place} breaks off after TLS was agreed on", remedy)
    told = str(error) or f"{place} does not answer within {TALK_S:.1f} s"
    return fail(BROKER, told, "see the broker's log")


def _topics(states: Sequence[TopicState], names: TopicNames, partitions: int) -> Finding:
    missing = [state.name for state in states if not state.partitions]
    if missing:
        return fail(TOPICS, f"{', '.join(missing)}: missing", "run `memstream topics --create`")
    wanted = {names.name(topic): topic.value.partitions(partitions) for topic in Topic}
    others = [
        f"{state.name} has {state.partitions}"
        for state in states
        if state.partitions != wanted[state.name]
    ]
    if others:
        what = f"not {partitions} partitions, as MEMSTREAM_PARTITIONS says: {', '.join(others)}"
        remedy = "set MEMSTREAM_PARTITIONS to what there is, or add partitions (kafka-topics.sh)"
        return warn(TOPICS, what, remedy)
    return ok(TOPICS, f"all {len(states)} are there")

"""Ten thousand messages that nobody should send: each is accounted for, and the worker lives."""

import asyncio
import random
import time
from collections import Counter, defaultdict

import asyncpg
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from models import (
    ContextRequest,
    ContextUsage,
    Feedback,
    Item,
    QueryRefinement,
    SearchRequest,
    SessionAbandonment,
)
from tests.acceptance.fuzzing import TOPICS, message
from tests.acceptance.service import running, wait_for
from topics import DecodeError, Headers, decode

MESSAGES = 10_000
PATIENCE_S = 240
"""On two idle cores it takes some 20 s; a busy machine is no reason to fail."""
PREFIX = "fuzzed."
REQUESTS = {"search.requests": SearchRequest, "context.requests": ContextRequest}
EVENTS = {
    "items": (Item, "items"),
    "context.usage": (ContextUsage, "join.usage"),
    "query.refinements": (QueryRefinement, "join.refinement"),
    "session.abandonments": (SessionAbandonment, "join.abandonment"),
    "feedback": (Feedback, "join.feedback"),
}
ANSWERS = ("search.results", "context.assembled")


def read(topic, value, key, headers):
    """Return a message as memstream must read it; None if it must be kept as a dead letter."""
    model = REQUESTS.get(topic) or EVENTS.get(topic, (None,))[0]
    parsed = Headers.parse(headers)
    if model is None or not key or (topic in REQUESTS and parsed.reply_to is not None):
        return None
    try:
        return decode(model, value, parsed)
    except DecodeError:
        return None


class Tally:
    """Everything that came of the messages."""

    def __init__(self, broker):
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker,
                "group.id": "tally",
                "enable.auto.commit": False,
                "fetch.message.max.bytes": 8_000_000,
                "log_level": 2,
            }
        )
        topics = [f"{PREFIX}{name}" for name in (*ANSWERS, "dead-letters")]
        known = self._consumer.list_topics(timeout=10).topics
        assigned = [TopicPartition(one, n, 0) for one in topics for n in known[one].partitions]
        self._consumer.assign(assigned)
        self.letters, self.answers = Counter(), defaultdict(list)
        # Signals that waited two minutes for their search: only if the machine is that busy.
        self.dangling = set()

    def look(self):
        for one in self._consumer.consume(5000, timeout=1.0):
            assert one.error() is None
            headers = dict(one.headers() or ())
            if headers.get("memstream-error-code") == b"dangling":
                self.dangling.add(headers["case"].decode())
            elif one.topic().endswith("dead-letters"):
                self.letters[headers["case"].decode()] += 1
            else:
                ok = b'"status":"ok"' in one.value()
                self.answers[headers["correlation-id"].decode()].append(ok)

    def close(self):
        self._consumer.close()


async def inbox(url, tenants):
    """Return which events have had their effect."""
    connection = await asyncpg.connect(url)
    seen = set()
    for tenant_id in tenants:
        async with connection.transaction():
            await connection.execute("SELECT set_config('app.tenant_id', $1, true)", tenant_id)
            rows = await connection.fetch(
                "SELECT consumer, event_id FROM memstream.inbox WHERE tenant_id = $1", tenant_id
            )
        seen.update((row["consumer"], tenant_id, row["event_id"]) for row in rows)
    await connection.close()
    return seen


@pytest.fixture(scope="module")
def service(tmp_path_factory, kafka):
    options = ("--broker", f"kafka://{kafka}", "--database", "embedded-postgres")
    folder = tmp_path_factory.mktemp("fuzzed")
    with running(folder, *options, embedder="none", topic_prefix=PREFIX) as service:
        yield service


def test_ten_thousand_fuzzed_messages_are_all_accounted_for(service, kafka):
    chance, producer = random.Random(7), Producer({"bootstrap.servers": kafka, "linger.ms": 50})
    worker, tally = service.worker(), Tally(kafka)
    asked, effects, dead, sent = set(), {}, set(), Counter()
    began = time.monotonic()
    for number in range(MESSAGES):
        topic, case = chance.choice(list(TOPICS)), f"case {number}"
        value, key, headers = message(chance, topic, case)
        headers += [("correlation-id", case.encode()), ("case", case.encode())]
        producer.produce(f"{PREFIX}{topic}", value, key=key, headers=headers)
        producer.poll(0)
        sent[topic] += 1
        asked |= {case} if topic in REQUESTS else set()
        record = read(topic, value, key, headers)
        if record is None:
            dead.add(case)
        elif topic in EVENTS:
            effects[case] = (EVENTS[topic][1], record.tenant_id, record.event_id)
    assert producer.flush(30) == 0

    def all_handled():
        tally.look()
        if not (asked <= tally.answers.keys() and dead <= tally.letters.keys()):
            return False
        # The last message of a topic may be one without an answer. What was handed over is
        # counted a second time, in its own lane.
        name = 'memstream_messages_total{{topic="{}{}"}}'
        return all(service.metric(name.format(PREFIX, one)) >= sent[one] for one in TOPICS)

    wait_for(all_handled, "all of them to be handled", PATIENCE_S)
    print(f"{MESSAGES} messages, {len(dead)} dead, in {time.monotonic() - began:.1f} s")

    assert tally.letters.keys() == dead, "what cannot be read, and nothing else, is a dead letter"
    assert set(tally.letters.values()) == {1}
    for case in asked:
        assert tally.answers[case] == [case not in dead], case
    tenants = {tenant_id for _, tenant_id, _ in effects.values()}
    consumers = {consumer for _, consumer in EVENTS.values()}

    def had():
        tally.look()
        seen = asyncio.run(inbox(service.runtime["database"], tenants))
        # What is in a context memstream tells to have been used, under ids of its own.
        ours = {one for one in seen if one[0] in consumers and not one[2].startswith("context/")}
        return ours | {effects[case] for case in tally.dangling}

    # A signal that gave up waiting is for a moment neither among the one nor among the other.
    wait_for(lambda: had() == set(effects.values()), "each to have had its effect, no more")
    assert len(dead) > MESSAGES / 3
    assert len(effects) > MESSAGES / 20
    assert len(asked - dead) > MESSAGES / 50
    assert service.worker() == worker, "the same worker is still running"
    assert service.ready()
    tally.close()

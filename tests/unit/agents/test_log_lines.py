"""Log lines say whose message they are about, whatever goes wrong with it, and quote none of it."""

import asyncio

import pytest
from structlog import DropEvent
from structlog.contextvars import get_contextvars, merge_contextvars
from structlog.testing import capture_logs

from agents import patience
from agents.decompose import SlowLane
from agents.items import ItemsAgent
from agents.outcomes import DecisionsAgent
from agents.search import FastLane
from memstream.logs import _Exceptions
from retrieval.embedding import EmbedderUnavailableError
from retrieval.ingest import Ingest
from retrieval.search import Search
from tests.integration.storage.aftermath import decision
from tests.unit.agents.conftest import NOON, WordEmbedder, answering_with, delivery, services
from topics.handover import Handover, handover_headers

MARKER = "zyxomarker"
IDS = {"tenant_id": "acme", "request_id": "r1"}


@pytest.fixture
def lines():
    shown = [_at_info, merge_contextvars, _Exceptions(with_messages=False)]
    with capture_logs(processors=shown) as lines:
        yield lines
    assert MARKER not in repr(lines)


def _at_info(_, method, line):
    if method == "debug":
        raise DropEvent
    return line


class Quoting(WordEmbedder):
    """An embedder with a bug, that tells everybody what it was given."""

    def __init__(self, kind=ValueError):
        self._kind = kind

    async def embed(self, texts):
        raise self._kind(f"cannot embed {list(texts)}")


@pytest.fixture
def lanes(store, published, dead_letters, names):
    search = Search(store, Quoting(), lambda: NOON)
    outgoing, by_topic = services(answering_with(search, store), published, dead_letters, names)
    fast = {topic: FastLane(service, outgoing) for topic, service in by_topic.items()}
    return fast, SlowLane(by_topic, outgoing)


def asked(topic, **fields):
    request = {**IDS, "session_id": "s", "query": f"the {MARKER}"} | fields
    return delivery(request, topic=topic)


def told(lines, *events):
    """Check that these lines were written, each with the ids."""
    found = [line for line in lines if line["event"] in events]
    assert [line["event"] for line in found] == list(events)
    for line in found:
        assert line.items() >= IDS.items()
    return found


@pytest.mark.parametrize("topic", ["memory.search.requests", "memory.context.requests"])
async def test_of_a_request_that_fails(lanes, lines, topic):
    await lanes[0][topic]([asked(topic)])
    failed, letter = told(lines, "request failed", "dead letter")
    assert failed["exception"].endswith("ValueError")
    assert "in embed" in failed["exception"]
    assert letter["code"] == "internal"
    assert get_contextvars() == {}


async def test_of_a_request_on_the_slow_lane(lanes, lines):
    one = asked("memory.internal.decompositions", query=f"compare the {MARKER} of all teams")
    over = handover_headers((), Handover("memory.search.requests", NOON, NOON))
    handed_over = delivery(one.value, topic=one.topic, headers=over)
    # As the registry does it: a task each.
    await asyncio.create_task(lanes[1](handed_over))
    told(lines, "decomposition failed", "decomposition fell back", "request failed", "dead letter")
    assert get_contextvars() == {}


async def test_of_a_request_that_cannot_be_read(lanes, lines):
    topic = "memory.search.requests"
    await lanes[0][topic]([asked(topic, limit=MARKER), asked(topic, query=f"{MARKER} " * 9000)])
    first, second = told(lines, "dead letter", "dead letter")
    assert (first["code"], second["code"]) == ("invalid_request", "too_large")


async def test_of_an_item_that_fails(store, dead_letters, lines):
    item = {"event_id": "e1", "tenant_id": "acme", "memory_id": "m", "content": f"the {MARKER}"}
    await ItemsAgent(Ingest(store, Quoting()), dead_letters)([delivery(item)])
    batch, failed, letter = lines
    assert (batch["event"], batch["reason"]) == ("batch failed, taking one by one", "ValueError")
    for line in (failed, letter):
        assert (line["tenant_id"], line["event_id"]) == ("acme", "e1")
    assert get_contextvars() == {}


async def test_of_a_decision_that_is_too_old(outcomes, dead_letters, lines):
    value = decision("r1", query=MARKER).model_dump_json().encode()
    old = delivery(value, topic="memory.internal.decisions")
    outcomes.remembers = lambda _: False
    await DecisionsAgent(outcomes, dead_letters)([old])
    [letter] = told(lines, "dead letter")
    assert letter["code"] == "late"


async def test_of_an_embedder_that_is_away_and_repeats_what_it_was_asked(lines, monkeypatch):
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.001)
    with pytest.raises(EmbedderUnavailableError):
        await patience.until_available(
            "t", lambda: Quoting(EmbedderUnavailableError).embed([MARKER]), give_up_after_s=0.002
        )
    assert lines
    assert {line["part"] for line in lines} == {"embedder"}

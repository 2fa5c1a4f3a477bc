"""An agent's surroundings: a publisher that keeps what it is given, and a store in a folder."""

import hashlib
import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from agents.dead_letters import DeadLetters
from agents.delivery import Delivery, TooLargeError
from agents.desk import Desk, Outgoing
from agents.guard import Guard
from agents.outcomes import Outcomes
from agents.replies import ReplyTopics
from agents.service import ContextService, SearchService
from learning.labelling import Labeller, Windows
from learning.rewards import RewardWeights
from models import ContextAssembled, ContextRequest, SearchRequest, SearchResult
from retrieval.answering import Answering
from retrieval.decomposition import open_decomposition
from retrieval.decomposition.sub_calls import SubCalls
from retrieval.language import AnswerCache
from retrieval.reasoning import Reasoner
from retrieval.routing import Router
from storage.sqlite import SqliteStore
from topics import Topic, TopicNames

WINDOW, CORRECTION = timedelta(seconds=100), timedelta(seconds=1000)
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


@dataclass
class Published:
    """Everything that was published, by topic."""

    messages: list = field(default_factory=list)
    largest: int = 8 * 1024 * 1024
    limited: str = "results"

    async def publish(self, topic, *, key, value, headers=()):
        size = len(value or b"") + sum(len(more or b"") for _, more in headers) + len(key or b"")
        if topic.endswith(self.limited) and size > self.largest:
            raise TooLargeError(f"{size} bytes")
        self.messages.append((topic, key, value, dict(headers)))

    async def begin(self, topic, **message):
        return partial(self.publish, topic, **message)

    def on(self, suffix):
        return [message for message in self.messages if message[0] == f"memory.{suffix}"]

    def results(self):
        return [json.loads(value) for _, _, value, _ in self.on("search.results")]


class WordEmbedder:
    """Embeds a text as its words, each along a direction of its own: close enough to a model."""

    name = "words"
    dimensions = 64

    async def embed(self, texts):
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                row[hashlib.sha256(word.encode()).digest()[0] % self.dimensions] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    async def close(self):
        return None


def delivery(value, *, topic="memory.items", key=b"acme/s", headers=(), offset=0):
    encoded = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    return Delivery(topic, 0, offset, key, encoded, list(headers), NOON)


def services(answering, published, dead_letters, names, guard=None):
    """Everything that answers requests, by the topic they come on."""
    guard = guard or Guard()
    admit = guard.admit_request

    async def exists(topic):
        return not topic.endswith("missing")

    # Not looked at before they are needed: some tests have nothing that may be looked at.
    tenants = SimpleNamespace(
        in_force=lambda tenant_id: answering.search.tenants.in_force(tenant_id),
        in_force_now=lambda tenant_id: answering.search.tenants.in_force_now(tenant_id),
    )
    replies = ReplyTopics(tenants, exists, guard, names)
    outgoing = Outgoing(published, names, dead_letters, replies, lambda: NOON)
    searching = Desk(SearchRequest, SearchResult, admit, Topic.SEARCH_RESULTS, outgoing)
    assembling = Desk(ContextRequest, ContextAssembled, admit, Topic.CONTEXT_ASSEMBLED, outgoing)
    return outgoing, {
        "memory.search.requests": SearchService(searching, answering, outgoing),
        "memory.context.requests": ContextService(assembling, answering, outgoing, guard),
    }


def answering_with(search, store, language_model=None):
    """Answer with a search, and take apart what is complex."""
    reasoner = Reasoner(language_model, "root", AnswerCache(time.monotonic), time.monotonic)
    sub_calls = SubCalls(language_model, "sub") if language_model else None
    decomposition = open_decomposition(search, store, reasoner, sub_calls)
    return Answering(search, Router(), decomposition)


@pytest.fixture
def published():
    return Published()


@pytest.fixture
def names():
    return TopicNames()


@pytest.fixture
def dead_letters(published, names):
    return DeadLetters(published, names, lambda: NOON)


@pytest.fixture
async def store(tmp_path):
    store = await SqliteStore.open(tmp_path / "memstream.db")
    yield store
    await store.close()


@pytest.fixture
def outcomes(store, names):
    windows = Windows(WINDOW, CORRECTION)
    labeller = Labeller(windows, RewardWeights(), names, lambda: NOON)
    return Outcomes(store.joins, labeller, lambda: NOON)

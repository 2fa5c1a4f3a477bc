"""Searches and what came of them: the messages that every contestant gets."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from models import (
    Action,
    ComplexitySignals,
    ContextUsage,
    Decision,
    Feedback,
    QueryRefinement,
    Record,
    SessionAbandonment,
    Shown,
)
from retrieval.ranking.features import FEATURES
from retrieval.trajectory import seed_of, trajectory_id
from topics import Topic, encode, event_key

SHOWN = 10
SEARCHES_A_SESSION = 4
MEMORIES = 20
"""Of each tenant; usage events name two of them."""

SHARES = {
    Topic.CONTEXT_USAGE: 0.5,
    Topic.FEEDBACK: 0.2,
    Topic.QUERY_REFINEMENTS: 0.15,
    Topic.SESSION_ABANDONMENTS: 0.15,
}


class Event(NamedTuple):
    """A message and where it belongs."""

    topic: Topic
    key: bytes
    value: bytes


@dataclass(frozen=True)
class Load:
    """So many searches of so many tenants, each followed by one signal."""

    name: str
    searches: int
    tenants: int
    seed: int = 7

    def tenant(self, number: int) -> str:
        """Return the name of the tenant of a search."""
        return f"tenant-{number % self.tenants:05d}"

    def events(self) -> Iterator[Event]:
        """Return the messages; a signal comes soon after its search, as on a live stream."""
        chance = random.Random(self.seed)
        completed = datetime.now(UTC) - timedelta(seconds=5)
        late: list[Event] = []
        for number in range(self.searches):
            tenant_id = self.tenant(number)
            session = f"{self.name}-{number // self.tenants // SEARCHES_A_SESSION}"
            request_id = f"{self.name}-{number}"
            place = number // self.tenants % SEARCHES_A_SESSION
            query = " ".join(f"word{place}of{chance.randrange(VOCABULARY)}" for _ in range(8))
            decision = _decision(tenant_id, session, request_id, query, completed, chance)
            key = event_key(tenant_id, session)
            yield Event(Topic.DECISIONS, key, encode(decision))
            topic = chance.choices(list(SHARES), list(SHARES.values()))[0]
            late.append(Event(topic, key, encode(_signal(topic, decision, chance))))
            if len(late) == 100:
                yield from late
                late.clear()
        yield from late


def memory_ids(chance: random.Random, many: int) -> list[str]:
    """Return some of a tenant's memories."""
    return [f"m{number}" for number in chance.sample(range(MEMORIES), many)]


VOCABULARY = 500
"""So many words for each place in a session: searches of a session share none, so that none is
another's rewording, and words come again, as they do."""


def _decision(
    tenant_id: str,
    session: str,
    request_id: str,
    query: str,
    completed: datetime,
    chance: random.Random,
) -> Decision:
    return Decision(
        trajectory_id=trajectory_id(tenant_id, request_id),
        request_id=request_id,
        tenant_id=tenant_id,
        session_id=session,
        query=query,
        complexity_score=0.1,
        signals=ComplexitySignals(multi_layer=0, aggregation=0, comparison=0, structure=0.1),
        route="standard",
        actions=tuple(
            Action(
                kind=kind,
                params={"query": query, "limit": SHOWN},
                depth=0,
                started_at=completed - timedelta(seconds=1),
                duration_ms=chance.random() * 10,
                tokens=0,
                result_count=SHOWN,
                propensity=1.0,
            )
            for kind in ("Route", "SearchLayer")
        ),
        shown=tuple(
            Shown(
                memory_id=memory_id,
                rank=rank,
                propensity=1.0,
                features={name: chance.random() for name in FEATURES},
            )
            for rank, memory_id in enumerate(memory_ids(chance, SHOWN), 1)
        ),
        tokens_used=0,
        max_depth=0,
        result_count=SHOWN,
        policy_version=0,
        started_at=completed - timedelta(seconds=1),
        completed_at=completed,
        succeeded=True,
        seed=seed_of(tenant_id, request_id),
    )


def _signal(topic: Topic, decision: Decision, chance: random.Random) -> Record:
    about = {
        "event_id": f"e-{decision.request_id}",
        "tenant_id": decision.tenant_id,
        "session_id": decision.session_id,
        "request_id": decision.request_id,
    }
    if topic is Topic.CONTEXT_USAGE:
        return ContextUsage(**about, memory_ids=tuple(memory_ids(chance, 2)), quality_score=0.75)
    if topic is Topic.FEEDBACK:
        return Feedback(**about, quality_score=0.5, memory_id=memory_ids(chance, 1)[0])
    if topic is Topic.QUERY_REFINEMENTS:
        return QueryRefinement(**about, new_query="the same in other words")
    return SessionAbandonment(**about)

"""A made-up history: searches and what happened after them, and what all of it must come to."""

import itertools
import json
import random
import time
import uuid
from collections import Counter
from datetime import timedelta

from models import Decision
from tests.integration.storage.aftermath import (
    CAT,
    CORRECTION,
    GET,
    NOON,
    PET,
    RAIN,
    WINDOW,
    Oracle,
    decision,
    signal,
)

REPEATED, EARLY, LATE = 0.1, 0.05, 0.06
"""How many events come twice, and how many signals before their search and after all is over."""

LATE_S = int((WINDOW + CORRECTION).total_seconds()) + 60
TENANTS = 20
NEIGHBOURHOOD = 200
"""So many places earlier or later than it should an event comes, more or less."""

MEMORY = "m"
"""The memory that every use is of."""


class History:
    """What happened in many sessions of several tenants; all of it within the last hour."""

    def __init__(self, seed, searches):
        chance = random.Random(seed)
        # Whole seconds: what is written on a message is cut to milliseconds.
        self._shift = timedelta(seconds=int(time.time() - NOON.timestamp()) - 3600)
        self.tenants = [f"joined-{number}" for number in range(TENANTS)]
        self._oracles = []
        events = []
        names = (f"s{number}" for number in itertools.count())
        while searches > 0:
            happened = list(_session(chance, chance.choice(self.tenants), next(names)))
            self._oracles.append(oracle := Oracle())
            for event in happened:
                oracle.read(event)
            searches -= len(oracle.searches)
            events += happened
        self.signals = sum(not isinstance(one, Decision) for one in events)
        waiting = [one for one in events if _may_be_early(one)]
        self.early = chance.sample(waiting, round(EARLY * self.signals))
        early = set(map(id, self.early))
        others = [one for one in events if id(one) not in early]
        # Some of the early ones come again with the others.
        again = chance.sample(events, round(REPEATED * len(events)))
        self.rest = _shuffled(chance, others + again)
        self.repeated = len(again)

    def labels(self):
        """Return each search's last label, reward and memories used, by the log alone."""
        return {
            search.request_id: (oracle.label(search), oracle.reward(search), oracle.used(search))
            for oracle in self._oracles
            for search in oracle.searches.values()
        }

    def uses(self):
        """Return how often each tenant's memory was used."""
        used = Counter(
            tenant
            for oracle in self._oracles
            for tenant, kind, _ in oracle.signals
            if kind == "usage"
        )
        return {tenant: used[tenant] for tenant in self.tenants}

    def dead(self):
        """Return why each signal that has no effect has none, by event."""
        return {
            event_id: reason
            for oracle in self._oracles
            for (_, _, event_id), reason in oracle.why_dead().items()
        }

    def written(self, event):
        """Return topic, key, value and time of an event, moved from noon to today."""
        if isinstance(event, Decision):
            topic, record, at = "memory.internal.decisions", event, event.completed_at
        else:
            topic, record, at = event.origin.topic, event.signal, event.received_at
        value = record.model_dump(mode="json", exclude_none=True)
        for name in ("started_at", "completed_at", "occurred_at"):
            if getattr(record, name, None) is not None:
                value[name] = (getattr(record, name) + self._shift).isoformat()
        key = f"{record.tenant_id}/{record.session_id}".encode()
        at_ms = int((at + self._shift).timestamp() * 1000)
        return topic, key, json.dumps(value).encode(), at_ms


def _session(chance, tenant, name):
    """Searches of one session and what happened after them."""
    at = chance.randint(0, 300)
    for number in range(chance.randint(1, 4)):
        at += chance.choice([1, 30, 90, 150])
        search = decision(
            f"{name}-{number}", tenant=tenant, session=name, at=at,
            query=chance.choice([CAT, PET, RAIN, GET]),
            tokens_used=chance.choice([0, 1000, 200_000]),
        )  # fmt: skip
        yield search
        yield from _after(chance, search)


def _after(chance, search):
    """What happened after one search: often nothing, sometimes several things, some too late."""
    done = int((search.completed_at - NOON).total_seconds())
    use = {"quality_score": chance.choice([0.0, 0.5, 1.0]), "memory_ids": [MEMORY]}
    for topic, more in (
        ("context.usage", use),
        ("feedback", {"quality_score": chance.choice([0.1, 0.9])}),
        ("query.refinements", {"new_query": chance.choice(["p", "q"])}),
        ("session.abandonments", {}),
    ):
        if chance.random() < 0.2:
            late = chance.random() < LATE
            heard = done + (LATE_S if late else chance.choice([1, 50, 99, 101, 900]))
            whole = topic == "session.abandonments" and chance.random() < 0.5
            about = {} if whole else {"request_id": search.request_id}
            yield signal(
                topic, str(uuid.UUID(int=chance.getrandbits(128))), tenant=search.tenant_id,
                session=search.session_id, heard=heard,
                at=None if late else chance.choice([None, done + 1]), **more, **about,
            )  # fmt: skip


def _may_be_early(event):
    return not isinstance(event, Decision) and event.request_id is not None


def _shuffled(chance, events):
    places = [(number + chance.gauss(0, NEIGHBOURHOOD), number) for number in range(len(events))]
    return [events[number] for _, number in sorted(places)]

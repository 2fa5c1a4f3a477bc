"""A console on a broker and a store, and what there is to see in it: some of it is hostile."""

import json
from contextlib import asynccontextmanager
from datetime import timedelta
from types import SimpleNamespace

from aiokafka import AIOKafkaProducer

from memstream.addresses import free_port
from memstream.console import Console
from memstream.embedded.broker import embedded_broker
from memstream.health import Health
from memstream.settings import Settings
from memstream.web import serve_web
from models import Item, Outcome
from storage.protocol import Change
from storage.sqlite import SqliteStore
from tests.integration.storage.aftermath import NOON, second
from tests.integration.storage.school import REAL, searches
from topics import TopicNames, encode, topic_sizes

TOKEN = "a-token-nobody-guesses"
NAMES = TopicNames()

HOSTILE = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
"""In a query, a memory, a tenant's id, a dead letter: harmless as text, and only as that."""

OUTCOMES = (
    Outcome(type="result_used", quality_score=0.9),
    Outcome(type="query_refined", new_query="reworded"),
    Outcome(type="result_ignored"),
    Outcome(type="no_signal"),
)


def told(count, tenant):
    """Return labelled searches of every kind; the last of them is hostile."""
    for number, one in enumerate(searches(count, tenant=tenant)):
        rlm = one.actions[0].params["choice"]["option"] == "rlm"
        yield one.model_copy(
            update={
                "route": "rlm" if rlm else "standard",
                "outcome": OUTCOMES[min(number % 7, 3)],
                "query": HOSTILE if number == count - 1 else f"secret of {tenant} {number}",
                "result_count": len(one.shown),
                "actions": tuple(
                    action.model_copy(
                        update={
                            "started_at": one.started_at + place * timedelta(milliseconds=200),
                            "duration_ms": 200.0,
                            "propensity": 0.2 if number % 10 == 0 else 0.8,
                        }
                    )
                    for place, action in enumerate(one.actions)
                ),
            }
        )


async def fill(store, producer, tenants):
    """Learn for tenants, and publish what they learned from."""
    for tenant, count in tenants.items():
        log = list(told(count, tenant))
        for start in range(0, count, 20):
            part = log[start : start + 20]
            await store.policies.learn(tenant, part, REAL, part[-1].completed_at)
        for one in log:
            await producer.send(NAMES.prefix + "trajectories", encode(one), key=tenant.encode())
        item = Item(
            event_id="e",
            tenant_id=tenant,
            memory_id="m1",
            op="upsert",
            content=f"{HOSTILE} {tenant}",
        )
        await store.apply([Change(item, NOON, None)])
    await producer.flush()


async def bury(producer, offset, *, tenant, value=None, code="invalid_request", topic="items"):
    """Publish a dead letter as memstream writes it."""
    value = json.dumps({"tenant_id": tenant, "note": HOSTILE}) if value is None else value
    said = {
        "code": code,
        "message": f"no such field: {HOSTILE}",
        "topic": NAMES.prefix + topic,
        "partition": "0",
        "offset": str(offset),
        "at": second(offset).isoformat(),
    }
    headers = [(f"memstream-error-{name}", text.encode()) for name, text in said.items()]
    await producer.send_and_wait(
        NAMES.prefix + "dead-letters", value.encode(), key=b"k", headers=headers
    )


@asynccontextmanager
async def console(folder, tenants, **settings):
    """Serve a console of these tenants and their numbers of searches."""
    async with (
        embedded_broker(folder, topic_sizes(NAMES, 4)) as address,
        AIOKafkaProducer(bootstrap_servers=address) as producer,
    ):
        store = await SqliteStore.open(folder / "memstream.db")
        try:
            await fill(store, producer, tenants)
            health = Health("store")
            health.watch("store", store.ping)
            chosen = Settings(broker=f"kafka://{address}", data_dir=folder, **settings)
            site = Console(chosen, health)
            port = free_port("127.0.0.1", 0)
            async with serve_web(health, site, "127.0.0.1", port) as url:
                site.open(store)
                yield SimpleNamespace(
                    url=url, port=port, store=store, producer=producer, address=address
                )
        finally:
            await store.close()

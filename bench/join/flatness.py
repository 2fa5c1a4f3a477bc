"""What an event costs while more and more searches are open."""

import statistics
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import asyncpg

from bench.join.arena import Arena
from bench.join.events import Load
from bench.join.work import TOPICS, Given, Work
from bench.progress import Advance
from bench.search.goals import Goal
from memstream.clock import now
from storage.joins import Message
from storage.postgres import PostgresStore
from topics import Topic, TopicNames

FLAT = 0.15

SEED_OPEN = """
INSERT INTO memstream.open_trajectories (
    tenant_id, request_id, noted_at, session_id, query, tokens_used, succeeded, asked_at,
    completed_at, deadline_at, correct_until, forget_at, course
)
SELECT
    'tenant-' || lpad((n % $2)::text, 5, '0'), 'open-' || n, now(), 'open-' || n / $2 / 4,
    'what was looked for', 0, true, now() - interval '2 s', now() - interval '1 s',
    now() + interval '10 min', now() + interval '1 day', now() + interval '1 day',
    '{"query":"what was looked for"}'
FROM generate_series(0, $1::bigint - 1) AS n
"""

PLANS = {
    "a sweep": "SELECT * FROM due_by(now() - interval '1 h', interval '2 min', 500)",
    "forgetting": "SELECT forget_trajectories(now() - interval '1 h', 500)",
    "the outbox": "SELECT * FROM take_outbox(500)",
}
"""What has to look for work among all that is open; there is none to find here."""


async def flatness(
    arena: Arena, sizes: Sequence[int], load: Load, rounds: int, advance: Advance
) -> tuple[dict[str, Any], list[Goal]]:
    """Measure the same events with so many open searches, by each step of the join.

    Each number of them has a database of its own, and they take turns, so that whatever disturbs
    one disturbs all.
    """
    times: dict[int, dict[str, list[float]]] = {size: {} for size in sizes}
    rows: dict[str, Any] = {}
    async with AsyncExitStack() as stack:
        databases = {size: await stack.enter_async_context(arena.copy()) for size in sizes}
        works = {}
        for size, database in databases.items():
            store = await PostgresStore.open(database)
            stack.push_async_callback(store.close)
            works[size] = Work(store, TopicNames())
            await _seed(arena.superuser_of(database), size, load.tenants)
            await _round(works[size], Load("warm-up", load.searches, load.tenants), [])
        for number in range(rounds):
            for place, size in enumerate(sizes):
                part = Load(f"{number}", load.searches, load.tenants, number)
                for step, took in (await _round(works[size], part, [])).items():
                    times[size].setdefault(step, []).append(took)
                advance("open searches", number * len(sizes) + place + 1, len(sizes) * rounds)
        for size, steps in times.items():
            rows[f"{size:,}"] = {
                "us": {step: round(statistics.median(took), 1) for step, took in steps.items()},
                "lowest_us": {step: round(min(took), 1) for step, took in steps.items()},
                "looking_ms": await _idle(databases[size]),
            }
    fewest, *more = sizes
    return rows, [
        Goal.of_ratios(
            f"µs an event, {size:,} open against {fewest:,}",
            [a / b for a, b in zip(times[size]["all"], times[fewest]["all"], strict=True)],
            1 + FLAT,
            at_most=True,
        )
        for size in more
    ]


async def _round(work: Work, load: Load, published: list[Message]) -> dict[str, float]:
    """Return how long an event took, in µs: of each step, and of all."""
    given: dict[Topic, list[Given]] = {}
    at_ms = int(now().timestamp() * 1000)
    for offset, event in enumerate(load.events()):
        one = Given(0, offset, event.key, event.value, at_ms)
        given.setdefault(event.topic, []).append(one)

    async def publish(messages: Sequence[Message]) -> Sequence[int]:
        published.extend(messages)
        return ()

    took: dict[str, float] = {}
    began = time.perf_counter()
    for topic in TOPICS:
        started = time.perf_counter()
        await work.take(topic, given[topic])
        took[topic.value.suffix] = 1e6 * (time.perf_counter() - started) / len(given[topic])
    started = time.perf_counter()
    await work.publish(publish)
    took["outbox"] = 1e6 * (time.perf_counter() - started) / len(published)
    assert len(published) == load.searches
    took["all"] = 1e6 * (time.perf_counter() - began) / sum(map(len, given.values()))
    return took


async def _seed(superuser: str, size: int, tenants: int) -> None:
    connection = await asyncpg.connect(superuser, ssl=False)
    try:
        await connection.execute(SEED_OPEN, size, tenants, timeout=600)
        await connection.execute("VACUUM ANALYZE memstream.open_trajectories", timeout=600)
        await connection.execute("CHECKPOINT", timeout=600)
    finally:
        await connection.close()


async def _idle(database: str) -> dict[str, float]:
    """Return how long it takes to see that nothing is due, in ms."""
    settings = {"role": "memstream_app", "search_path": "memstream,public"}
    connection = await asyncpg.connect(database, server_settings=settings)
    found = {}
    try:
        for name, statement in PLANS.items():
            times = []
            for _ in range(20):
                started = time.perf_counter()
                await connection.fetch(statement)
                times.append(1000 * (time.perf_counter() - started))
            found[name] = round(statistics.median(times), 2)
    finally:
        await connection.close()
    return found

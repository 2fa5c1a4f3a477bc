"""Mixed requests while the language model fails, stalls and talks nonsense."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from memstream_client import Item, MemstreamClient, MemstreamError, SearchResult

from bench.decomposition.corpus import TENANT, Questions
from bench.decomposition.lanes import MEMORIES
from bench.progress import Advance
from bench.search.corpus import Question
from bench.search.goals import Goal
from bench.search.timing import busy, percentile
from bench.service import (
    LanguageModel,
    behaviour,
    language_model,
    metrics,
    running_service,
    until_handled,
)
from memstream.addresses import sqlite_path
from memstream.settings import load_settings
from storage.sqlite import SqliteStore

SHARES: Final = {"fail": 0.1, "stall": 0.1, "nonsense": 0.1}
SEED = 326
"""One by which calls stall, fail and get nonsense before the breaker has seen enough of it."""
BUDGET_S = 4.0
"""Less than a stalled model takes, more than reasoning may: both limits are met."""
OVER_BUDGET = 1.1
RATE = 5.0
"""Requests a second, whether or not those before were answered: few enough for two cores, and long
enough for the breaker, which pauses for 30 s, to open and try again several times."""
PATIENCE_S = 60.0
OPEN, OPENINGS = (
    "memstream_language_model_breaker_open",
    "memstream_language_model_breaker_openings_total",
)


@dataclass(frozen=True)
class Asked:
    """A request's answer, None if there was none, and how long it took."""

    result: SearchResult | None
    took_s: float

    @property
    def is_valid(self) -> bool:
        """Whether it was answered, with a result and not with an error."""
        return self.result is not None and self.result.status == "ok"

    @property
    def is_degraded(self) -> bool:
        """Whether the answer says that something was missing."""
        return self.result is not None and self.result.degraded


async def chaos(
    simple: Questions, hard: Questions, requests: int, folder: Path, advance: Advance
) -> tuple[dict[str, Any], list[Goal]]:
    """Ask simple and complex questions in turn, and see what comes of them and of the breaker."""
    place = folder / "chaos"
    await _hurry(place)
    async with (
        language_model(folder) as model,
        running_service(place, **model.settings) as runtime,
        MemstreamClient(
            runtime.broker, tenant=TENANT, session="bench", timeout=PATIENCE_S
        ) as client,
    ):
        items = [Item.model_validate(one.model_dump()) for one in simple.items[:MEMORIES]]
        async for stored in client.remember_all(items):
            advance("storing (chaos)", stored, len(items))
        await until_handled(runtime.web, "memory.items", len(items))
        for question in simple.questions[:5]:
            await client.search(question.text)
        await model.behave(**behaviour("mixture", shares=SHARES, seed=SEED))
        asked = await _mixed(client, _in_turn(simple, hard, requests), advance)
        during, did = await metrics(runtime.web), await model.report()
        recovered_s = await _recovered(client, model, hard.questions, runtime.web)
    simple_ones, complex_ones = asked[::2], asked[1::2]
    told = {
        "requests": len(asked),
        "budget_s": BUDGET_S,
        "valid": sum(one.is_valid for one in asked),
        "degraded": sum(one.is_degraded for one in asked),
        "simple": _times(simple_ones),
        "complex": _times(complex_ones),
        "calls": did["by_behaviour"],
        "breaker_openings": during[OPENINGS],
        "recovered_s": recovered_s and round(recovered_s, 1),
    }
    return told, _goals(asked, during[OPENINGS], recovered_s)


def _times(asked: Sequence[Asked]) -> dict[str, float]:
    took = [one.took_s for one in asked]
    return {
        "p50_ms": round(1000 * percentile(took, 50), 1),
        "p95_ms": round(1000 * percentile(took, 95), 1),
        "longest_ms": round(1000 * max(took), 1),
    }


def _goals(asked: Sequence[Asked], openings: float, recovered_s: float | None) -> list[Goal]:
    valid = sum(one.is_valid for one in asked) / len(asked)
    longest = max(one.took_s for one in asked) / BUDGET_S
    closed = float(recovered_s is not None)
    doubt = busy()
    return [
        Goal("chaos: share of requests with a valid result", valid, 1.0, at_most=False),
        Goal(
            "chaos: longest / budget",
            longest,
            OVER_BUDGET,
            at_most=True,
            doubt=doubt,
            flattering=False,
        ),
        Goal("chaos: times the breaker opened", openings, 1.0, at_most=False),
        Goal("chaos: breaker closed once the model was back", closed, 1.0, at_most=False),
    ]


async def _hurry(place: Path) -> None:
    """Give the tenant its time budget before the service runs."""
    place.mkdir()
    store = await SqliteStore.open(sqlite_path(load_settings(data_dir=place)))
    await store.override(TENANT, {"latency_budget_ms": int(1000 * BUDGET_S)})
    await store.close()


def _in_turn(simple: Questions, hard: Questions, count: int) -> list[Question]:
    easy, complicated = cycle(simple.questions), hard.questions
    # Every complex one is new, so that none is answered from a cache.
    return [
        complicated[n // 2] if n % 2 else next(easy)
        for n in range(min(count, 2 * len(complicated)))
    ]


async def _mixed(
    client: MemstreamClient, questions: Sequence[Question], advance: Advance
) -> list[Asked]:
    async def ask(question: Question) -> Asked:
        started = time.perf_counter()
        result = None
        with suppress(MemstreamError):
            result = await client.search(question.text)
        return Asked(result, time.perf_counter() - started)

    started, tasks = time.perf_counter(), []
    for number, question in enumerate(questions):
        await asyncio.sleep(max(started + number / RATE - time.perf_counter(), 0.0))
        tasks.append(asyncio.create_task(ask(question)))
        advance("chaos", number + 1, len(questions))
    return await asyncio.gather(*tasks)


async def _recovered(
    client: MemstreamClient, model: LanguageModel, questions: Sequence[Question], web: str
) -> float | None:
    """Return how long the breaker stays open with a model that is back, None if for too long."""
    await model.behave(**behaviour())
    started = time.perf_counter()
    for question in cycle(questions):
        if (await metrics(web))[OPEN] == 0:
            return time.perf_counter() - started
        if time.perf_counter() - started > PATIENCE_S:
            return None
        await client.search(question.text)
        await asyncio.sleep(0.5)
    return None

"""Simple searches through Kafka, alone and while complex ones wait for a language model."""

import asyncio
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

from memstream_client import Item, MemstreamClient

from bench.decomposition.corpus import TENANT, Questions
from bench.progress import Advance
from bench.search.corpus import Question
from bench.search.goals import Goal
from bench.search.timing import busy, percentile
from bench.service import LanguageModel, behaviour, language_model, running_service, until_handled

LANES = 1.2
WAITING = 50
STALL_S = 30.0
PATIENCE_S = 60.0
WARM_UP = 20
MEMORIES = 1_000
"""Enough for a search to take as long as it does; loading more only takes longer."""


async def lanes(
    simple: Questions,
    hard: Questions,
    size: tuple[int, int],
    folder: Path,
    advance: Advance,
) -> tuple[dict[str, Any], list[Goal]]:
    """Measure searches alone, beside waiting requests, and alone again; so many, so often."""
    searches, repetitions = size
    found = []
    async with language_model(folder) as model:
        for number in range(repetitions):
            # A new service has a breaker that has seen nothing: else nobody would wait.
            place = folder / f"lanes-{number}"
            found.append(await _once(simple, hard, searches, model, place, advance))
    ratios = [one["beside"]["p95_ms"] / one["alone"]["p95_ms"] for one in found]
    name = f"lanes: p95 of searches beside {WAITING} waiting / alone"
    goal = Goal.of_ratios(name, ratios, LANES, at_most=True, doubt=busy(), flattering=False)
    told = {
        kind: {
            percent: round(median(one[kind][percent] for one in found), 2)
            for percent in ("p50_ms", "p95_ms")
        }
        for kind in ("alone", "beside")
    }
    return {"searches": searches, "waiting": WAITING, **told}, [goal]


async def _once(
    simple: Questions,
    hard: Questions,
    searches: int,
    model: LanguageModel,
    folder: Path,
    advance: Advance,
) -> dict[str, dict[str, float]]:
    # Reasoning may take as long as the whole request, so that all wait as long as they may.
    settings = {**model.settings, "reasoning_timeout_s": 60}
    async with (
        running_service(folder, **settings) as runtime,
        MemstreamClient(
            runtime.broker, tenant=TENANT, session="bench", timeout=PATIENCE_S
        ) as client,
    ):
        items = [Item.model_validate(one.model_dump()) for one in simple.items[:MEMORIES]]
        async for stored in client.remember_all(items):
            advance("storing (lanes)", stored, len(items))
        await until_handled(runtime.web, "memory.items", len(items))
        questions = cycle(simple.questions)
        asked = list(islice(questions, searches))
        await _timed(client, asked[:WARM_UP])
        half = searches // 2
        alone = await _timed(client, asked[:half])
        waiting = await _stalled(client, model, hard.questions)
        beside = await _timed(client, asked)
        if any(one.done() for one in waiting):
            raise RuntimeError("a complex request did not wait until the searches were over")
        results = await asyncio.gather(*waiting)
        assert all(one.status == "ok" and one.degraded for one in results)
        alone += await _timed(client, asked[half:])
    return {"alone": _percentiles(alone), "beside": _percentiles(beside)}


async def _stalled(
    client: MemstreamClient, model: LanguageModel, questions: Sequence[Question]
) -> list["asyncio.Task[Any]"]:
    """Ask complex questions of a model that stalls; return once all wait for it."""
    before = (await model.report())["calls"]
    await model.behave(**behaviour("stall", seconds=STALL_S))
    waiting = [
        asyncio.create_task(client.search(one.text)) for one in islice(cycle(questions), WAITING)
    ]
    deadline = time.monotonic() + PATIENCE_S
    while (await model.report())["calls"] < before + WAITING:
        if time.monotonic() > deadline:
            raise RuntimeError("the language model was not asked by all complex requests")
        await asyncio.sleep(0.1)
    return waiting


async def _timed(client: MemstreamClient, questions: Sequence[Question]) -> list[float]:
    times = []
    for question in questions:
        started = time.perf_counter()
        result = await client.search(question.text)
        times.append(1000 * (time.perf_counter() - started))
        assert result.status == "ok"
    return times


def _percentiles(times: Sequence[float]) -> dict[str, float]:
    return {"p50_ms": median(times), "p95_ms": percentile(times, 95)}

"""Routing and decomposition called directly, against the search they are built on."""

import gc
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from bench.decomposition.corpus import Questions
from bench.progress import Advance
from bench.search.corpus import Question
from bench.search.goals import Goal
from bench.search.timing import Times, busy, in_turn, percentile
from memstream.clock import now
from memstream.settings import Settings
from memstream.wiring import build_answering
from models import SearchRequest
from retrieval.answered import Answered
from retrieval.answering import Answering
from retrieval.embedding import Embedder
from retrieval.ingest import Ingest
from retrieval.search import Search
from storage.sqlite import SqliteStore

ROUTER = 1.03
DECOMPOSITION = 8.0
NOISE = 0.01
"""A search against itself must come out this close to 1, or the run shows nothing."""
CHUNK = 256
DIRECT, ROUTED, AGAIN = "search called directly", "routed", "search called directly, again"
STANDARD, RLM = "standard route", "taken apart"


@dataclass(frozen=True)
class Callee:
    """What is called: a search, and what routes to it."""

    search: Search
    answering: Answering

    async def direct(self, question: Question) -> list[str]:
        """Search without routing."""
        result = await self.search.answer(request(question))
        return [memory.memory_id for memory in result.results]

    async def routed(self, question: Question) -> list[str]:
        """Route, and answer by that route."""
        asked = request(question)
        answered = await self.answering.answer(asked, await self.answering.route(asked))
        return [memory.memory_id for memory in answered.result.results]

    async def standard(self, question: Question) -> Answered:
        """Answer by the standard route, whatever the question is worth."""
        asked = request(question)
        routing = await self.answering.route(asked)
        return await self.answering.answer(asked, routing.standard())

    async def taken_apart(self, question: Question) -> Answered:
        """Take a question apart, whatever it is worth."""
        asked = request(question)
        routing = await self.answering.route(asked)
        return await self.answering.answer(asked, replace(routing, route="rlm"))


def request(question: Question) -> SearchRequest:
    """Return a question as a request."""
    return SearchRequest(
        request_id=str(uuid.uuid4()),
        tenant_id=question.tenant_id,
        session_id="bench",
        query=question.text,
    )


@asynccontextmanager
async def loaded(
    asked: Questions, settings: Settings, embedder: Embedder, folder: Path, advance: Advance
) -> AsyncIterator[Callee]:
    """Store the memories, and return what searches them; there is no language model."""
    store = await SqliteStore.open(folder / f"{uuid.uuid4()}.db")
    try:
        ingest, at = Ingest(store, embedder), now()
        for start in range(0, len(asked.items), CHUNK):
            chunk = asked.items[start : start + CHUNK]
            await ingest.store([(item, at) for item in chunk])
            advance(f"storing ({asked.name})", start + len(chunk), len(asked.items))
        search = Search(store, embedder, now, service=settings.service())
        yield Callee(search, build_answering(settings, search, store, None))
    finally:
        await store.close()


async def router(
    callee: Callee, asked: Questions, rounds: int, advance: Advance
) -> tuple[dict[str, Any], list[Goal]]:
    """Hold routed searches against direct ones, and those against themselves."""
    simple = [one for one in asked.questions if await _is_simple(callee, one)]
    gc.collect()
    gc.freeze()  # What was loaded is not looked through again in the middle of a search.
    contestants = {DIRECT: callee.direct, ROUTED: callee.routed, AGAIN: callee.direct}
    tell = partial(advance, "routing")
    times = await in_turn(contestants, simple, rounds, tell)
    gc.unfreeze()
    assert times[DIRECT].answers == times[ROUTED].answers, "the router changed an answer"
    ratios = times[ROUTED].against(times[DIRECT])
    control = times[AGAIN].against(times[DIRECT])
    doubt = busy()
    if abs(median(control) - 1) > NOISE:
        doubt = f"a search against itself came out as {median(control):.3f}"
    name = "router: p50 routed / direct"
    goal = Goal.of_ratios(name, ratios, ROUTER, at_most=True, doubt=doubt, flattering=False)
    told = {name: one.summary() for name, one in times.items()}
    extra = {"questions": len(simple), "itself_against_itself": round(median(control), 4)}
    return {"times": told, **extra}, [goal]


async def _is_simple(callee: Callee, question: Question) -> bool:
    return (await callee.answering.route(request(question))).route == "standard"


async def decomposition(
    callee: Callee, asked: Questions, rounds: int, advance: Advance
) -> tuple[dict[str, Any], list[Goal]]:
    """Hold decomposed requests against the same ones on the standard route."""
    contestants = {STANDARD: callee.standard, RLM: callee.taken_apart}
    tell = partial(advance, f"taking apart ({asked.name})")
    times = await in_turn(contestants, asked.questions, rounds, tell)
    ratios = _p95_ratios(times[RLM], times[STANDARD])
    told: dict[str, Any] = {}
    for name, one in times.items():
        queries = [_queries(answer) for answer in one.answers]
        told[name] = one.summary() | {"queries": round(fmean(queries), 1), "most": max(queries)}
    fell_back = sum(answer.fallback is not None for answer in times[RLM].answers)
    told[RLM]["p50_ratio"] = round(median(times[RLM].against(times[STANDARD])), 2)
    told[RLM]["fell_back"] = fell_back
    name = f"decomposition: p95 taken apart / standard, {asked.name}"
    more = {"doubt": busy(), "flattering": False}
    return told, [Goal.of_ratios(name, ratios, DECOMPOSITION, at_most=True, **more)]


def _queries(answered: Answered) -> int:
    return sum(step.kind == "SearchLayer" for step in answered.recorder.steps)


def _p95_ratios(mine: Times, theirs: Times) -> list[float]:
    p95: Callable[[list[float]], float] = partial(percentile, percent=95)
    return [p95(one) / p95(other) for one, other in zip(mine.rounds, theirs.rounds, strict=True)]

"""Runs a dataset through the real retrieval path, on a store of its own."""

import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memstream.clock import now
from memstream.embedded.postgres import embedded_postgres
from memstream.evaluation.dataset import Dataset, DatasetError, DatasetQuery, EvaluatedRoute
from memstream.evaluation.metrics import Judgement, by_category, judge, latencies, summary
from memstream.parts import Models, open_models
from memstream.settings import Settings
from memstream.wiring import build_answering
from models import SearchRequest
from retrieval.ingest import Ingest
from retrieval.policies import Policies
from retrieval.ranking import without_groups
from retrieval.search import Search
from storage import Store
from storage.postgres import PostgresStore, migrate
from storage.sqlite import SqliteStore

Advance = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""

CHUNK = 64
"""Memories stored at a time: large enough to embed well, small enough for a lively progress bar."""


BASELINES: Mapping[str, Mapping[str, Any]] = {
    "vector": {"mode": "semantic"},
    "BM25": {"mode": "keyword"},
    "RRF": {"fusion": "rrf"},
}
"""What a user would pick instead, as requests ask for it."""


async def evaluate(
    dataset: Dataset,
    settings: Settings,
    k: int,
    advance: Advance,
    *,
    several: bool = False,
    route: EvaluatedRoute = "auto",
    baseline: bool = False,
    without: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the quality of search on the dataset, as the contract describes it.

    By the route asked for, or each query by the one it is worth; of several, only the questions
    with more than one piece of evidence. With a baseline, also that of the
    usual choices; without groups of features, that of the rest.
    """
    if several:
        dataset = dataset.with_several_gold()
    weights = without_groups(without)
    async with open_models(settings) as models, own_store(settings.database) as store:
        await fill(dataset, Ingest(store, models.embedder), advance)
        asker = _Asker(settings, store, models, k, weights, route)
        measured = await _measured(dataset, asker, {}, "searching", advance)
        asker.route = "standard"
        others = {
            name: await _measured(dataset, asker, fields, f"searching ({name})", advance)
            for name, fields in (BASELINES if baseline else {}).items()
        }
    answer = {"dataset": dataset.name, "queries": measured.pop("queries"), "k": k, **measured}
    return {**answer, "baselines": others} if baseline else answer


async def _measured(
    dataset: Dataset, asker: "_Asker", fields: Mapping[str, Any], what: str, advance: Advance
) -> dict[str, Any]:
    judgements = []
    for done, query in enumerate(dataset.queries, start=1):
        judgements.append(await asker.ask(query, fields))
        advance(what, done, len(dataset.queries))
    return {
        **summary(judgements),
        **latencies(judgements),
        "by_category": by_category(judgements),
    }


class _Asker:
    """Asks each query at the moment the dataset says it was asked."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        models: Models,
        k: int,
        weights: Mapping[str, float],
        route: EvaluatedRoute,
    ) -> None:
        policies = Policies(None, time.monotonic, weights)
        search = Search(
            *(store, models.embedder, self._clock), service=settings.service(), policies=policies
        )
        self._answering = build_answering(settings, search, store, models.language_model)
        self._moment: datetime | None = None
        self._k = k
        self.route = route

    async def ask(self, query: DatasetQuery, fields: Mapping[str, Any]) -> Judgement:
        self._moment = query.asked_at
        request = SearchRequest(
            request_id=query.id,
            tenant_id=query.tenant,
            session_id="evaluation",
            query=query.query,
            limit=self._k,
            # All of k count: the default threshold would end every list at rank 27.
            threshold=0,
            **fields,
        )
        started = time.perf_counter()
        routing = await self._answering.route(request)
        if self.route != "auto":
            routing = replace(routing, route=self.route)
        answered = await self._answering.answer(request, routing)
        ms = 1000 * (time.perf_counter() - started)
        found = [memory.memory_id for memory in answered.result.results]
        return judge(found, query.gold, query.category, ms)

    def _clock(self) -> datetime:
        return self._moment or now()


@asynccontextmanager
async def own_store(database: str) -> AsyncIterator[Store]:
    """Open an empty store that is gone afterwards."""
    if "://" in database:
        raise DatasetError("an evaluation has a store of its own: embedded or embedded-postgres")
    with tempfile.TemporaryDirectory(prefix="memstream-eval-") as name:
        if database == "embedded":
            async with _closing(await SqliteStore.open(Path(name) / "memstream.db")) as store:
                yield store
        else:
            async with embedded_postgres(Path(name) / "postgres") as url:
                await migrate(url)
                async with _closing(await PostgresStore.open(url)) as store:
                    yield store


@asynccontextmanager
async def _closing(store: Store) -> AsyncIterator[Store]:
    try:
        yield store
    finally:
        await store.close()


async def fill(dataset: Dataset, ingest: Ingest, advance: Advance) -> None:
    """Store the memories of a dataset."""
    items, received_at = dataset.items(), now()
    for start in range(0, len(items), CHUNK):
        chunk = items[start : start + CHUNK]
        await ingest.store([(item, received_at) for item in chunk])
        advance("storing", start + len(chunk), len(items))

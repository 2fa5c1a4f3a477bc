"""The embedder's own rate: what ingest keeps of it, and what a query's embedding adds."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median
from typing import Any

from bench.progress import Advance
from bench.search.corpus import Corpus
from bench.search.goals import INGEST, Goal
from bench.search.timing import Times, busy, in_turn
from memstream.clock import now
from models import Item
from retrieval.embedding import Embedder
from retrieval.ingest import Ingest
from storage import Change, Store
from storage.sqlite import SqliteStore

BATCH = 64
TENANT = "ingest"
ALONE = "embedder alone"
NOTHING = "control: storing nothing"
NOISE = 0.1
BUSY = f"ingest that stores nothing differs from the embedder alone by more than {NOISE:.0%}"

Work = Callable[[Sequence[Item]], Awaitable[Any]]


async def ingest(
    stores: Mapping[str, Store], embedder: Embedder, corpus: Corpus, count: int, advance: Advance
) -> tuple[dict[str, Any], list[Goal]]:
    """Embed the same texts alone and on the way into each store, batch by batch in turn."""
    items = [item.model_copy(update={"tenant_id": TENANT}) for item in corpus.items[:count]]
    work: dict[str, Work] = {ALONE: _embed(embedder)}
    into = {**stores, NOTHING: Nothing()}
    work |= {name: _store(Ingest(store, embedder)) for name, store in into.items()}
    took: dict[str, list[float]] = {name: [] for name in work}
    await work[ALONE](items[:BATCH])  # The model's first call of a kind is its slowest.
    for start in range(0, len(items), BATCH):
        batch = items[start : start + BATCH]
        first = start // BATCH % len(work)
        for name in [*work][first:] + [*work][:first]:
            started = time.perf_counter()
            await work[name](batch)
            took[name].append(time.perf_counter() - started)
        advance("ingesting", start + len(batch), len(items))
    rates = {name: round(len(items) / sum(times), 1) for name, times in took.items()}
    shares = {name: _shares(took[ALONE], took[name]) for name in into}
    noise = abs(median(shares[NOTHING]) - 1)
    doubt = BUSY if noise > NOISE else busy()
    more = {"doubt": doubt, "flattering": False}
    return rates, [
        Goal.of_ratios(
            f"ingest / embedder alone, {name}", shares[name], INGEST, at_most=False, **more
        )
        for name in stores
    ]


async def query_times(embedder: Embedder, corpus: Corpus, rounds: int) -> dict[str, float]:
    """Time the embedding of one query at a time."""

    async def embed(query: str) -> Any:
        return await embedder.embed([query])

    queries = [question.text for question in corpus.questions]
    measured: dict[str, Times] = await in_turn({"": embed}, queries, rounds, lambda *_: None)
    return measured[""].summary()


class Nothing(SqliteStore):
    """A store that keeps nothing: what ingest into it takes is the embedder's time, and noise."""

    def __init__(self) -> None:
        """Open nothing."""

    async def apply(self, changes: Sequence[Change]) -> None:
        """Forget the changes."""


def _shares(alone: Sequence[float], through: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(alone, through, strict=True)]


def _embed(embedder: Embedder) -> Work:
    async def work(batch: Sequence[Item]) -> Any:
        return await embedder.embed([item.content or "" for item in batch])

    return work


def _store(through: Ingest) -> Work:
    async def work(batch: Sequence[Item]) -> Any:
        at = now()
        return await through.store([(item, at) for item in batch])

    return work

"""Measures everything in one run."""

import os
import tempfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.progress import Advance
from bench.search.arena import BARE, BARE_OPEN, arena
from bench.search.corpus import Corpus, from_dataset, generated
from bench.search.embedding import ingest, query_times
from bench.search.product import against_product
from bench.search.race import by_tenant, race, table, vector_recall
from bench.search.vectors import precomputed
from memstream.parts import open_configured_embedder
from memstream.settings import load_settings
from retrieval.embedding import Embedder

PACKAGES = ("lancedb", "llama-index-core", "llama-index-vector-stores-postgres", "numpy", "asyncpg")
NOTES = (
    "all search times leave out the query's embedding; everyone gets the same vectors",
    "peers compare vectors exactly, with an index of tenants, and fuse 10 of each list by RRF",
    "bare SQL without the wall: the text statement as the table's owner; for information only",
)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    memories: int
    questions: int
    rounds: int
    ingested: int


FULL = Size(memories=100_000, questions=100, rounds=5, ingested=2_048)
QUICK = Size(memories=10_000, questions=30, rounds=3, ingested=768)


async def measure(size: Size, datasets: list[Path], advance: Advance) -> dict[str, Any]:
    """Measure everything in one run."""
    settings = load_settings()
    vectors_in = settings.data_dir / "bench"
    embedder = await open_configured_embedder(settings)
    assert embedder is not None
    corpus = generated(size.memories, size.questions)
    vectors = await precomputed(corpus, embedder, vectors_in, advance)
    with tempfile.TemporaryDirectory(prefix="memstream-bench-") as name:
        folder = Path(name)
        async with arena(corpus, vectors, folder, advance) as there:
            hybrid, goals = await by_tenant(there, corpus, vectors, size.rounds, advance)
            goals += await vector_recall(there, corpus, vectors)
            stores, count = there.stores, size.ingested
            rates, kept = await ingest(stores, embedder, corpus, count, advance)
        exact, near = await against_product(corpus, vectors, size.rounds, folder, advance)
    compared = {}
    for one in map(from_dataset, datasets):
        compared[one.name] = await on_dataset(one, embedder, vectors_in, advance)
    measured = {
        "machine": machine(size),
        "hybrid": hybrid,
        "datasets": compared,
        "embedded": exact,
        "ingest": rates,
        "query_embedding": await query_times(embedder, corpus, size.rounds),
        "goals": [goal.summary() for goal in (*goals, *near, *kept)],
        "notes": NOTES,
    }
    await embedder.close()
    return measured


async def on_dataset(
    corpus: Corpus, embedder: Embedder, vectors_in: Path, advance: Advance
) -> dict[str, Any]:
    """Put a dataset's questions to everyone who ranks, once."""
    vectors = await precomputed(corpus, embedder, vectors_in, advance)
    with tempfile.TemporaryDirectory(prefix="memstream-bench-") as name:
        async with arena(corpus, vectors, Path(name), advance) as there:
            ranking = {
                name: one
                for name, one in there.contestants.items()
                if name not in (BARE, BARE_OPEN)
            }

            def tell(done: int, total: int) -> None:
                advance(f"searching {corpus.name}", done, total)

            return table(corpus.questions, await race(ranking, corpus.questions, vectors, 1, tell))


def machine(size: Size) -> dict[str, Any]:
    """Return what the numbers depend on besides the code."""
    found: dict[str, Any] = {"cores": os.cpu_count(), "load": round(os.getloadavg()[1], 1)}
    found["memories"] = f"{size.memories:,}"
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed (`make bench` installs it)"
    return found

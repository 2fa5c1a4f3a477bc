"""Everyone who is to search a corpus, loaded with it."""

import importlib.util
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.progress import Advance
from bench.search import bare
from bench.search.corpus import Corpus
from bench.search.ours import Memstream
from bench.search.vectors import Precomputed
from memstream.embedded.postgres import embedded_postgres
from models import Item
from retrieval.embedding.protocol import Vectors
from storage import Store
from storage.postgres import PostgresStore, migrate
from storage.sqlite import SqliteStore

OURS = "memstream, PostgreSQL"
EMBEDDED = "memstream, embedded"
BARE = "bare SQL"
BARE_OPEN = "bare SQL, text without the wall"


class Contestant(Protocol):
    """Whoever can search."""

    async def search(self, tenant_id: str, query: str, vector: Vectors) -> list[str]:
        """Return the ids of the tenant's best memories, best first."""

    async def close(self) -> None:
        """Let go of everything."""


@dataclass
class Arena:
    """Who is there, and the stores of those who are ours."""

    contestants: dict[str, Contestant] = field(default_factory=dict)
    stores: dict[str, Store] = field(default_factory=dict)


@asynccontextmanager
async def arena(
    corpus: Corpus, vectors: Precomputed, folder: Path, advance: Advance
) -> AsyncIterator[Arena]:
    """Load a corpus into everything that can search."""
    there = Arena()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(embedded_postgres(folder / "postgres"))
        await migrate(url)
        stack.push_async_callback(_close_all, there)
        there.stores[OURS] = await PostgresStore.open(url)
        there.stores[EMBEDDED] = await SqliteStore.open(folder / "memstream.db")
        for name, store in there.stores.items():
            ours = Memstream(store, vectors)
            there.contestants[name] = ours
            await ours.load(corpus.items, f"loading {name}", advance)
        await _add_peers(there, folder, url, corpus.items, vectors, advance)
        await bare.fill(url, corpus.items)
        sizes = corpus.tenants()
        for name, wall in ((BARE, True), (BARE_OPEN, False)):
            there.contestants[name] = await bare.BareSql.open(url, vectors.name, sizes, wall=wall)
        yield there


async def _add_peers(
    there: Arena,
    folder: Path,
    url: str,
    items: Sequence[Item],
    vectors: Precomputed,
    advance: Advance,
) -> None:
    if importlib.util.find_spec("lancedb"):
        os.environ.setdefault("LANCEDB_LOG", "error")  # Else two deprecations a query.
        from bench.search.peers import lance

        there.contestants[lance.NAME] = await lance.Lance.open(folder, items, vectors, advance)
    if importlib.util.find_spec("llama_index"):
        from bench.search.peers import llama

        there.contestants[llama.NAME] = await llama.Llama.open(url, items, vectors, advance)


async def _close_all(there: Arena) -> None:
    for contestant in there.contestants.values():
        await contestant.close()

"""Measures ways to rank by words: ``python -m bench.keyword DATASET_DIR…``.

Recall@10 of BM25 as both stores compute it, with and without stop words, beside PostgreSQL's own
ts_rank and ts_rank_cd over the same texts.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import asyncpg
from rich.console import Console
from rich.progress import track
from rich.table import Table

from memstream.clock import now
from memstream.embedded.postgres import embedded_postgres
from memstream.evaluation.dataset import Dataset, DatasetQuery, read_dataset
from memstream.evaluation.run import fill
from retrieval.fusion import by_words, in_order
from retrieval.ingest import Ingest
from retrieval.ranking import Evidence
from storage import Asked, Filter, Sought, Store, words
from storage.sqlite import SqliteStore

K = 10
Way = Callable[[DatasetQuery], Awaitable[set[str]]]

ASKED = "SELECT replace(plainto_tsquery('english', $2)::text, '&', '|')::tsquery AS asked"
"""Any of the words will do, as for BM25: of a question's words, hardly a text has all."""
RANKS = {
    "ts_rank": "ts_rank(words, asked)",
    "ts_rank, by length": "ts_rank(words, asked, 1)",
    "ts_rank_cd": "ts_rank_cd(words, asked)",
    "ts_rank_cd, by length": "ts_rank_cd(words, asked, 1)",
}


def main() -> None:
    """Measure every way on every dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="+", type=Path)
    options = parser.parse_args()
    measured = asyncio.run(_measure([read_dataset(folder) for folder in options.datasets]))
    table = Table("ranked by", *measured)
    for way in next(iter(measured.values())):
        table.add_row(way, *(f"{found[way]:.3f}" for found in measured.values()))
    Console().print(table)


async def _measure(datasets: list[Dataset]) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory(prefix="memstream-keyword-") as name:
        async with embedded_postgres(Path(name) / "postgres") as url:
            connection = await asyncpg.connect(url)
            measured: dict[str, dict[str, float]] = {}
            for dataset in datasets:
                store = await SqliteStore.open(Path(name) / f"{dataset.name}.db")
                await fill(dataset, Ingest(store, None), lambda *_: None)
                await _copy(connection, dataset)
                ways = {**_ours(store), **_theirs(connection)}
                found = measured[dataset.name] = {}
                for way, ask in track(ways.items(), dataset.name):
                    found[way] = fmean([await _recall(ask, query) for query in dataset.queries])
                await store.close()
            await connection.close()
            return measured


async def _recall(ask: Way, query: DatasetQuery) -> float:
    return len(await ask(query) & query.gold) / len(query.gold)


def _ours(store: Store) -> Mapping[str, Way]:
    def way(asked: Callable[[str], Asked]) -> Way:
        async def ask(query: DatasetQuery) -> set[str]:
            sought = Sought(asked=asked(query.query), embedding=None, best=K)
            found = await store.find(query.tenant, sought, Filter(at=query.asked_at or now()))
            return {one.hit.memory_id for one in in_order(by_words(Evidence(found)))[:K]}

        return ask

    def all_words(query: str) -> Asked:
        return Asked(tuple(dict.fromkeys(words.terms(query))))

    return {"BM25": way(words.asked), "BM25, stop words too": way(all_words)}


def _theirs(connection: Any) -> Mapping[str, Way]:
    def way(rank: str) -> Way:
        async def ask(query: DatasetQuery) -> set[str]:
            rows = await connection.fetch(
                f"SELECT id FROM texts CROSS JOIN ({ASKED}) AS query "
                f"WHERE tenant = $1 AND words @@ asked ORDER BY {rank} DESC, id LIMIT {K}",
                *(query.tenant, query.query),
            )
            return {row["id"] for row in rows}

        return ask

    return {name: way(rank) for name, rank in RANKS.items()}


async def _copy(connection: Any, dataset: Dataset) -> None:
    await connection.execute("DROP TABLE IF EXISTS texts")
    await connection.execute("CREATE TEMP TABLE texts (tenant text, id text, words tsvector)")
    await connection.executemany(
        "INSERT INTO texts VALUES ($1, $2, to_tsvector('english', $3))",
        [(memory.tenant, memory.id, memory.content) for memory in dataset.memories],
    )


if __name__ == "__main__":
    main()

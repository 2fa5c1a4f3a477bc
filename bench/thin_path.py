"""How near the service comes to its limits: the embedder's own rate, and a bare search.

``python -m bench.thin_path`` starts a service of its own on embedded parts and writes
bench/results/thin_path.json and .svg.
"""

import asyncio
import json
import os
import random
import statistics
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import memstream_client
from memstream_client import MemstreamClient
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.service import running_service, until_handled
from memstream.clock import now
from memstream.runtime import Runtime
from models import InForce, Item, SearchRequest
from retrieval.embedding import open_embedder
from retrieval.ingest import Ingest
from retrieval.routing import Router
from retrieval.search import Search
from storage.sqlite import SqliteStore

MEMORIES = 2_000
SEARCHES = 200
CLIENTS = 16
SEED = 7
RESULTS = Path(__file__).parent / "results"
WORDS = Path(__file__).read_text().split()


def sentences(count: int) -> list[str]:
    """Return texts of the length of a remembered sentence."""
    chance = random.Random(SEED)
    return [" ".join(chance.choices(WORDS, k=chance.randint(8, 24))) for _ in range(count)]


def simple(texts: Sequence[str]) -> list[str]:
    """Return the texts that are searched for as they are: taking apart is measured elsewhere."""
    return [text for text in texts if Router().route(text, InForce()).route == "standard"]


def items(texts: Sequence[str]) -> list[Item]:
    """Return the texts as items of one tenant, spread over sessions and so over partitions."""
    return [
        Item(
            event_id=str(uuid.uuid4()),
            tenant_id="bench",
            memory_id=f"m{number}",
            session_id=f"s{number % 16}",
            content=text,
        )
        for number, text in enumerate(texts)
    ]


def request(query: str) -> SearchRequest:
    """Return a search of that tenant."""
    return SearchRequest(
        request_id=str(uuid.uuid4()),
        tenant_id="bench",
        session_id=f"s{random.randrange(16)}",
        query=query,
    )


async def limits(folder: Path, texts: Sequence[str], queries: Sequence[str]) -> dict[str, float]:
    """Measure what no service around them can exceed: embedder and store, called directly."""
    embedder = await open_embedder("onnx", cache_dir=folder / "models")
    assert embedder is not None
    store = await SqliteStore.open(folder / "limits.db")
    started = time.perf_counter()
    await embedder.embed(texts)
    embedding = time.perf_counter() - started
    await Ingest(store, embedder).store([(item, now()) for item in items(texts)])
    search = Search(store, embedder, now)
    times = []
    for query in queries:
        started = time.perf_counter()
        await search.answer(request(query))
        times.append(time.perf_counter() - started)
    await store.close()
    await embedder.close()
    return {
        "embeddings_per_s": len(texts) / embedding,
        "search_p50_ms": 1000 * statistics.median(times),
        "search_p95_ms": 1000 * statistics.quantiles(times, n=20)[-1],
    }


async def service(
    runtime: Runtime, texts: Sequence[str], queries: Sequence[str]
) -> dict[str, float]:
    """Measure the same through Kafka, as a client sees it."""
    async with MemstreamClient(runtime.broker, tenant="bench") as client:
        said = [memstream_client.Item.model_validate(one.model_dump()) for one in items(texts)]
        started = time.perf_counter()
        async for _ in client.remember_all(said):
            pass
        await until_handled(runtime.web, "memory.items", len(texts))
        ingesting = time.perf_counter() - started
        await client.search("warm up")
        times = [await _timed(client, query) for query in track(queries, "one at a time")]
        started = time.perf_counter()
        shares = [queries[n::CLIENTS] for n in range(CLIENTS)]
        await asyncio.gather(*(_in_turn(client, share) for share in shares))
        throughput = len(queries) / (time.perf_counter() - started)
    return {
        "items_per_s": len(texts) / ingesting,
        "search_p50_ms": 1000 * statistics.median(times),
        "search_p95_ms": 1000 * statistics.quantiles(times, n=20)[-1],
        "searches_per_s": throughput,
    }


async def _timed(client: MemstreamClient, query: str) -> float:
    started = time.perf_counter()
    await _asked(client, query)
    return time.perf_counter() - started


async def _in_turn(client: MemstreamClient, queries: Sequence[str]) -> None:
    for query in queries:
        await _asked(client, query)


async def _asked(client: MemstreamClient, query: str) -> None:
    session = f"s{random.randrange(16)}"
    await client.bind(session=session).search(query)


async def measure() -> dict[str, Any]:
    """Measure limits and service in one run, on the same texts."""
    texts, queries = sentences(MEMORIES), simple(sentences(2 * SEARCHES))[:SEARCHES]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone = await limits(folder, texts, queries)
        async with running_service(folder) as runtime:
            through = await service(runtime, texts, queries)
    return {
        "memories": MEMORIES,
        "searches": SEARCHES,
        "cores": os.cpu_count(),
        "limits": alone,
        "service": through,
        "ratios": {
            "ingest against the embedder alone": through["items_per_s"] / alone["embeddings_per_s"],
            "search p50 against a direct call": through["search_p50_ms"] / alone["search_p50_ms"],
            "searches/s against one caller of the direct call": through["searches_per_s"]
            * alone["search_p50_ms"]
            / 1000,
        },
    }


def plot(measured: dict[str, Any], file: Path) -> None:
    """Draw the latencies side by side."""
    mpl.use("svg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3))
    names = ("search_p50_ms", "search_p95_ms")
    for offset, part in enumerate(("limits", "service")):
        places = [n + 0.4 * offset for n in range(len(names))]
        label = "direct call" if part == "limits" else "through Kafka"
        axes.bar(places, [measured[part][name] for name in names], 0.38, label=label)
    axes.set_xticks([0.2, 1.2], ["p50", "p95"])
    axes.set_ylabel("search, ms")
    axes.legend()
    figure.tight_layout()
    figure.savefig(file)


def main() -> None:
    """Measure, print, and write the results."""
    measured = asyncio.run(measure())
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "thin_path.json").write_text(json.dumps(measured, indent=2) + "\n")
    plot(measured, RESULTS / "thin_path.svg")
    table = Table("ratio", "value")
    for name, value in measured["ratios"].items():
        table.add_row(name, f"{value:.2f}")
    Console().print(json.dumps({k: measured[k] for k in ("limits", "service")}, indent=2), table)


if __name__ == "__main__":
    main()

"""Questions with the features of everything the store brings for them."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.progress import track

from memstream.clock import now
from memstream.evaluation.dataset import Dataset, read_dataset
from memstream.parts import open_configured_embedder
from memstream.settings import load_settings
from retrieval.embedding import Embedder
from retrieval.fusion import by_ranks, in_order
from retrieval.ingest import Ingest
from retrieval.plan import AROUND, BEST
from retrieval.ranking import Evidence, features
from storage import Embedding, Filter, Sought, words
from storage.sqlite import SqliteStore

FOLDS = 5
K = 10


@dataclass(frozen=True)
class Case:
    """One question: the features of every candidate, and which of them answer it."""

    dataset: str
    fold: int
    rows: npt.NDArray[np.float64]
    gold: npt.NDArray[np.bool_]
    answers: int
    """How many memories answer it, brought by the store or not."""
    weight: float
    by_ranks: float
    """Which share of them reciprocal rank fusion has among its first K."""


async def cases_of(folders: Sequence[Path]) -> list[Case]:
    """Store the datasets and compute the features of every question, as a search would.

    Each dataset counts the same, however many questions it has.
    """
    settings = load_settings()
    embedder = await open_configured_embedder(settings)
    assert embedder is not None
    cases: list[Case] = []
    with tempfile.TemporaryDirectory(prefix="memstream-prior-") as name:
        for folder in folders:
            dataset = read_dataset(folder)
            store = await SqliteStore.open(Path(name) / f"{dataset.name}.db")
            cases += await _of_dataset(dataset, store, embedder)
            await store.close()
    await embedder.close()
    return cases


async def _of_dataset(dataset: Dataset, store: SqliteStore, embedder: Embedder) -> list[Case]:
    moment, items, ingest = now(), dataset.items(), Ingest(store, embedder)
    for start in track(range(0, len(items), 64), f"storing {dataset.name}"):
        await ingest.store([(item, moment) for item in items[start : start + 64]])
    vectors = await embedder.embed([query.query for query in dataset.queries])
    tenants = {name: n for n, name in enumerate(dict.fromkeys(m.tenant for m in dataset.memories))}
    cases = []
    for n, query in enumerate(track(dataset.queries, f"asking {dataset.name}")):
        sought = Sought(
            asked=words.asked(query.query),
            embedding=Embedding(embedder.name, vectors[n]),
            best=BEST,
            around=AROUND,
        )
        found = await store.find(query.tenant, sought, Filter(at=query.asked_at or moment))
        evidence = Evidence(found)
        fused = {one.hit.memory_id for one in in_order(by_ranks(evidence, K))[:K]}
        cases.append(
            Case(
                dataset=dataset.name,
                # Tenants are kept apart; the questions of a single tenant are.
                fold=(tenants[query.tenant] if len(tenants) > 1 else n) % FOLDS,
                rows=features(evidence, query.query, BEST),
                gold=np.array([hit.memory_id in query.gold for hit in found.hits]),
                answers=len(query.gold),
                weight=1 / len(dataset.queries),
                by_ranks=len(fused & query.gold) / len(query.gold),
            )
        )
    return cases

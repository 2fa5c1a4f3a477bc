"""Questions with the candidates that recursive decomposition finds for them."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.progress import track

from memstream.clock import now
from memstream.evaluation.dataset import Dataset, DatasetQuery, read_dataset
from memstream.parts import open_configured_embedder
from memstream.settings import load_settings
from models import SearchRequest, TenantOverrides
from retrieval.choosing import Chooser, Policy
from retrieval.decomposition.budget import Budget
from retrieval.decomposition.drilling import Drill
from retrieval.decomposition.exploring import Exploring
from retrieval.decomposition.policy import Choice, Move
from retrieval.decomposition.ranking import Ranking
from retrieval.decomposition.searching import Searching
from retrieval.decomposition.state import State, Task
from retrieval.decomposition.steps import Steps
from retrieval.embedding import Embedder
from retrieval.ingest import Ingest
from retrieval.plan import plan
from retrieval.reasoning import unrefined
from retrieval.search import Search
from retrieval.trajectory import Recorder
from storage.sqlite import SqliteStore

MOVES: tuple[Move, ...] = ("search", "follow up")
"""What is done of a decomposition: all that needs nothing but a question."""

FOLDS = 5
SEVERAL_COUNT = 3
"""A question that several memories answer counts so many times."""

Narrow = npt.NDArray[np.float32]


NOTHING_LEARNED = Chooser(Policy(), 0)


@dataclass(frozen=True)
class Case:
    """One question: own features and paths of every candidate, and which of them answer it."""

    dataset: str
    fold: int
    own: Narrow
    paths: Narrow
    gold: npt.NDArray[np.bool_]
    answers: int
    """How many memories answer it, found or not."""
    weight: float
    searches: int


async def cases_of(folders: Sequence[Path]) -> list[Case]:
    """Store the datasets and take every question apart, as a search would."""
    embedder = await open_configured_embedder(load_settings())
    assert embedder is not None
    cases: list[Case] = []
    with tempfile.TemporaryDirectory(prefix="memstream-hops-") as name:
        for folder in folders:
            dataset = read_dataset(folder)
            store = await SqliteStore.open(Path(name) / f"{dataset.name}.db")
            moment, items, ingest = now(), dataset.items(), Ingest(store, embedder)
            for start in track(range(0, len(items), 64), f"storing {dataset.name}"):
                await ingest.store([(item, moment) for item in items[start : start + 64]])
            cases += await of_dataset(dataset, store, embedder)
            await store.close()
    await embedder.close()
    return cases


async def of_dataset(dataset: Dataset, store: SqliteStore, embedder: Embedder) -> list[Case]:
    """Return the questions of a dataset that is stored."""
    tenants = {name: n for n, name in enumerate(dict.fromkeys(m.tenant for m in dataset.memories))}
    counts = [SEVERAL_COUNT if len(query.gold) > 1 else 1 for query in dataset.queries]
    search = Search(store, embedder, now)
    ranking = Ranking()
    steps = Steps(Exploring(Searching(search.finder), ranking, Drill(store)), ranking, None)
    cases = []
    for n, query in enumerate(track(dataset.queries, f"asking {dataset.name}")):
        state = await _searched(query, steps)
        found = ranking.candidates(state)
        cases.append(
            Case(
                dataset=dataset.name,
                # Tenants are kept apart; the questions of a single tenant are.
                fold=(tenants[query.tenant] if len(tenants) > 1 else n) % FOLDS,
                own=found.own.astype(np.float32),
                paths=found.paths.astype(np.float32),
                gold=np.array([hit.memory_id in query.gold for hit in found.hits]),
                answers=len(query.gold),
                # Each dataset counts the same, however many questions it has.
                weight=counts[n] / sum(counts),
                searches=len(state.searches),
            )
        )
    return cases


async def _searched(query: DatasetQuery, steps: Steps) -> State:
    """Search for a question, and follow what was found, as the service does."""
    request = SearchRequest(
        request_id=query.id, tenant_id=query.tenant, session_id="fit", query=query.query
    )
    own, at = TenantOverrides(), query.asked_at or now()
    task = Task(
        request, own.in_force(), plan(request, own, True), at, float("inf"), NOTHING_LEARNED
    )
    budget = Budget(task.deadline, time.monotonic)
    state = State(task, unrefined(query.query), budget, "finding")
    recorder = Recorder(now, time.monotonic)
    for move in MOVES:
        await steps.take(state, recorder, Choice(move, state.context, (move,)))
    return state

"""Hybrid search: ours against its own bare SQL and against peers; and the vector part's recall."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

import numpy as np

from bench.progress import Advance
from bench.search.arena import BARE, BARE_OPEN, OURS, Arena, Contestant
from bench.search.corpus import Corpus, Question
from bench.search.goals import BARE_SQL, VECTOR_RECALL, Goal
from bench.search.ours import LIMIT, Memstream
from bench.search.timing import Call, Times, busy, in_turn
from bench.search.vectors import Precomputed

TIE = 1e-5
"""Cosines this close are the same to single precision."""

Tell = Callable[[int, int], None]


def asking(contestant: Contestant, vectors: Precomputed) -> Call[Question]:
    """Return what puts a question to a contestant, with its vector at hand."""

    async def ask(question: Question) -> list[str]:
        vector = vectors.of(question.text)
        return await contestant.search(question.tenant_id, question.text, vector)

    return ask


async def race(
    contestants: Mapping[str, Contestant],
    questions: Sequence[Question],
    vectors: Precomputed,
    rounds: int,
    tell: Tell,
) -> dict[str, Times]:
    """Put the same questions to all, in turn."""
    calls = {name: asking(one, vectors) for name, one in contestants.items()}
    return await in_turn(calls, questions, rounds, tell)


def recall(questions: Sequence[Question], answers: Sequence[list[str]]) -> float:
    """Return the mean share of gold among the results."""
    pairs = zip(questions, answers, strict=True)
    return fmean(len(one.gold & set(found[:LIMIT])) / len(one.gold) for one, found in pairs)


def table(questions: Sequence[Question], times: Mapping[str, Times]) -> dict[str, Any]:
    """Return percentiles and, for those who rank, recall."""
    rows: dict[str, Any] = {}
    for name, one in times.items():
        rows[name] = one.summary()
        if name not in (BARE, BARE_OPEN):
            rows[name]["recall"] = round(recall(questions, one.answers), 4)
    return rows


async def by_tenant(
    there: Arena, corpus: Corpus, vectors: Precomputed, rounds: int, advance: Advance
) -> tuple[dict[str, Any], list[Goal]]:
    """Race in each measured tenant."""
    tables: dict[str, Any] = {}
    goals = []
    for tenant_id, size in corpus.tenants().items():
        label = f"{size:,} memories"

        def tell(done: int, total: int, label: str = label) -> None:
            advance(f"searching among {label}", done, total)

        questions = corpus.of(tenant_id)
        times = await race(there.contestants, questions, vectors, rounds, tell)
        tables[label] = table(questions, times)
        ratios = times[OURS].against(times[BARE])
        more = {"doubt": busy(), "flattering": False}
        name = f"hybrid / bare SQL, {label}"
        goals.append(Goal.of_ratios(name, ratios, BARE_SQL, at_most=True, **more))
        without = times[OURS].against(times[BARE_OPEN])
        tables[label][BARE_OPEN]["hybrid_against_this"] = round(median(without), 3)
    return tables, goals


async def vector_recall(there: Arena, corpus: Corpus, vectors: Precomputed) -> list[Goal]:
    """Hold semantic search against all cosines of the tenant."""
    goals = []
    sizes = corpus.tenants()
    for name, store in there.stores.items():
        semantic = Memstream(store, vectors, "semantic")
        for tenant_id, size in sizes.items():
            shares = await _shares(semantic, tenant_id, corpus, vectors)
            label = f"vector recall@{LIMIT}, {name}, {size:,} of {len(corpus.items):,}"
            goals.append(Goal(label, fmean(shares), VECTOR_RECALL, at_most=False))
    return goals


async def _shares(
    semantic: Memstream, tenant_id: str, corpus: Corpus, vectors: Precomputed
) -> list[float]:
    mine = [item for item in corpus.items if item.tenant_id == tenant_id]
    place = {item.memory_id: n for n, item in enumerate(mine)}
    matrix = await vectors.embed([item.content or "" for item in mine])
    shares = []
    for question in corpus.of(tenant_id):
        vector = vectors.of(question.text)
        cosines = matrix @ vector
        least = np.sort(cosines)[-LIMIT] - TIE
        found = await semantic.search(tenant_id, question.text, vector)
        shares.append(sum(bool(cosines[place[memory]] >= least) for memory in found) / LIMIT)
    return shares

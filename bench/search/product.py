"""The embedded store's exact search against the one matrix product that it cannot do without."""

from pathlib import Path
from typing import Any

from bench.progress import Advance
from bench.search.corpus import Corpus, Question
from bench.search.goals import BARE_PRODUCT, Goal
from bench.search.ours import Memstream
from bench.search.timing import Call, in_turn
from bench.search.vectors import Precomputed
from retrieval.embedding.protocol import Vectors
from storage.sqlite import SqliteStore

SIZES = (10_000, 100_000)
JUDGED_FROM = 100_000
"""Among fewer, a call's fixed cost (a thread, the rows, the answer) is as long as the product."""
DISTURBED = 2
"""The same product takes the same time: a median this far above the fastest is not its own."""
BUSY = "the bare product was held up by other work on the cores, which flatters the ratio"


def product(matrix: Vectors, vectors: Precomputed) -> Call[Question]:
    """Return the bare product of a tenant's vectors with a question's."""

    async def multiply(question: Question) -> Vectors:
        scores: Vectors = matrix @ vectors.of(question.text)
        return scores

    return multiply


def semantic(store: Memstream, tenant_id: str, vectors: Precomputed) -> Call[Question]:
    """Return the store's search of one tenant."""

    async def ask(question: Question) -> list[str]:
        return await store.search(tenant_id, question.text, vectors.of(question.text))

    return ask


async def against_product(
    corpus: Corpus, vectors: Precomputed, rounds: int, folder: Path, advance: Advance
) -> tuple[dict[str, Any], list[Goal]]:
    """Search as much of the corpus as there is, as one tenant's."""
    store = Memstream(await SqliteStore.open(folder / "one.db"), vectors, "semantic")
    tables: dict[str, Any] = {}
    goals = []
    for size in (size for size in SIZES if size <= len(corpus.items)):
        label = f"{size:,} memories of one tenant"
        tenant_id = f"one-{size}"
        items = [
            item.model_copy(update={"tenant_id": tenant_id, "event_id": f"{size}/{n}"})
            for n, item in enumerate(corpus.items[:size])
        ]
        await store.load(items, f"loading {label}", advance)
        matrix = await vectors.embed([item.content or "" for item in items])
        calls = {
            "memstream, embedded, semantic": semantic(store, tenant_id, vectors),
            "matrix @ query": product(matrix, vectors),
        }

        def tell(done: int, total: int, label: str = label) -> None:
            advance(f"searching {label}", done, total)

        times = await in_turn(calls, corpus.questions, rounds, tell)
        ours, bare = times.values()
        tables[label] = {name: one.summary() for name, one in times.items()}
        name = f"embedded / matrix @ query, {label}"
        doubt = BUSY if bare.p50 > DISTURBED * bare.fastest else ""
        ratios = ours.against(bare)
        if size >= JUDGED_FROM:
            goals.append(Goal.of_ratios(name, ratios, BARE_PRODUCT, at_most=True, doubt=doubt))
    await store.close()
    return tables, goals

"""Measures everything in one run."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.decomposition import corpus
from bench.decomposition.chaos import RATE, chaos
from bench.decomposition.direct import decomposition, loaded, router
from bench.decomposition.lanes import STALL_S, lanes
from bench.progress import Advance
from memstream.parts import open_configured_embedder
from memstream.settings import load_settings

NOTES = (
    "search times of router and decomposition include the query's embedding",
    "decomposition was measured without a language model: by rules alone",
    f"beside means: while complex requests wait for a language model that stalls {STALL_S:.0f} s",
    f"chaos: {RATE:.0f} requests a second, half of them complex; the model is to fail, to "
    "stall and to talk nonsense in 10 % of its calls each, of which the breaker lets few through",
)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    memories: int
    questions: int
    router_rounds: int
    rounds: int
    searches: int
    repetitions: int
    requests: int


FULL = Size(
    memories=4_000,
    questions=100,
    router_rounds=25,
    rounds=5,
    searches=400,
    repetitions=3,
    requests=1_000,
)
QUICK = Size(
    memories=1_000,
    questions=40,
    router_rounds=5,
    rounds=2,
    searches=300,
    repetitions=1,
    requests=200,
)


async def measure(size: Size, datasets: Sequence[Path], advance: Advance) -> dict[str, Any]:
    """Measure everything in one run."""
    settings = load_settings()
    embedder = await open_configured_embedder(settings)
    assert embedder is not None
    simple = corpus.simple(size.memories, size.questions)
    hard = corpus.hard(simple, size.questions)
    with tempfile.TemporaryDirectory(prefix="memstream-bench-") as name:
        folder = Path(name)
        taken_apart: dict[str, Any] = {}
        async with loaded(simple, settings, embedder, folder, advance) as callee:
            routed, goals = await router(callee, simple, size.router_rounds, advance)
            if not datasets:
                taken_apart[hard.name], more = await decomposition(
                    callee, hard, size.rounds, advance
                )
                goals += more
        for asked in (corpus.of_dataset(one, size.questions) for one in datasets):
            async with loaded(asked, settings, embedder, folder, advance) as callee:
                taken_apart[asked.name], more = await decomposition(
                    callee, asked, size.rounds, advance
                )
                goals += more
        await embedder.close()
        often = size.searches, size.repetitions
        beside, more = await lanes(simple, hard, often, folder, advance)
        goals += more
        many = corpus.hard(simple, size.requests)
        disturbed, more = await chaos(simple, many, size.requests, folder, advance)
        goals += more
    return {
        "machine": {
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[1], 1),
            "memories": f"{size.memories:,}",
        },
        "router": routed,
        "decomposition": taken_apart,
        "lanes": beside,
        "chaos": disturbed,
        "goals": [goal.summary() for goal in goals],
        "notes": NOTES,
    }

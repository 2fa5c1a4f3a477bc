"""A router's choices as they come up on a dataset: real contexts, and what each route earned."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.learning.race import Round
from memstream.evaluation.dataset import EvaluatedRoute, read_dataset
from memstream.evaluation.run import Advance, fill, own_store
from memstream.parts import Models, open_configured_embedder
from memstream.settings import load_settings
from memstream.simulation.arms import Asked, FixedArm, RememberingEmbedder
from memstream.simulation.run import K
from memstream.simulation.users import Users, mind
from retrieval.fusion import Weighed
from retrieval.ingest import Ingest
from retrieval.ranking import PRIOR

ROUTES: tuple[EvaluatedRoute, ...] = ("standard", "rlm")


async def rounds_of(
    folder: Path, count: int, seeds: Sequence[int], advance: Advance
) -> list[list[Round]]:
    """Ask the questions of a dataset by both routes, each round by the same user; a list a seed."""
    dataset, settings = read_dataset(folder), load_settings()
    opened = await open_configured_embedder(settings)
    if opened is None:
        raise SystemExit("this needs an embedder: leave MEMSTREAM_EMBEDDER unset")
    embedder = RememberingEmbedder(opened)
    try:
        async with own_store(settings.database) as store:
            await fill(dataset, Ingest(store, embedder), advance)
            models = Models(embedder, None)
            arms = {name: FixedArm(settings, store, models, PRIOR, route=name) for name in ROUTES}
            found: list[list[Round]] = []
            shown: dict[str, dict[str, float]] = {}
            for seed in seeds:
                chance = random.Random(f"{seed}/questions")
                found.append([])
                for number in range(count):
                    asked = Asked(
                        number, chance.choice(dataset.queries), mind(Users(), seed, number)
                    )
                    found[-1].append(await _round(arms, asked, seed, shown))
                    advance(f"asking {folder.name} (seed {seed})", number + 1, count)
    finally:
        await embedder.close()
    return found


async def _round(
    arms: Mapping[str, FixedArm], asked: Asked, seed: int, shown: dict[str, dict[str, float]]
) -> Round:
    request = asked.request(seed, K)
    chosen = (await arms["standard"].route(request)).chosen
    came = {name: await arm.ask(asked, seed, K) for name, arm in arms.items()}
    if asked.name not in shown:
        answered = await arms["standard"].answer(asked.query, request)
        shown[asked.name] = {
            one.hit.memory_id: _fit(one.weighed) for one in answered.shown if one.weighed
        }
    used = came["standard"].reaction.used
    standard = [(fit, memory_id in used) for memory_id, fit in shown[asked.name].items()]
    earned = {name: one.reward for name, one in came.items()}
    return Round(chosen.features, chosen.options, earned.__getitem__, {"standard": standard})


def _fit(weighed: Weighed) -> float:
    return sum(PRIOR.get(name, 0.0) * value for name, value in weighed.by_name().items())

"""Runs a simulation: the same users ask the same questions of all ways of searching."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from learning.config import LearningConfig
from memstream.evaluation.dataset import Dataset, DatasetError, DatasetQuery
from memstream.evaluation.run import Advance, fill, own_store
from memstream.parts import open_models
from memstream.settings import Settings
from memstream.simulation.arms import Arm, Asked, Came, FixedArm, remembering
from memstream.simulation.configurations import Configuration, grid
from memstream.simulation.learner import LearningArm
from memstream.simulation.users import Users, mind
from memstream.wiring import build_pupil
from retrieval.ingest import Ingest
from topics import TopicNames

K = 10
"""So many results are shown, as many as a search gives if nothing else is asked for."""

SHARE_EVERY = 50
"""After so many rounds tenants learn from each other; in service that is a matter of time."""


@dataclass(frozen=True)
class Rounds:
    """What came of every round, in each arm."""

    learned: Sequence[Came]
    frozen: Sequence[Came]
    others: Mapping[str, Sequence[Came]]
    """Configurations that never change, by name."""
    policies: Mapping[str, tuple[int, Mapping[str, float]]]
    """Which version serves each tenant in the end, and by which weights."""
    events: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How often what became of each tenant's policy."""
    labels: Mapping[str, int] = field(default_factory=dict)
    """How many searches of the arm that learns came to what."""
    late: int = 0
    """How many of them came too late to be learned from."""
    kept_apart: Mapping[str, float] | None = None
    """Recall for the tenant that was kept apart: frozen, and by what the others learned."""


async def simulate(
    dataset: Dataset,
    settings: Settings,
    rounds: int,
    seed: int,
    prior: Mapping[str, float],
    advance: Advance,
    users: Users | None = None,
    of: str | None = None,
    regret: bool = False,
    keep_apart: str | None = None,
    config: LearningConfig | None = None,
) -> Rounds:
    """Return what came of so many rounds, starting from a prior.

    If users are those of one tenant, all others' are honest. With regret, every configuration that
    a policy could stay with is asked as well. A tenant that is kept apart asks nothing until the
    end, and is then served by what the others have learned: all its questions are asked once.
    """
    users = users or Users()
    asking, waiting = _parted(dataset, keep_apart)
    if of is not None and of not in {query.tenant for query in asking}:
        raise DatasetError(f"no tenant {of!r} asks anything")
    chance = random.Random(f"{seed}/questions")  # noqa: S311 -- no secret
    async with open_models(settings) as opened, own_store(settings.database) as store:
        models = remembering(opened)
        await fill(dataset, Ingest(store, models.embedder), advance)
        names = TopicNames(settings.topic_prefix)
        pupil = build_pupil(settings, names, config or LearningConfig(), prior=prior)
        learning = LearningArm(settings, store, models, prior, pupil)
        parts: Any = (settings, store, models, prior)
        fixed = {"frozen": FixedArm(*parts)}
        for name, chosen in grid().items() if regret else ():
            fixed[name] = FixedArm(*parts, learned=Configuration(chosen, prior))
        learned: list[Came] = []
        came: dict[str, list[Came]] = {name: [] for name in fixed}
        for number in range(rounds):
            query = chance.choice(asking)
            mood = users.in_round(number, rounds)
            if of not in (None, query.tenant):
                mood = replace(users, mood="honest")
            asked = Asked(number, query, mind(mood, seed, number))
            learned.append(await learning.ask(asked, seed, K))
            for name, arm in fixed.items():
                came[name].append(await arm.ask(asked, seed, K))
            if number % SHARE_EVERY == SHARE_EVERY - 1:
                await learning.share()
            advance(f"searching (seed {seed})", number + 1, rounds)
        await learning.end()
        await learning.share()
        apart = None
        if waiting:
            arms: dict[str, Arm] = {"frozen": fixed["frozen"], "learned": learning}
            apart = {name: await arm.recall(waiting, K) for name, arm in arms.items()}
        tenants = list(dict.fromkeys(query.tenant for query in dataset.queries))
        return Rounds(
            learned=learned,
            frozen=came.pop("frozen"),
            others=came,
            policies={tenant: await learning.serving(tenant) for tenant in tenants},
            events={tenant: await learning.events(tenant) for tenant in tenants},
            labels=learning.labels,
            late=learning.late,
            kept_apart=apart,
        )


def _parted(
    dataset: Dataset, keep_apart: str | None
) -> tuple[list[DatasetQuery], list[DatasetQuery]]:
    """Return the questions of the rounds, and those of the tenant that is kept apart."""
    asking = [query for query in dataset.queries if query.tenant != keep_apart]
    waiting = [query for query in dataset.queries if query.tenant == keep_apart]
    if keep_apart is not None and not (asking and waiting):
        raise DatasetError(
            f"to keep {keep_apart!r} apart, it and another tenant must ask something"
        )
    return asking, waiting

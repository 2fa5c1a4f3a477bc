"""How much one tenant can say in the pool of rankers, however much its readers use."""

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from learning.config import LearningConfig
from learning.lessons import Experience, Lesson, Placed
from learning.prior import pooled
from learning.promotion import promoted
from learning.serving import serving_weights
from learning.state import Learned
from learning.trainer import STEP, Trainer

PRIOR = {"a": 0.0, "b": 0.0}
CONFIG = LearningConfig()
UNLIMITED = LearningConfig(list_uses=1e9)


@cache
def tenant(
    seed: int, shown: int, used: int, likes: int = 1, spread: float = CONFIG.unknown_spread
) -> Learned:
    """Return a tenant with more lists than it counts for, of which those with most of a are used.

    One that likes the opposite uses those with least of it.
    """
    config = replace(CONFIG, unknown_spread=spread)
    chance, state, trainer = random.Random(seed), Learned.fresh(PRIOR), Trainer(PRIOR, config)
    for step in range(15):
        batch = []
        for number in range(STEP):
            rows = [(chance.random(), chance.random()) for _ in range(shown)]
            liked = [likes * a + 0.15 * chance.gauss(0, 1) for a, _ in rows]
            best = {*sorted(range(shown), key=liked.__getitem__)[-used:]}
            placed = tuple(
                Placed(f"m{n}", n + 1, 1.0, n in best, row) for n, row in enumerate(rows)
            )
            name = f"t{step}-{number}"
            told = Experience(name, 0, 0, 1.0, trainable=True, names=("a", "b"), placed=placed)
            batch.append(Lesson(told))
        state = trainer.step(state, batch).state
    return promoted(state, state.learner.parts, config)


def newcomer(tenants, config=CONFIG):
    """Return how much of a counts for a tenant that knows nothing itself."""
    given = ((str(number), one.contribution(config)) for number, one in enumerate(tenants))
    return serving_weights(Learned.fresh(PRIOR), pooled(given), PRIOR, config)["rank/a"]


def evidence(one, config=CONFIG):
    return float(np.trace(one.contribution(config).evidence.ranker.precision))


@pytest.mark.requirement("TR-8")
@pytest.mark.parametrize(("spread", "most", "left"), [(1.0, 2.0, 3.0), (3.0, 2.5, 1.5)])
def test_who_uses_half_of_a_hundred_does_not_outvote_four_who_use_one_of_ten(spread, most, left):
    config, unlimited = (replace(one, unknown_spread=spread) for one in (CONFIG, UNLIMITED))
    honest = [tenant(seed, 10, 1, spread=spread) for seed in range(4)]
    poisoned = tenant(99, 100, 50, -1, spread=spread)
    assert newcomer(honest, config) > 7
    # By lists alone one speaks for all.
    assert evidence(poisoned, unlimited) > 100 * evidence(honest[0], unlimited)
    assert newcomer([*honest, poisoned], unlimited) < -2
    assert evidence(poisoned, config) < most * evidence(honest[0], config)
    # The less the prior is trusted, the more anybody has to say.
    assert newcomer([*honest, poisoned], config) > left
    # What it has learned but not shown is limited alike.
    staged = poisoned.contribution(config).staged.ranker
    assert staged.uses == pytest.approx(config.tenant_cap * config.list_uses)


@pytest.mark.requirement("TR-8")
@pytest.mark.parametrize("used", [1, 2, 4])
def test_who_uses_a_few_of_each_list_is_heard_as_before(used):
    honest = [tenant(seed, 10, used) for seed in range(4)]
    before = newcomer(honest, UNLIMITED)
    assert newcomer(honest) == pytest.approx(before, rel=0.05)


@pytest.mark.requirement("TR-2", "TR-8")
def test_uses_are_counted_as_their_places_count_and_taken_back():
    state, trainer = Learned.fresh(PRIOR), Trainer(PRIOR, CONFIG)
    row = (0.5, 0.5)
    placed = tuple(Placed(f"m{n}", n, 1.0, n in (1, 4), row) for n in range(1, 6))
    first = Experience("t", 0, 0, 1.0, trainable=True, names=("a", "b"), placed=placed)
    known = trainer.step(state, [Lesson(first)]).state
    assert known.learner.ranker.uses == pytest.approx(1 + 2)
    silent = Experience("t", 1, 0, 1.0, trainable=False, names=("a", "b"), placed=placed)
    after = trainer.step(known, [Lesson(silent, first, (1,))]).state
    assert after.learner.ranker.uses == pytest.approx(0, abs=0.01)

"""Made-up tenants: what pays is found, noise promotes nothing, poison is undone."""

import random
import statistics
from dataclasses import replace

import numpy as np
import pytest

from learning.config import LearningConfig
from learning.prior import pooled
from learning.serving import serving_weights
from learning.state import Learned
from tests.unit.learning.bandit import Tenant
from tests.unit.learning.readers import Readers

OPTIONS = {"standard": 0.0, "rlm": -2.0}
CONFIG = LearningConfig()


def features(chance: random.Random) -> dict[str, float]:
    several = float(chance.random() < 0.5)
    return {"always": 1.0, "several": several, "score": 0.3 * chance.random()}


def asked(several: float) -> dict[str, float]:
    return {"always": 1.0, "several": several, "score": 0.15}


def pays(gain: float, loss: float, noise: float = 0.3):
    """Return rewards where taking apart pays for questions with several parts, and only there."""

    def reward(known, option, chance):
        change = gain if known["several"] else -loss
        return 0.3 + (option == "rlm") * change + chance.gauss(0, noise)

    return reward


def noise(known, option, chance):
    return chance.uniform(-1, 1)


@pytest.mark.requirement("RT-8", "TR-4", "TR-9")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_router_learns_where_decomposition_pays(seed):
    tenant = Tenant(features, pays(0.5, 0.2), seed, OPTIONS)
    state = tenant.run(1000)
    assert any(event.kind == "promoted" and event.part == "route" for event in tenant.events)
    assert state.version >= 1
    assert tenant.chances(asked(1.0))["rlm"] > 0.9
    assert tenant.chances(asked(0.0))["rlm"] < 0.1
    assert statistics.mean(tenant.rewards[-200:]) > 0.3 + 0.5 * 0.5 * 0.6


def loses(known, option, chance):
    return 0.4 - 0.1 * (option == "rlm") + chance.gauss(0, 0.3)


CARELESS = LearningConfig(gate_lessons=20, route_z=0.0, blind_z=0.0, renewal_z=0.0)
"""A gate that lets through whatever seems better, to compare with."""


def share(reward, config):
    """Return how much of what thirty tenants choose after 300 lessons is not what was shipped."""
    chance = random.Random(5)
    contexts = [features(chance) for _ in range(50)]
    shares = []
    for seed in range(30):
        tenant = Tenant(features, reward, seed, OPTIONS, config=config)
        tenant.run(300)
        shares += [tenant.chances(known)["rlm"] for known in contexts]
    return statistics.mean(shares)


@pytest.mark.requirement("TR-9")
@pytest.mark.parametrize(("reward", "most"), [(noise, 0.1), (loses, 0.02)])
def test_neither_noise_nor_what_loses_is_let_through(reward, most):
    """Signals say nothing, or too little to be seen at once; what is not shipped is worse.

    So every bit of it that is served is harm, whatever the signals are.
    """
    assert share(reward, CONFIG) < most < share(reward, CARELESS) / 2


@pytest.mark.requirement("TR-9")
def test_readers_who_use_at_random_do_not_turn_the_ranking_around():
    planted = {"a": 2.0, "b": 1.0, "c": -1.0}
    nothing = dict.fromkeys(planted, 0.0)
    versions = []
    for seed in range(6):
        readers = Readers(nothing, planted, lambda _: 0.4, seed, CONFIG)
        versions.append(readers.run(400).version)
    assert not any(versions)


@pytest.mark.requirement("TR-9", "TR-8")
def test_inverted_signals_are_rolled_back_and_move_others_little():
    tenant = Tenant(features, pays(0.5, 0.3, 0.2), 1, OPTIONS)
    good = tenant.run(1000)
    assert tenant.chances(asked(1.0))["rlm"] > 0.9
    other = Tenant(features, pays(0.5, 0.3, 0.2), 2, OPTIONS).run(1000)

    def served(poisoned: Learned) -> np.ndarray:
        pool = pooled([("other", other.contribution(CONFIG)), ("t", poisoned.contribution(CONFIG))])
        left = pool.without(other.contribution(CONFIG))
        weights = serving_weights(other, left, {}, CONFIG)
        return np.array([weights[name] for name in sorted(weights)])

    def inverted(known, option, chance):
        return -pays(0.5, 0.3, 0.2)(known, option, chance)

    tenant.events.clear()
    tenant.run(200, inverted)
    kinds = [event.kind for event in tenant.events]
    assert kinds.count("rolled back") == 1
    assert "suspended" in kinds
    assert tenant.state.suspended
    assert tenant.state.version > good.version
    # What it taught in good times no longer counts for others; what it lied never did.
    alone = serving_weights(other, None, {}, CONFIG)
    assert served(tenant.state) == pytest.approx(
        np.array([alone[name] for name in sorted(alone)]), abs=1e-9
    )


@pytest.mark.requirement("TR-9")
def test_a_version_that_turns_out_worse_is_rolled_back():
    tenant = Tenant(features, pays(0.4, 0.2, 0.1), 3, OPTIONS)
    tenant.run(500)
    before = tenant.state
    # The operator forces what is worse: what was learned, upside down.
    learned = before.learner.points["route"].settled(before.baseline)
    wrong = replace(learned, gains=-5 * learned.gains)
    forced = replace(before, learner=replace(before.learner, points={"route": wrong}))
    tenant.state = tenant.trainer.promote(forced).state
    bad = tenant.state.version
    tenant.events.clear()
    tenant.run(300)
    rolled = [event for event in tenant.events if event.kind == "rolled back"]
    assert rolled
    assert rolled[0].version == bad + 1
    assert tenant.state.suspended

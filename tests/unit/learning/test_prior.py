"""The global prior: what tenants give, what they take, and how far one can move another."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning.config import LearningConfig
from learning.evidence import RANKER, Evidence
from learning.lessons import Lesson
from learning.prior import WITHIN, Contribution, Pool, pooled
from learning.promotion import promoted, trial_bounds
from learning.running import Running
from learning.sense import SENSE
from learning.serving import serving_weights
from learning.state import Learned
from learning.trainer import Trainer
from tests.unit.learning.test_trainer import CONFIG, PRIOR, experience, lessons

TRAINER = Trainer(PRIOR)


def tenant(seed, steps=3) -> Learned:
    state = Learned.fresh(PRIOR)
    for step in range(steps):
        state = TRAINER.step(state, lessons(1000 * seed + 20 * step)).state
    return promoted(state, state.learner.parts, CONFIG)


TENANTS = {f"tenant{seed}": tenant(seed) for seed in range(4)}


def pool_of(tenants, config=CONFIG) -> Pool:
    return pooled((name, state.contribution(config)) for name, state in tenants.items())


@pytest.mark.requirement("TR-8", "TR-10")
@settings(max_examples=10)
@given(st.permutations(sorted(TENANTS)))
def test_the_pool_is_the_same_whoever_came_first(order):
    expected = pool_of({name: TENANTS[name] for name in sorted(TENANTS)})
    assert pool_of({name: TENANTS[name] for name in order}).dumps() == expected.dumps()


@pytest.mark.requirement("TR-8", "TR-10")
def test_pools_and_contributions_are_written_to_the_last_digit():
    pool = pool_of(TENANTS)
    assert Pool.loads(pool.dumps()).dumps() == pool.dumps()
    given_ = TENANTS["tenant1"].contribution(CONFIG)
    assert Contribution.loads(given_.dumps()).dumps() == given_.dumps()


@pytest.mark.requirement("TR-8")
def test_without_a_tenant_the_pool_is_the_others():
    others = {name: state for name, state in TENANTS.items() if name != "tenant2"}
    left = pool_of(TENANTS).without(TENANTS["tenant2"].contribution(CONFIG))
    fresh = Learned.fresh(PRIOR)
    assert serving_weights(fresh, left, PRIOR, CONFIG) == pytest.approx(
        serving_weights(fresh, pool_of(others), PRIOR, CONFIG), abs=1e-9
    )
    assert left.tenants == 3


@pytest.mark.requirement("TR-8")
def test_only_weights_and_counts_cross_tenants():
    text = pool_of(TENANTS).dumps()
    for private in ("tenant", "t1000", "m1-"):
        assert private not in text.replace('"tenants"', "")


@pytest.mark.requirement("TR-8")
def test_who_knows_nothing_takes_what_the_others_know_and_evidence_of_its_own_outweighs_it():
    pool = pool_of(TENANTS)
    fresh = serving_weights(Learned.fresh(PRIOR), pool, PRIOR, CONFIG)
    alone = serving_weights(Learned.fresh(PRIOR), None, PRIOR, CONFIG)
    assert fresh["rank/cosine"] != alone["rank/cosine"]

    def apart(steps):
        own = tenant(9, steps)
        with_pool = serving_weights(own, pool, PRIOR, CONFIG)
        without = serving_weights(own, None, PRIOR, CONFIG)
        return abs(with_pool["rank/bm25"] - without["rank/bm25"])

    assert apart(40) < apart(2) / 2


@pytest.mark.requirement("TR-8")
def test_no_tenant_counts_for_more_than_its_cap():
    config = LearningConfig(tenant_cap=10.0, pool_cap=15.0, list_uses=100.0)
    given_ = TENANTS["tenant0"].contribution(config).evidence
    assert given_.ranker.lessons == pytest.approx(10)
    assert given_.points["route"].lessons == pytest.approx(10)
    capped = pool_of(TENANTS, config).evidence.capped(config.pool_cap, config.list_uses)
    assert capped.points["route"].lessons == pytest.approx(15)


@pytest.mark.requirement("TR-8", "TR-9")
def test_who_is_suspended_gives_nothing():
    suspended = TRAINER.rollback(tenant(1)).state
    assert suspended.contribution(CONFIG).evidence.parts == ()
    assert pool_of({"a": suspended}).evidence.parts == ()


@pytest.mark.requirement("TR-8", "TR-9")
def test_what_an_operator_let_serve_is_given_to_nobody_until_the_gate_has_promoted():
    state = TRAINER.step(Learned.fresh(PRIOR), lessons(0)).state
    ordered = TRAINER.promote(state).state
    assert ordered.champion.parts
    assert ordered.contribution(CONFIG).evidence.parts == ()
    # The gate is no lower for it either.
    careful = replace(CONFIG, route_z=2 * CONFIG.renewal_z)
    trial = Running().with_all([0.1, 0.2] * 10)
    bounds = [
        trial_bounds(replace(one, trials={"route": trial, SENSE: trial}), careful)["route"]
        for one in (Learned.fresh(PRIOR), ordered, promoted(state, ["route"], CONFIG))
    ]
    assert bounds[0] == bounds[1] < bounds[2]
    shown = promoted(TRAINER.step(ordered, lessons(20)).state, ["route"], CONFIG)
    assert shown.contribution(CONFIG).evidence.parts == ("route",)
    assert {*shown.champion.parts} == {"move", RANKER, "route"}
    assert Learned.loads(shown.dumps()).contribution(CONFIG).evidence.parts == ("route",)
    # Who goes back to what was ordered, goes back to what is given to nobody.
    again = TRAINER.rollback(shown).state
    assert again.origin.ordered == {"move", RANKER, "route"}


@pytest.mark.requirement("TR-8", "TR-9")
def test_who_is_suspended_is_served_without_the_others():
    state = tenant(7)
    pool = pool_of(TENANTS)
    assert serving_weights(state, pool, PRIOR, CONFIG) != serving_weights(
        state, None, PRIOR, CONFIG
    )
    back = TRAINER.rollback(state).state
    assert serving_weights(back, pool, PRIOR, CONFIG) == serving_weights(back, None, PRIOR, CONFIG)


@pytest.mark.requirement("TR-8", "TR-9")
def test_rewards_that_fall_before_the_first_version_keep_the_others_away():
    """Served by the pool alone, a tenant is judged by its rewards: they are all that it has."""
    trainer = Trainer(PRIOR, LearningConfig(gate_lessons=10**6))
    state, pool = Learned.fresh(PRIOR), pool_of(TENANTS)
    alone = serving_weights(state, None, PRIOR, CONFIG)

    def learn(start, reward):
        batch = [Lesson(experience(start + n, reward=reward + 0.01 * n)) for n in range(20)]
        return trainer.step(state, batch)

    for number in range(10):
        state = learn(20 * number, 0.4).state
    assert state.version == 0
    assert serving_weights(state, pool, PRIOR, CONFIG) != alone
    for number in range(10, 15):
        step = learn(20 * number, -0.6)
        state = step.state
        if step.events:
            break
    assert [event.kind for event in step.events] == ["suspended"]
    assert state.version == 0
    assert serving_weights(state, pool, PRIOR, CONFIG) == alone


@pytest.mark.requirement("TR-8")
@pytest.mark.parametrize("seed", range(3))
def test_a_poisoned_tenant_moves_others_no_further_than_the_prior_allows(seed):
    """The bound: of w = M⁻¹ g, with δM and δg added, |δw| ≤ (|δg| + |δM| |w|) / λ."""
    own = TENANTS["tenant0"]
    others = {name: TENANTS[name] for name in ("tenant1", "tenant2")}
    poison = tenant(500 + seed, steps=60)
    worst = poison.champion.points["route"]
    # As bad as can be: every reward the opposite, and a hundred times as much of it.
    liar = Evidence({"route": type(worst)(
        worst.options, worst.features, 100 * worst.lessons, 100 * worst.fisher,
        -100 * worst.gains, worst.scores, 100 * worst.sizes,
    )}, poison.champion.ranker.scaled(100.0))  # fmt: skip
    bad = Contribution(liar.capped(CONFIG.tenant_cap, CONFIG.list_uses))

    def weights(pool):
        served = serving_weights(own, pool, PRIOR, CONFIG)
        names = sorted(name for name in served if name.startswith("route/"))
        return np.array([served[name] for name in names])

    clean = pooled([(name, state.contribution(CONFIG)) for name, state in others.items()])
    dirty = pooled(
        [*((name, state.contribution(CONFIG)) for name, state in others.items()), ("x", bad)]
    )
    before, after = weights(clean), weights(dirty)
    known = own.champion.points["route"]
    pools = [
        pool.evidence.capped(CONFIG.pool_cap, CONFIG.list_uses).points["route"]
        for pool in (clean, dirty)
    ]
    one, two = (known.plus(pool) for pool in pools)
    ridges = [np.diag(CONFIG.ridge * both.scale()) for both in (one, two)]
    found = one.advantage(0.0, CONFIG).ravel()
    moved = np.linalg.norm(two.gains - one.gains) + np.linalg.norm(
        two.fisher + ridges[1] - one.fisher - ridges[0], 2
    ) * np.linalg.norm(found)
    least = np.linalg.eigvalsh(known.fisher + ridges[1]).min()
    assert np.linalg.norm(after - before) <= moved / least / CONFIG.temperature + 1e-9
    # Whatever is lied, evidence of the pool is that of so many lessons, none above the largest.
    features = 2.0  # |x|² of these lessons is at most 1 + 1, and |psi|² at most that.
    assert (
        np.linalg.norm(pools[1].fisher, 2) <= CONFIG.pool_cap * CONFIG.importance_limit * features
    )
    limit = CONFIG.weight_limit / np.sqrt(two.scale().min())
    assert np.abs(after).max() <= limit + 1e-9


@pytest.mark.requirement("TR-8")
def test_an_empty_pool_is_no_pool():
    fresh = Learned.fresh(PRIOR)
    empty = pooled([("a", fresh.contribution(CONFIG))])
    assert serving_weights(fresh, empty, PRIOR, CONFIG) == serving_weights(
        fresh, None, PRIOR, CONFIG
    )
    assert serving_weights(fresh, Pool(), PRIOR, CONFIG)["rank/cosine"] == 2.0
    left = empty.without(fresh.contribution(CONFIG))
    assert all(map(math.isfinite, serving_weights(fresh, left, PRIOR, CONFIG).values()))


def staged(seed: int, better: float) -> Learned:
    """A tenant whose ranker has learned, and has seemed so much better in a hundred lists."""
    state = TENANTS[f"tenant{seed}"]
    trial = Running().with_all([better + 0.1 * (-1) ** n for n in range(100)])
    return replace(
        state,
        champion=Evidence.none(PRIOR),
        trials={RANKER: trial, WITHIN: trial, "route": trial},
    )


@pytest.mark.requirement("TR-8", "TR-9")
@pytest.mark.parametrize(("better", "counts"), [(0.05, True), (0.0, False), (-0.05, False)])
def test_what_no_tenant_could_show_alone_counts_once_all_have_shown_it(better, counts):
    pool = pool_of({str(seed): staged(seed, better) for seed in range(4)})
    fresh = Learned.fresh(PRIOR)
    weights = serving_weights(fresh, pool, PRIOR, CONFIG)
    assert pool.has_shown(CONFIG) is counts
    assert (weights != serving_weights(fresh, None, PRIOR, CONFIG)) is counts
    assert not any(name.startswith("route/") for name in weights)


@pytest.mark.requirement("TR-8")
def test_few_lists_show_nothing():
    few = Running().with_all([0.05, 0.06] * 10)
    one = replace(staged(0, 0.05), trials={RANKER: few, WITHIN: few})
    assert not pool_of({"one": one}).has_shown(CONFIG)


@pytest.mark.requirement("TR-8")
def test_a_tenant_is_not_taught_by_what_it_staged_itself():
    tenants = {str(seed): staged(seed, 0.05) for seed in range(3)}
    own = tenants["1"].contribution(CONFIG)
    others = pool_of({name: state for name, state in tenants.items() if name != "1"})
    fresh = Learned.fresh(PRIOR)
    assert serving_weights(fresh, pool_of(tenants).without(own), PRIOR, CONFIG) == pytest.approx(
        serving_weights(fresh, others, PRIOR, CONFIG), abs=1e-9
    )

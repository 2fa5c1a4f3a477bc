"""Trajectories are learned from once, and what becomes of policies can be seen."""

import asyncio
import json

import pytest
from prometheus_client import REGISTRY

from agents.outcomes import Outcomes
from agents.pooling import Pooling
from agents.relay import Relay
from agents.tenant_labels import TenantLabels
from agents.training import TrainingAgent
from tests.integration.storage.school import REAL, searches
from tests.unit.agents.conftest import NOON, delivery


@pytest.fixture
def news():
    return asyncio.Event()


@pytest.fixture
def agent(store, dead_letters, news):
    labels = TenantLabels(2)
    return TrainingAgent(store.policies, REAL, dead_letters, news, labels, lambda: NOON)


def told(trajectories):
    return [
        delivery(
            one.model_dump_json().encode(),
            topic="memory.trajectories",
            key=one.tenant_id.encode(),
            offset=number,
        )
        for number, one in enumerate(trajectories)
    ]


def metric(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0


@pytest.mark.requirement("TR-4", "TR-5")
async def test_twenty_searches_make_a_policy_that_is_published(
    agent, store, news, outcomes, published
):
    assert isinstance(outcomes, Outcomes)
    await agent(told(searches(19)))
    assert not news.is_set()
    await agent(told(searches(20)))
    assert news.is_set()
    await Relay(outcomes, published, lambda: NOON).empty()
    [(_, key, value, _)] = published.on("policies")
    assert key == b"acme"
    policy = json.loads(value)
    assert policy == (await store.policies.serving("acme")).model_dump(mode="json")
    assert policy["exploration_rate"] > 0
    assert (await store.policies.state("acme")).trained == 20


@pytest.mark.requirement("OB-3", "OB-4")
async def test_what_is_learned_is_counted_for_so_many_tenants(agent):
    names = ("first of two", "second of two", "third", "fourth")
    before = metric("memory_rlm_training_reward_count", tenant="other")
    known = metric("memstream_lessons_total", came="known")
    for tenant in names:
        batch = told(searches(20, tenant=tenant))
        await agent(batch)
        await agent(batch[:5])
    for tenant in names[:2]:
        assert metric("memory_rlm_training_reward_count", tenant=tenant) == 20
        assert 0 < metric("memory_rlm_training_exploration_rate", tenant=tenant) <= 0.2
    assert metric("memory_rlm_training_reward_count", tenant="other") == before + 40
    # A version of several tenants together would be nobody's.
    for name in ("memory_rlm_training_exploration_rate", "memstream_policy_version"):
        assert REGISTRY.get_sample_value(name, {"tenant": "other"}) is None
    assert metric("memstream_lessons_total", came="known") == known + 20
    for tenant in names[2:]:
        labels = {"tenant": tenant}
        assert REGISTRY.get_sample_value("memory_rlm_training_reward_count", labels) is None


@pytest.mark.requirement("OB-3", "TR-9")
async def test_promotions_are_counted(agent, store):
    await agent(told(searches(100, tenant="promoted")))
    version = (await store.policies.serving("promoted")).version
    assert version > 0
    assert metric("memstream_policy_version", tenant="promoted") == version
    seen = metric("memstream_policy_events_total", tenant="promoted", kind="promoted")
    assert seen >= version


async def test_what_cannot_be_learned_from_is_kept(agent, store, published):
    first, second, *rest = told(searches(21))
    nonsense = delivery(b"{}", topic="memory.trajectories", key=b"acme")
    choice = json.loads(second.value)
    choice["actions"][0]["params"]["choice"] = {"point": "nowhere"}
    strange = delivery(choice, topic="memory.trajectories", key=b"acme", offset=7)
    await agent([first, nonsense, strange, *rest])
    codes = [headers["memstream-error-code"] for *_, headers in published.on("dead-letters")]
    assert codes == [b"invalid_request", b"internal"]
    assert (await store.policies.state("acme")).trained == 20


@pytest.mark.requirement("TR-8")
async def test_what_a_tenant_learned_reaches_the_others(agent, store, news):
    await agent(told(searches(100)))
    news.clear()
    await Pooling(store.policies, REAL, news, lambda: NOON).pool()
    assert news.is_set()
    newcomer = await store.policies.serving("newcomer")
    assert any(name.startswith("route/") and weight for name, weight in newcomer.weights.items())
    assert newcomer.version == 0
    policy = await store.policies.state("acme")
    assert policy.blended
    assert policy.contributes

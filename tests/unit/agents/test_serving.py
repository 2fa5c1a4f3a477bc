"""Which policy serves a tenant is told whenever it is read, and no longer once it is not."""

import pytest
from prometheus_client import REGISTRY

from agents.serving import STALE_S, ToldPolicies
from agents.tenant_labels import TenantLabels
from tests.integration.storage.school import REAL, searches
from tests.unit.agents.conftest import NOON


def told(tenant):
    names = ("memstream_policy_version", "memory_rlm_training_exploration_rate")
    return [REGISTRY.get_sample_value(name, {"tenant": tenant}) for name in names]


@pytest.mark.requirement("OB-3", "OB-4")
async def test_the_policy_that_is_read_is_told_after_a_restart_and_after_an_order(store):
    await store.policies.learn("served", searches(100, tenant="served"), REAL, NOON)
    now = [0.0]
    policies = ToldPolicies(store.policies, TenantLabels(2), lambda: now[0])
    assert told("served") == [None, None]
    before = await policies.serving("served")
    assert told("served") == [before.version, before.exploration_rate]
    await store.policies.control("served", "rollback", REAL, NOON, actor="a", why="w")
    await policies.serving("served")
    assert told("served")[0] == before.version + 1
    assert await policies.serving("new here") is None
    assert told("new here") == [0, 0]
    await policies.serving("one too many")
    assert told("one too many") == told("other") == [None, None]

    now[0] = STALE_S / 2
    await policies.serving("new here")
    now[0] = STALE_S
    await policies.serving("new here")
    assert (told("served"), told("new here")) == ([None, None], [0, 0])

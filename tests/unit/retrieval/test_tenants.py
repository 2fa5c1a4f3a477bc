"""Tenants' settings: fresh within a second, read no more often than that, shared while read."""

import asyncio
from collections import Counter

import pytest

from models import InForce, TenantOverrides
from retrieval.fresh import MAX_TENANTS
from retrieval.tenants import TenantSettings
from storage import StoreUnavailableError


class CountingStore:
    """A store that counts its reads, and waits or fails when told to."""

    def __init__(self):
        self.stored = {}
        self.reads = Counter()
        self.open = asyncio.Event()
        self.open.set()
        self.away = False

    async def overrides(self, tenant_id):
        self.reads[tenant_id] += 1
        await self.open.wait()
        if self.away:
            raise StoreUnavailableError("away")
        return self.stored.get(tenant_id, TenantOverrides())


class Clock:
    seconds = 100.0

    def __call__(self):
        return self.seconds


@pytest.fixture
async def store():
    return CountingStore()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def settings(store, clock):
    return TenantSettings(store, clock)


async def test_what_a_tenant_has_not_is_the_services(store, settings):
    store.stored["acme"] = TenantOverrides(rlm_enabled=False)
    assert await settings.of("acme") == TenantOverrides(rlm_enabled=False)
    served = await settings.in_force("acme")
    assert (served.rlm_enabled, served.routing_threshold) == (False, 0.3)
    assert (await settings.in_force("umbrella")).rlm_enabled


@pytest.mark.requirement("RT-6")
async def test_a_change_is_seen_a_second_later_and_no_read_comes_before(store, settings, clock):
    assert (await settings.in_force("acme")).routing_threshold == 0.3
    store.stored["acme"] = TenantOverrides(routing_threshold=0.9)
    clock.seconds += 0.999
    assert (await settings.in_force("acme")).routing_threshold == 0.3
    assert store.reads["acme"] == 1
    clock.seconds += 0.001
    assert (await settings.in_force("acme")).routing_threshold == 0.9
    assert store.reads["acme"] == 2


async def test_whoever_asks_meanwhile_shares_the_read_however_long_it_takes(store, settings, clock):
    store.open.clear()
    first = [asyncio.create_task(settings.of("acme")) for _ in range(5)]
    await asyncio.sleep(0)
    clock.seconds += 60
    later = [asyncio.create_task(settings.of("acme")) for _ in range(5)]
    await asyncio.sleep(0)
    store.open.set()
    answers = await asyncio.gather(*first, *later)
    assert store.reads["acme"] == 1
    assert all(answer is answers[0] for answer in answers)


async def test_one_who_stops_waiting_does_not_end_the_read_for_the_others(store, settings):
    store.open.clear()
    leaving, staying = (asyncio.create_task(settings.of("acme")) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.sleep(0)
    store.open.set()
    assert await staying == TenantOverrides()
    assert leaving.cancelled()
    assert store.reads["acme"] == 1


async def test_a_read_that_failed_is_not_remembered(store, settings):
    store.away = True
    asking = [settings.of("acme") for _ in range(3)]
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreUnavailableError] * 3
    assert store.reads["acme"] == 1
    store.away = False
    assert await settings.of("acme") == TenantOverrides()
    assert store.reads["acme"] == 2


async def test_the_tenant_read_longest_ago_is_forgotten_when_there_are_too_many(
    store, settings, clock
):
    for n in range(MAX_TENANTS):
        await settings.of(f"t{n}")
    clock.seconds += 2
    await settings.of("t1")
    await settings.of("one more")
    await settings.of("two more")
    clock.seconds -= 2
    for tenant in ("t1", "t3", "t0", "t2"):
        await settings.of(tenant)
    assert [store.reads[f"t{n}"] for n in range(4)] == [2, 2, 2, 1]


async def test_the_services_values_may_be_others_than_the_defaults(store, clock):
    settings = TenantSettings(store, clock, InForce(routing_threshold=0.6, rlm_enabled=False))
    store.stored["acme"] = TenantOverrides(rlm_enabled=True)
    served = await settings.in_force("acme")
    assert (served.rlm_enabled, served.routing_threshold) == (True, 0.6)

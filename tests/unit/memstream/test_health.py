"""Readiness names every part that is not ready, and why."""

import asyncio

from memstream import health as health_module
from memstream.health import Health


async def test_a_part_that_was_not_started_is_not_ready():
    assert await Health("store").reasons() == {"store": "not started yet"}


async def test_a_part_that_answers_is_ready():
    async def well() -> None:
        return None

    health = Health("store")
    health.watch("store", well)
    assert await health.reasons() == {}


async def test_a_failing_check_gives_its_reason():
    async def broken() -> None:
        raise ConnectionError("refused")

    health = Health("store")
    health.watch("store", broken)
    assert await health.reasons() == {"store": "refused"}


async def test_a_check_that_hangs_is_a_reason(monkeypatch):
    monkeypatch.setattr(health_module, "CHECK_TIMEOUT_S", 0.01)

    async def hanging() -> None:
        await asyncio.Event().wait()

    health = Health("store")
    health.watch("store", hanging)
    assert "no answer" in (await health.reasons())["store"]

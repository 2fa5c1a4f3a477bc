"""What tenants have learned → what others start from."""

import asyncio

import structlog

from agents.delivery import Clock
from agents.metrics import RETRIES
from storage.policies import Policies, Pupil

log = structlog.get_logger(__name__)

POOL_EVERY_S = 15.0
"""A policy that serves changes after hundreds of searches: its neighbours can wait so long."""

MOST = 100
"""So many tenants are served by new weights before the store is asked again."""


class Pooling:
    """Lets tenants learn from each other; every worker has one, and one at a time gathers."""

    def __init__(self, policies: Policies, pupil: Pupil, news: asyncio.Event, clock: Clock) -> None:
        self._policies = policies
        self._pupil = pupil
        self._news = news
        self._clock = clock

    async def run(self) -> None:
        """Pool for ever; what fails is tried again."""
        while True:
            try:
                await self.pool()
            except Exception as error:
                RETRIES.labels(topic="pooling").inc()
                log.warning("pooling failed, trying again", reason=repr(error))
            await asyncio.sleep(POOL_EVERY_S)

    async def pool(self) -> None:
        """Gather what changed, and serve every tenant by it."""
        while number := await self._policies.pool(self._pupil, self._clock(), MOST):
            self._news.set()
            if number < MOST:
                break

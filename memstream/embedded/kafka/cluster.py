"""The brokers of a local Kafka together: started, stopped, killed and waited for."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from memstream.embedded.kafka.broker import POLL_S, Broker
from memstream.embedded.kafka.health import serves
from memstream.embedded.process import PartError

START_TIMEOUT_S = 60.0
"""One broker takes 3 s and three take 8 s on two idle cores; the rest is for a busy CI machine."""


@dataclass(frozen=True)
class Cluster:
    """A Kafka: where clients reach it, and its brokers, counted from 0."""

    bootstrap: str
    brokers: tuple[Broker, ...]

    async def kill(self, i: int) -> None:
        """End broker ``i`` with SIGKILL."""
        await self.brokers[i].kill()

    async def stop(self, i: int) -> None:
        """Stop broker ``i`` gently."""
        await self.brokers[i].stop()

    async def start(self, i: int) -> None:
        """Start broker ``i`` again, on its data and its port, and wait until it has caught up."""
        await self.brokers[i].launch()
        await self._wait_for([self.brokers[i]])

    async def start_all(self) -> None:
        """Start every broker and wait until each of them serves."""
        for broker in self.brokers:
            await broker.launch()
        await self._wait_for(self.brokers)

    async def stop_all(self) -> None:
        """Stop what runs, all at once: the last of several would wait in vain for a quorum."""
        await asyncio.gather(*(broker.stop() for broker in self.brokers))

    async def failed(self) -> PartError:
        """Wait until one of the brokers running now has ended, and return what to say about it."""
        ends = {
            asyncio.create_task(broker.process.wait()): broker
            for broker in self.brokers
            if broker.launched
        }
        try:
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()
        return ends[done.pop()].process.failure("ended unexpectedly")

    async def _wait_for(self, started: Sequence[Broker]) -> None:
        members = frozenset(broker.node.id for broker in self.brokers if broker.launched)
        for broker in started:
            try:
                async with asyncio.timeout(START_TIMEOUT_S):
                    await self._wait_until_serving(broker, members)
            except TimeoutError:
                why = f"did not serve within {START_TIMEOUT_S:.0f} s"
                raise broker.process.failure(why) from None

    async def _wait_until_serving(self, broker: Broker, members: frozenset[int]) -> None:
        while not await serves(broker.node.address, members):
            for dead in (b for b in self.brokers if b.launched and not b.process.running):
                raise dead.process.failure("did not start")
            await asyncio.sleep(POLL_S)

"""The supervisor: a worker that ends is started again, one that never worked is given up."""

import asyncio
from pathlib import Path

import pytest

from memstream import up
from memstream.embedded.process import PartError
from memstream.runtime import Runtime
from memstream.settings import Settings

RUNTIME = Runtime(broker="b:1", web="http://w", database="d", pid=1)
ENOUGH = 20


class Ended:
    """A worker that ends at once."""

    async def wait(self):
        return 137

    async def stop(self):
        return None


@pytest.fixture
def started(monkeypatch):
    starts, enough = [], asyncio.Event()

    async def start(settings, runtime, port, log):
        starts.append(port)
        if len(starts) == ENOUGH:
            enough.set()
        return Ended()

    monkeypatch.setattr(up, "_start_worker", start)
    monkeypatch.setattr(up, "FIRST_PAUSE_S", 0.0001)
    monkeypatch.setattr(up, "LONGEST_PAUSE_S", 0.01)
    return starts, enough


def keep(served):
    settings = Settings(data_dir=Path("unused"))
    return up._keep_worker(settings, RUNTIME, 7, lambda step: None, served)


async def test_a_worker_that_never_worked_is_given_up(started):
    with pytest.raises(PartError, match="status 137"):
        await keep(asyncio.Event())
    assert 1 < len(started[0]) < ENOUGH


async def test_a_worker_that_has_worked_is_started_again_and_again(started):
    served = asyncio.Event()
    served.set()
    keeping = asyncio.create_task(keep(served))
    await asyncio.wait_for(started[1].wait(), 30)
    assert not keeping.done()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)

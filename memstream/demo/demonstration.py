"""Runs the whole service, fills it, and has three tenants use it."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memstream.calling import calling
from memstream.clock import now
from memstream.demo.habits import demo_tenants
from memstream.demo.story import WINDOW_S, Story
from memstream.demo.tenants import DemoTenant
from memstream.demo.traffic import use_memories
from memstream.demo.watching import follow_policies, follow_rewards
from memstream.embedded.process import PartError
from memstream.parts import open_store
from memstream.runtime import Runtime, forget_runtime, read_runtime, with_running_parts
from memstream.settings import ENV_PREFIX, Settings, load_settings
from memstream.up import run_up
from storage import Store
from storage.protocol import Filter

SEED: Final = 7
USERS: Final = 3
"""So many at a time search for each tenant."""

LOOK_AGAIN_S: Final = 0.2

CHOSEN: Final = {"PRIOR": "equal", "OUTCOME_WINDOW_S": str(WINDOW_S)}
"""What makes learning easy to see; whoever sets these gets what they set."""


@dataclass(frozen=True)
class Demonstration:
    """A demonstration that is under way."""

    runtime: Runtime
    stories: tuple[Story, ...]
    work: "asyncio.Task[None]"
    """Ends only by failing."""


@asynccontextmanager
async def demonstration(
    progress: Callable[[str], None], seed: int = SEED, users: int = USERS
) -> AsyncIterator[Demonstration]:
    """Have the service running and used for as long as the context lasts."""
    for name, value in CHOSEN.items():
        # The worker is another process, and reads its settings from the environment.
        os.environ.setdefault(f"{ENV_PREFIX}{name}", value)
    settings = load_settings()
    place = settings.data_dir
    if running := read_runtime(place):
        raise PartError(f"memstream is running here already (process {running.pid}): {running.web}")
    # What is learned is thrown away, and nothing that was remembered before is touched.
    with tempfile.TemporaryDirectory(prefix="demo-", dir=_made(place / "models").parent) as folder:
        (Path(folder) / "models").symlink_to(place / "models")
        own = settings.model_copy(update={"data_dir": Path(folder)})
        async with _service(own, place / "demo.log", progress) as runtime:
            runtime.write(place)
            try:
                async with _used(own, runtime, progress, seed, users) as demonstrated:
                    yield demonstrated
            finally:
                forget_runtime(place)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@asynccontextmanager
async def _service(
    settings: Settings, log: Path, progress: Callable[[str], None]
) -> AsyncIterator[Runtime]:
    log.unlink(missing_ok=True)
    stopped = asyncio.Event()
    ready: asyncio.Future[Runtime] = asyncio.get_running_loop().create_future()
    service = asyncio.create_task(run_up(settings, stopped, progress, ready.set_result, log))
    try:
        waiting: set[asyncio.Future[Any]] = {service, ready}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if service.done():
            service.result()
        yield ready.result()
    finally:
        stopped.set()
        await service


@asynccontextmanager
async def _used(
    settings: Settings, runtime: Runtime, progress: Callable[[str], None], seed: int, users: int
) -> AsyncIterator[Demonstration]:
    tenants, running = demo_tenants(seed), with_running_parts(settings)
    stories = tuple(map(Story, tenants))
    by_name = {story.tenant.name: story for story in stories}
    async with calling(running, "demo") as client:
        store = await open_store(running)
        try:
            for tenant in tenants:
                progress(f"remembering {len(tenant.memories)} memories of {tenant.name}")
                await store.override(tenant.name, {"global_prior": False, "rlm_enabled": False})
                async for _ in client.remember_all(tenant.items()):
                    pass
            for tenant in tenants:
                await _stored(store, tenant)
        finally:
            await store.close()

        async def work() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(follow_rewards(running, by_name))
                group.create_task(follow_policies(running, runtime.web, stories))
                for story in stories:
                    for user in range(users):
                        group.create_task(use_memories(client, story, seed, user))

        working = asyncio.create_task(work())
        try:
            yield Demonstration(runtime, stories, working)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


async def _stored(store: Store, tenant: DemoTenant) -> None:
    """Wait until all that was published is there; a search for it would already be a lesson."""
    among, everything = Filter(at=now(), min_confidence=0.0), list(tenant.memories)
    while len(await store.get(tenant.name, everything, among)) < len(everything):  # noqa: ASYNC110
        await asyncio.sleep(LOOK_AGAIN_S)

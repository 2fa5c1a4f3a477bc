"""One worker: the agents, and the web page that says how they are."""

import asyncio
import os
from contextlib import AsyncExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import structlog

from agents.guard import Guard
from agents.registry import register
from agents.relay import Relay
from agents.sweeper import Sweeper
from learning.config import LearningConfig
from memstream.addresses import free_port
from memstream.broker import broker_of
from memstream.clock import now
from memstream.console import Console
from memstream.directory import TopicDirectory
from memstream.embedded.process import PartError
from memstream.garbage import collect_rarely
from memstream.health import Health
from memstream.parts import open_configured_embedder, open_language_model, open_store
from memstream.progress import InputProgress
from memstream.settings import Settings
from memstream.stream import FaustPublisher, build_app
from memstream.topology import ensure_topics
from memstream.tracing import traces
from memstream.web import serve_web
from memstream.wiring import (
    STAGES,
    Parts,
    build_outcomes,
    build_pooling,
    build_pupil,
    handlers,
)
from retrieval.embedding import Embedder
from topics import Topic, TopicNames
from topics.auth import Tokens
from topics.jwks import KeyFile, KeyFileError

log = structlog.get_logger(__name__)

WATCH_INTERVAL_S = 1.0
"""How often to look whether the stream still runs; a broken one costs a session timeout anyway."""


async def run_worker(settings: Settings, stopped: asyncio.Event) -> None:
    """Run the agents until ``stopped`` is set; raise if they end by themselves."""
    broker = broker_of(settings)
    names = TopicNames(settings.topic_prefix)
    guard = open_guard(settings)
    health = Health("store", "embedder", "stream")
    async with AsyncExitStack() as stack:
        stack.enter_context(traces(os.environ))
        port = free_port(settings.web_host, settings.web_port)
        console = Console(settings, health)
        url = await stack.enter_async_context(serve_web(health, console, settings.web_host, port))
        store = await open_store(settings)
        stack.push_async_callback(store.close)
        health.watch("store", store.ping)
        console.open(store)
        embedder = await _open_embedder(settings, stack, health)
        await ensure_topics(broker, names, settings.partitions)
        app = build_app(broker, settings.topic_prefix, settings.data_dir, settings.partitions)
        language_model = open_language_model(settings)
        if language_model is not None:
            stack.push_async_callback(language_model.close)
        directory = TopicDirectory(broker)
        stack.push_async_callback(directory.close)
        parts = Parts(
            *(store, embedder, language_model, FaustPublisher(app), names, guard),
            directory.exists,
        )
        outcomes = build_outcomes(settings, store, names)
        pupil = build_pupil(settings, names, LearningConfig())
        batched, one_by_one = handlers(settings, parts, outcomes, pupil)
        if not settings.learning_enabled:
            batched = {topic: one for topic, one in batched.items() if topic != Topic.TRAJECTORIES}
        register(app, names, batched, one_by_one, now)
        stages = [[names.name(topic) for topic in stage] for stage in STAGES]
        others = [names.name(topic) for topic in {*batched, *one_by_one} - {*chain(*STAGES)}]
        progress = await stack.enter_async_context(
            InputProgress(broker, app.conf.id, stages, now, others)
        )
        app.task(Relay(outcomes, parts.publisher, now).run)
        if settings.learning_enabled:
            app.task(build_pooling(parts, pupil, outcomes).run)
        app.task(Sweeper(outcomes, progress, now).run)
        health.watch("stream", lambda: _assigned(app))
        if settings.auth == "off" and not broker.is_local:
            log.warning(
                "whoever can write to the broker can act for any tenant: set MEMSTREAM_AUTH=jwt",
                broker=str(broker),
            )
        log.info("worker starting", broker=str(broker), web=url)
        collect_rarely()
        await run_app(app, stopped)


async def _open_embedder(
    settings: Settings, stack: AsyncExitStack, health: Health
) -> Embedder | None:
    embedder = await open_configured_embedder(
        settings, lambda step: log.info("embedder", step=step)
    )
    if embedder is not None:
        stack.push_async_callback(embedder.close)

    async def loaded() -> None:
        return None

    health.watch("embedder", loaded)
    return embedder


def open_guard(settings: Settings) -> Guard:
    """Read the keys of tokens if tokens are to be checked."""
    if settings.auth == "off":
        return Guard()
    try:
        # Settings with jwt and without a key file do not exist.
        return Guard(Tokens(KeyFile(settings.jwt_keys or Path()), now))
    except KeyFileError as error:
        raise PartError(f"{settings.jwt_keys}: {error}") from None


async def _assigned(app: Any) -> str | None:
    if app.rebalancing or not app.consumer.assignment():
        return "no partitions assigned (yet)"
    return None


async def run_app(app: Any, stopped: asyncio.Event) -> None:
    """Run a Faust app until ``stopped`` is set; raise if it ends by itself."""
    asked = asyncio.create_task(stopped.wait())
    running = asyncio.create_task(_run_until_it_ends(app))
    try:
        await asyncio.wait({asked, running}, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            running.result()
    finally:
        asked.cancel()
        running.cancel()
        await asyncio.gather(asked, running, return_exceptions=True)
        await app.stop()


async def _run_until_it_ends(app: Any) -> None:
    await app.start()
    while not app.should_stop:
        if app.consumer.has_left_group():
            # Faust does not notice, and would idle for ever; whoever started us starts another.
            raise PartError("this worker was turned away from its group; see the log above")
        await asyncio.sleep(WATCH_INTERVAL_S)
    raise PartError(f"the stream stopped by itself: {app.crash_reason!r}")

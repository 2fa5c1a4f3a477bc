"""Examines every part a deployment needs and says how to fix what is wrong."""

import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

import httpx

from memstream.parts import broker_address, open_configured_embedder, open_store
from memstream.runtime import read_runtime, with_running_parts
from memstream.settings import Settings, SettingsError, load_settings
from memstream.topology import topic_states
from topics import TopicNames

State = Literal["ok", "note", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about one part."""

    state: State
    part: str
    what: str
    remedy: str = ""


Examination = Callable[[Settings], Awaitable[Finding]]


async def examine() -> list[Finding]:
    """Return what was found, in the order in which it should be fixed."""
    try:
        settings = load_settings()
    except SettingsError as error:
        return [Finding("bad", "settings", str(error), "correct it and run doctor again")]
    settings = with_running_parts(settings)
    examinations: tuple[tuple[str, Examination, str], ...] = (
        ("data folder", _data_folder, "set MEMSTREAM_DATA_DIR to a folder that can be written"),
        ("embedder", _embedder, "run `make setup`, or set MEMSTREAM_EMBEDDER"),
        ("database", _database, "start it, check MEMSTREAM_DATABASE, run `memstream migrate`"),
        ("broker", _broker, "run `make up`, or set MEMSTREAM_BROKER to kafka://host:port"),
        ("service", _service, "run `make up`"),
    )
    findings = [_python(), Finding("ok", "settings", "can be read")]
    findings += [await _examined(settings, *examination) for examination in examinations]
    return [*findings, _tool("java", "openjdk-17-jre-headless"), _tool("mvn", "maven")]


async def _examined(
    settings: Settings, part: str, examination: Examination, remedy: str
) -> Finding:
    try:
        return await examination(settings)
    except Exception as error:
        # Whatever goes wrong here is what the user wants to hear about.
        return Finding("bad", part, str(error) or repr(error), remedy)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if (3, 11) <= sys.version_info < (3, 14):
        return Finding("ok", "python", version)
    return Finding("bad", "python", version, "use Python 3.11, 3.12 or 3.13")


async def _data_folder(settings: Settings) -> Finding:
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    if not os.access(settings.data_dir, os.W_OK):
        raise PermissionError(f"{settings.data_dir} cannot be written")
    return Finding("ok", "data folder", str(settings.data_dir))


async def _embedder(settings: Settings) -> Finding:
    embedder = await open_configured_embedder(settings)
    if embedder is None:
        return Finding("note", "embedder", "none: nothing can be found by meaning")
    try:
        vectors = await embedder.embed(["a memory"])
    finally:
        await embedder.close()
    return Finding("ok", "embedder", f"{embedder.name}, {vectors.shape[1]} dimensions")


async def _database(settings: Settings) -> Finding:
    if settings.database == "embedded-postgres":
        return Finding("note", "database", "embedded-postgres starts with `memstream up`")
    store = await open_store(settings)
    try:
        await store.ping()
    finally:
        await store.close()
    return Finding("ok", "database", f"{settings.database.partition('://')[0]} answers")


async def _broker(settings: Settings) -> Finding:
    broker, names = broker_address(settings), TopicNames(settings.topic_prefix)
    states = await topic_states(broker, names)
    missing = [state.name for state in states if not state.partitions]
    if missing:
        return Finding(
            *("bad", "broker", f"{broker} lacks the topics {', '.join(missing)}"),
            "run `memstream topics --create`",
        )
    return Finding("ok", "broker", f"{broker} has all {len(states)} topics")


async def _service(settings: Settings) -> Finding:
    runtime = read_runtime(settings.data_dir)
    if runtime is None:
        return Finding("note", "service", "not running from this folder", "run `make up`")
    async with httpx.AsyncClient(timeout=5) as client:
        answer = await client.get(f"{runtime.web}/readyz")
    if answer.status_code != httpx.codes.OK:
        return Finding("bad", "service", f"not ready: {answer.json()['reasons']}", "see its log")
    return Finding("ok", "service", f"ready at {runtime.web}")


def _tool(name: str, package: str) -> Finding:
    if shutil.which(name):
        return Finding("ok", name, "found")
    what = "missing; only --broker local-kafka and its tests need it"
    return Finding("note", name, what, f"apt-get install {package}")

"""A service of one's own to measure: `memstream up` on embedded parts, and a language model."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from memstream.addresses import free_port
from memstream.embedded.process import Process
from memstream.runtime import Runtime, read_runtime

ROOT = Path(__file__).parents[1]


@asynccontextmanager
async def running_service(folder: Path, **settings: object) -> AsyncIterator[Runtime]:
    """Run everything with its state in a folder."""
    environment = os.environ | {
        "MEMSTREAM_DATA_DIR": str(folder),
        "MEMSTREAM_WEB_PORT": str(free_port("127.0.0.1", 0)),
        **{f"MEMSTREAM_{name.upper()}": str(value) for name, value in settings.items()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    process = await Process.start(
        "memstream up",
        [sys.executable, "-m", "memstream", "up"],
        log=folder / "log",
        env=environment,
    )
    try:
        while (runtime := read_runtime(folder)) is None:
            if not process.running:
                raise process.failure("did not start")
            await asyncio.sleep(0.1)
        yield runtime
    finally:
        await process.stop()


async def metrics(web: str) -> dict[str, float]:
    """Return every sample that the service tells, labels included in the name."""
    async with httpx.AsyncClient() as client:
        text = (await client.get(f"{web}/metrics")).text
    samples = re.findall(r"^(\w+(?:\{.*\})?) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in samples}


async def until_handled(web: str, topic: str, count: int) -> None:
    """Wait until so many messages of a topic were handled."""
    name = f'memstream_messages_total{{topic="{topic}"}}'
    while True:
        if (await metrics(web)).get(name, 0.0) >= count:
            return
        await asyncio.sleep(0.05)


class LanguageModel:
    """The tests' language model, in a process of its own so that it takes no time of ours."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self._client = client
        self.settings = {"llm_base_url": url, "root_model": "bench"}

    async def behave(self, **behaviour: Any) -> None:
        """Do this from the next call on."""
        (await self._client.post("/behaviour", json=behaviour)).raise_for_status()

    async def report(self) -> dict[str, Any]:
        """Return how often it was called, and what it did with the calls."""
        told: dict[str, Any] = (await self._client.get("/calls")).json()
        return {"calls": told["calls"], "by_behaviour": told["by_behaviour"]}


@asynccontextmanager
async def language_model(folder: Path) -> AsyncIterator[LanguageModel]:
    """Run a language model, helpful until told otherwise."""
    port = free_port("127.0.0.1", 0)
    url = f"http://127.0.0.1:{port}"
    process = await Process.start(
        "the language model",
        [sys.executable, "-m", "tests.language_model", f"--port={port}"],
        log=folder / "language_model.log",
        cwd=ROOT,
    )
    try:
        async with httpx.AsyncClient(base_url=url) as client:
            model = LanguageModel(url, client)
            while not await _answers(client):
                if not process.running:
                    raise process.failure("did not start")
                await asyncio.sleep(0.1)
            yield model
    finally:
        await process.stop()


async def _answers(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/calls")).is_success
    except httpx.TransportError:
        return False


def behaviour(kind: str = "answer", **more: Any) -> dict[str, Any]:
    """Return a behaviour whose answers fit every question memstream asks."""
    return {"kind": kind, "text": json.dumps({"why": "it says so"}), **more}

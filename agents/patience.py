"""Waits for a part that is away, without losing what was being done."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from agents.metrics import RETRIES
from retrieval.embedding import EmbedderUnavailableError
from storage import StoreUnavailableError

log = structlog.get_logger(__name__)

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
"""Long enough to leave a starting database alone, short enough to go on soon after it is back."""

PASSING = (StoreUnavailableError, EmbedderUnavailableError)
"""The parts that may be away, and come back."""

T = TypeVar("T")


async def until_available(
    topic: str, work: Callable[[], Awaitable[T]], *, give_up_after_s: float | None = None
) -> T:
    """Do the work, trying again while a part is away; after a while give up if told to."""
    deadline = asyncio.get_running_loop().time() + (give_up_after_s or float("inf"))
    pause = FIRST_PAUSE_S
    while True:
        try:
            return await work()
        except PASSING as error:
            if asyncio.get_running_loop().time() + pause > deadline:
                raise
            RETRIES.labels(topic=topic).inc()
            log.warning("a part is away, trying again", topic=topic, pause_s=pause, **_why(error))
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)


def _why(error: Exception) -> dict[str, str]:
    """Say which part it is; what an embedder answers may repeat the text it was to embed."""
    if isinstance(error, StoreUnavailableError):
        return {"part": "store", "reason": str(error)}
    log.debug("what the embedder says", reason=str(error))
    return {"part": "embedder"}

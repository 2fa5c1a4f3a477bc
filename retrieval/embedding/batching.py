"""Requests that arrive while a batch is running are joined into the next one."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from retrieval.embedding.protocol import (
    Embedder,
    EmbedderError,
    EmbedderUnavailableError,
    Vectors,
)
from retrieval.embedding.vectors import no_rows


@dataclass(frozen=True)
class BatchLimit:
    """How much may go to the embedder in one call."""

    texts: int
    characters: int


@dataclass
class _Request:
    """One caller's texts, the rows found so far, and the future that the caller awaits."""

    texts: Sequence[str]
    rows: Vectors
    answer: asyncio.Future[Vectors]
    taken: int = 0
    missing: int = field(init=False)

    def __post_init__(self) -> None:
        self.missing = len(self.texts)

    def put(self, position: int, row: Vectors) -> None:
        self.rows[position] = row
        self.missing -= 1
        if self.missing == 0 and not self.answer.done():
            self.answer.set_result(self.rows)


@dataclass(frozen=True)
class _Item:
    """One text of one request."""

    request: _Request
    position: int

    @property
    def text(self) -> str:
        return self.request.texts[self.position]


class BatchingEmbedder:
    """Gives an embedder one bounded batch at a time, shared fairly between all callers."""

    def __init__(self, inner: Embedder, limit: BatchLimit) -> None:
        self._inner = inner
        self._limit = limit
        self._waiting: deque[_Request] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """The vector space of the embedder inside."""
        return self._inner.name

    @property
    def dimensions(self) -> int:
        """The length of each vector."""
        return self._inner.dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text; the texts may travel in several batches."""
        if self._closed:
            raise EmbedderError(f"The embedder {self.name} is closed.")
        if not texts:
            return no_rows(self.dimensions)
        rows = np.empty((len(texts), self.dimensions), dtype=np.float32)
        answer: asyncio.Future[Vectors] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Request(tuple(texts), rows, answer))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work(), name=f"embed {self.name}")
        return await answer

    async def close(self) -> None:
        """Answer everyone who is waiting, then close the embedder inside."""
        self._closed = True
        if self._worker is not None:
            # Shielded: whoever gives up on closing must not take the waiting callers along.
            await asyncio.shield(self._worker)
        await self._inner.close()

    async def _work(self) -> None:
        batch: list[_Item] = []
        try:
            while batch := self._next_batch():
                await self._run(batch)
        except asyncio.CancelledError:
            # The loop is being torn down; nobody may be left waiting for a row.
            for request in [item.request for item in batch] + list(self._waiting):
                request.answer.cancel()
            self._waiting.clear()
            raise
        finally:
            self._worker = None

    def _next_batch(self) -> list[_Item]:
        """Take one text of each request in turn, so that a query never waits behind an import."""
        batch: list[_Item] = []
        room = self._limit.characters
        while len(batch) < self._limit.texts and (item := self._next_item()) is not None:
            room -= len(item.text)
            # A text above the limit on its own still has to go, alone.
            if batch and room < 0:
                break
            batch.append(item)
            self._take(item.request)
        return batch

    def _next_item(self) -> _Item | None:
        while self._waiting and self._waiting[0].answer.done():
            self._waiting.popleft()  # The caller gave up, or another of its batches failed.
        return _Item(self._waiting[0], self._waiting[0].taken) if self._waiting else None

    def _take(self, request: _Request) -> None:
        request.taken += 1
        self._waiting.popleft()
        if request.taken < len(request.texts):
            self._waiting.append(request)

    async def _run(self, batch: list[_Item]) -> None:
        try:
            rows = await self._inner.embed([item.text for item in batch])
            if rows.shape != (len(batch), self.dimensions):
                raise EmbedderError(f"The embedder {self.name} returned rows of a wrong shape.")
        except EmbedderUnavailableError as error:
            _fail(batch, error)
        except Exception as error:
            if len(batch) == 1:
                _fail(batch, error)
            else:
                # One text may be to blame: only its own caller is to hear of it.
                for item in batch:
                    if not item.request.answer.done():
                        await self._run([item])
        else:
            _put(batch, rows)


def _fail(batch: list[_Item], error: Exception) -> None:
    for item in batch:
        if not item.request.answer.done():
            item.request.answer.set_exception(error)


def _put(batch: list[_Item], rows: Vectors) -> None:
    for item, row in zip(batch, rows, strict=True):
        item.request.put(item.position, row)

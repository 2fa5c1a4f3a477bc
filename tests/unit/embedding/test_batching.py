"""Concurrent callers share batches and never notice each other."""

import asyncio
from collections.abc import Sequence
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.embedding import EmbedderError, EmbedderUnavailableError, Vectors
from retrieval.embedding.batching import BatchingEmbedder, BatchLimit


class CountedEmbedder:
    """Embeds a text as its length and its first character; each batch waits to be let through."""

    def __init__(self, *, gated: bool = False) -> None:
        self.batches: list[list[str]] = []
        self.closed = False
        self._gate = asyncio.Semaphore(0) if gated else None
        self.started = asyncio.Event()
        self.running = 0

    @property
    def name(self) -> str:
        return "counted"

    @property
    def dimensions(self) -> int:
        return 2

    def let_through(self, batches: int = 1) -> None:
        assert self._gate is not None
        for _ in range(batches):
            self._gate.release()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.running += 1
        assert self.running == 1, "two batches at once"
        self.batches.append(list(texts))
        self.started.set()
        try:
            if self._gate is not None:
                await self._gate.acquire()
            if "poison" in texts:
                raise EmbedderError("poisoned")
            if "away" in texts:
                raise EmbedderUnavailableError("away")
            await asyncio.sleep(0)
            return rows_of(texts)
        finally:
            self.running -= 1

    async def close(self) -> None:
        assert self.running == 0
        self.closed = True


def rows_of(texts: Sequence[str]) -> Vectors:
    rows = [[len(text), ord(text[0]) if text else 0] for text in texts]
    return np.array(rows, dtype=np.float32).reshape(len(texts), 2)


ROOMY = BatchLimit(texts=100, characters=10_000)


@given(
    requests=st.lists(st.lists(st.text(max_size=12), max_size=9), max_size=12),
    texts=st.integers(1, 7),
    characters=st.integers(1, 30),
)
def test_every_caller_gets_its_own_rows(
    requests: list[list[str]], texts: int, characters: int
) -> None:
    async def run() -> tuple[list[Vectors], list[list[str]]]:
        inner = CountedEmbedder()
        embedder = BatchingEmbedder(inner, BatchLimit(texts, characters))
        answers = await asyncio.gather(*(embedder.embed(request) for request in requests))
        await embedder.close()
        return answers, inner.batches

    answers, batches = asyncio.run(run())
    for request, answer in zip(requests, answers, strict=True):
        assert np.array_equal(answer, rows_of(request))
    assert sorted(chain(*batches)) == sorted(chain(*requests))
    for batch in batches:
        assert len(batch) <= texts
        assert sum(map(len, batch)) <= characters or len(batch) == 1


async def test_an_idle_embedder_is_asked_at_once() -> None:
    inner = CountedEmbedder()
    await BatchingEmbedder(inner, ROOMY).embed(["alone"])
    assert inner.batches == [["alone"]]


async def test_callers_who_wait_share_the_next_batch() -> None:
    inner = CountedEmbedder(gated=True)
    embedder = BatchingEmbedder(inner, ROOMY)
    first = asyncio.create_task(embedder.embed(["first"]))
    await inner.started.wait()
    others = [asyncio.create_task(embedder.embed([f"{n}"])) for n in range(5)]
    await asyncio.sleep(0)
    inner.let_through(2)
    await asyncio.gather(first, *others)
    assert inner.batches == [["first"], ["0", "1", "2", "3", "4"]]


async def test_a_query_does_not_wait_behind_an_import() -> None:
    inner = CountedEmbedder(gated=True)
    embedder = BatchingEmbedder(inner, BatchLimit(texts=4, characters=1000))
    bulk = asyncio.create_task(embedder.embed([f"memory {n}" for n in range(20)]))
    await inner.started.wait()
    query = asyncio.create_task(embedder.embed(["query"]))
    await asyncio.sleep(0)
    inner.let_through(2)
    await query
    assert not bulk.done()
    assert "query" in inner.batches[1]
    inner.let_through(10)
    assert np.array_equal(await bulk, rows_of([f"memory {n}" for n in range(20)]))


async def test_a_text_that_fails_is_the_trouble_of_its_own_caller_only() -> None:
    inner = CountedEmbedder()
    embedder = BatchingEmbedder(inner, ROOMY)
    texts = (["before"], ["poison", "its own"], ["beside"])
    before, poisoned, beside = await asyncio.gather(
        *(embedder.embed(each) for each in texts), return_exceptions=True
    )
    assert str(poisoned) == "poisoned"
    assert np.array_equal(before, rows_of(["before"]))
    assert np.array_equal(beside, rows_of(["beside"]))
    assert inner.batches[1:] == [["before"], ["poison"], ["beside"]]
    assert np.array_equal(await embedder.embed(["after"]), rows_of(["after"]))


async def test_an_embedder_that_is_away_is_the_trouble_of_the_whole_batch() -> None:
    inner = CountedEmbedder()
    embedder = BatchingEmbedder(inner, ROOMY)
    results = await asyncio.gather(
        *(embedder.embed([text]) for text in ("away", "beside")), return_exceptions=True
    )
    assert [str(result) for result in results] == ["away", "away"]
    assert len(inner.batches) == 1
    assert np.array_equal(await embedder.embed(["after"]), rows_of(["after"]))


async def test_a_failed_request_gives_up_its_other_batches() -> None:
    inner = CountedEmbedder()
    embedder = BatchingEmbedder(inner, BatchLimit(texts=1, characters=1000))
    with pytest.raises(EmbedderError, match="poisoned"):
        await embedder.embed(["poison", "never", "asked"])
    await embedder.close()
    assert inner.batches == [["poison"]]


async def test_one_who_gives_up_takes_nobody_along() -> None:
    inner = CountedEmbedder(gated=True)
    embedder = BatchingEmbedder(inner, ROOMY)
    first = asyncio.create_task(embedder.embed(["first"]))
    await inner.started.wait()
    leaving = asyncio.create_task(embedder.embed(["leaving"]))
    staying = asyncio.create_task(embedder.embed(["staying"]))
    await asyncio.sleep(0)
    first.cancel()
    leaving.cancel()
    inner.let_through(2)
    assert np.array_equal(await staying, rows_of(["staying"]))
    assert inner.batches == [["first"], ["staying"]]
    assert first.cancelled()
    assert leaving.cancelled()


async def test_closing_answers_those_who_wait() -> None:
    inner = CountedEmbedder(gated=True)
    embedder = BatchingEmbedder(inner, BatchLimit(texts=1, characters=1000))
    waiting = [asyncio.create_task(embedder.embed([f"{n}"])) for n in range(3)]
    await inner.started.wait()
    closing = asyncio.create_task(embedder.close())
    await asyncio.sleep(0)
    with pytest.raises(EmbedderError, match="closed"):
        await embedder.embed(["late"])
    inner.let_through(3)
    await closing
    assert inner.closed
    assert [task.done() for task in waiting] == [True, True, True]


async def test_giving_up_on_closing_leaves_callers_waiting() -> None:
    inner = CountedEmbedder(gated=True)
    embedder = BatchingEmbedder(inner, ROOMY)
    waiting = asyncio.create_task(embedder.embed(["waiting"]))
    await inner.started.wait()
    closing = asyncio.create_task(embedder.close())
    await asyncio.sleep(0)
    closing.cancel()
    inner.let_through()
    assert np.array_equal(await waiting, rows_of(["waiting"]))


async def test_nobody_is_left_waiting_when_the_loop_is_torn_down() -> None:
    inner = CountedEmbedder(gated=True)
    embedder = BatchingEmbedder(inner, BatchLimit(texts=1, characters=1000))
    callers = [asyncio.create_task(embedder.embed([f"{n}"])) for n in range(2)]
    await inner.started.wait()
    (worker,) = (task for task in asyncio.all_tasks() if task.get_name() == "embed counted")
    worker.cancel()
    await asyncio.wait([worker, *callers], timeout=5)
    assert [caller.cancelled() for caller in callers] == [True, True]


async def test_rows_of_a_wrong_shape_are_an_error() -> None:
    class Short(CountedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            return rows_of(texts[1:])

    with pytest.raises(EmbedderError, match="wrong shape"):
        await BatchingEmbedder(Short(), ROOMY).embed(["a", "b"])

"""A guarded model against a real server that comes, goes, and talks nonsense."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from retrieval.language import (
    CircuitBreaker,
    Completion,
    GuardedModel,
    LanguageModelError,
    LanguageModelOpenError,
)
from retrieval.language.chat import ChatCompletions
from retrieval.metrics import LANGUAGE_MODEL_CALLS, LANGUAGE_MODEL_SECONDS, OUTCOMES
from tests.language_model import Behaviour, LocalLanguageModel, local_language_model
from tests.unit.retrieval.language.clock import Clock


@pytest.fixture
async def server() -> AsyncIterator[LocalLanguageModel]:
    """The endpoint, as it should be until told otherwise."""
    async with local_language_model() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def model(server: LocalLanguageModel, clock: Clock) -> AsyncIterator[GuardedModel]:
    """The model as the service uses it, but for its clock."""
    model = GuardedModel(ChatCompletions(server.url), CircuitBreaker(clock))
    yield model
    await model.close()


async def ask(model: GuardedModel, timeout_s: float = 20.0) -> Completion:
    return await model.complete("small", "", "Who?", timeout_s=timeout_s, max_tokens=64)


async def outcome(model: GuardedModel, timeout_s: float = 20.0) -> str:
    try:
        await ask(model, timeout_s)
    except LanguageModelError as error:
        return error.outcome
    return "ok"


def counted() -> dict[str, float]:
    return {name: LANGUAGE_MODEL_CALLS.labels(name)._value.get() for name in OUTCOMES}


@pytest.mark.requirement("RR-8")
@pytest.mark.parametrize("kind", ["fail", "close", "nonsense"])
async def test_a_server_that_is_down_is_left_alone_and_found_again(
    server: LocalLanguageModel, model: GuardedModel, clock: Clock, kind: str
) -> None:
    server.behave(Behaviour(kind))
    ends = [await outcome(model) for _ in range(50)]
    assert ends[20:] == ["refused"] * 30
    assert server.calls == 20
    clock.seconds += 30
    assert await outcome(model) != "refused"
    assert await outcome(model) == "refused"
    server.behave(Behaviour())
    clock.seconds += 30
    assert [await outcome(model) for _ in range(5)] == ["ok"] * 5


@pytest.mark.requirement("RR-8")
async def test_stalled_calls_at_once_open_it(
    server: LocalLanguageModel, model: GuardedModel
) -> None:
    server.behave(Behaviour("stall"))
    ends = await asyncio.gather(*(outcome(model, timeout_s=0.2) for _ in range(40)))
    assert ends == ["timeout"] * 40
    with pytest.raises(LanguageModelOpenError):
        await ask(model)


@pytest.mark.requirement("OB-5")
async def test_calls_are_counted_by_how_they_end(
    server: LocalLanguageModel, model: GuardedModel
) -> None:
    before, timed = counted(), LANGUAGE_MODEL_SECONDS._sum.get()
    for kind, times in {"answer": 4, "fail": 3, "stall": 1, "not-json": 12}.items():
        server.behave(Behaviour(kind))
        for _ in range(times):
            await outcome(model, timeout_s=0.2 if kind == "stall" else 20.0)
    await outcome(model)
    now = counted()
    assert {name: now[name] - before[name] for name in OUTCOMES} == {
        "ok": 4,
        "failed": 3,
        "timeout": 1,
        "nonsense": 12,
        "refused": 1,
    }
    assert LANGUAGE_MODEL_SECONDS._sum.get() - timed > 0.2


@pytest.mark.requirement("RR-8")
async def test_callers_that_give_up_say_nothing_about_the_server(
    server: LocalLanguageModel, model: GuardedModel
) -> None:
    server.behave(Behaviour("stall"))
    calls = [asyncio.create_task(ask(model)) for _ in range(30)]
    async with asyncio.timeout(20):
        await server.until_called(30)
    before = counted()
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert counted() == before
    server.behave(Behaviour())
    assert await outcome(model) == "ok"

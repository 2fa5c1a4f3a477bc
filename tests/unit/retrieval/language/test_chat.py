"""The chat client against a real server that answers, fails, stalls and returns nonsense."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from retrieval.language import (
    Completion,
    LanguageModelError,
    LanguageModelFailedError,
    LanguageModelNonsenseError,
    LanguageModelTimeoutError,
)
from retrieval.language.chat import ChatCompletions, chat_completions
from tests.language_model import Behaviour, LocalLanguageModel, local_language_model

KEY = "sk-secret"
PATIENT_S = 20.0
IMPATIENT_S = 0.8


@pytest.fixture
async def server() -> AsyncIterator[LocalLanguageModel]:
    """The endpoint, as it should be until told otherwise."""
    async with local_language_model() as server:
        yield server


@pytest.fixture
async def model(server: LocalLanguageModel) -> AsyncIterator[ChatCompletions]:
    """The client of that endpoint."""
    model = ChatCompletions(server.url, api_key=KEY)
    yield model
    await model.close()


async def ask(
    model: ChatCompletions, user: str = "Who? And when?", timeout_s: float = PATIENT_S
) -> Completion:
    return await model.complete("small", "Be brief.", user, timeout_s=timeout_s, max_tokens=64)


@pytest.mark.requirement("RX-7")
async def test_it_asks_as_openai_is_asked(
    server: LocalLanguageModel, model: ChatCompletions
) -> None:
    server.behave(Behaviour(answers={"Who": "Ada did."}))
    assert await ask(model) == Completion("Ada did.", tokens=7)
    (prompt,) = server.prompts
    assert prompt.authorization == f"Bearer {KEY}"
    assert prompt.body == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Who? And when?"},
        ],
        "temperature": 0,
        "max_tokens": 64,
        "stream": False,
    }


@pytest.mark.requirement("RX-7")
@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
async def test_an_address_may_be_written_in_many_ways(
    server: LocalLanguageModel, path: str
) -> None:
    model = ChatCompletions(server.url + path)
    assert (await ask(model, "Yes. No.")).text == "Yes"
    assert server.prompts[0].authorization is None
    await model.close()


@pytest.mark.requirement("RX-7")
@pytest.mark.parametrize(
    ("base_url", "endpoint"),
    [
        ("https://h/v1beta/openai/", "https://h/v1beta/openai/chat/completions"),
        ("https://h/d/m?api-version=1", "https://h/d/m/chat/completions?api-version=1"),
        ("https://h?api-version=1", "https://h/v1/chat/completions?api-version=1"),
    ],
)
def test_a_path_of_its_own_is_kept(base_url: str, endpoint: str) -> None:
    assert str(ChatCompletions(base_url)._url) == endpoint


@pytest.mark.requirement("RR-7")
@pytest.mark.parametrize("status", [301, 400, 401, 404, 429, 500, 503])
async def test_an_http_error_is_a_failure_and_is_not_repeated(
    server: LocalLanguageModel, model: ChatCompletions, status: int
) -> None:
    server.behave(Behaviour("fail", status=status))
    with pytest.raises(LanguageModelFailedError, match=f"answered {status}: .*told to fail") as e:
        await ask(model)
    assert server.calls == 1
    assert KEY not in str(e.value)


@pytest.mark.requirement("RR-7")
async def test_a_closed_connection_is_a_failure(
    server: LocalLanguageModel, model: ChatCompletions
) -> None:
    await ask(model)
    server.behave(Behaviour("close"))
    with pytest.raises(LanguageModelFailedError, match="cannot be reached"):
        await ask(model)
    server.behave(Behaviour())
    assert (await ask(model)).text


@pytest.mark.requirement("RR-7")
async def test_nobody_listening_is_a_failure_that_shows_no_secret(unused_tcp_port: int) -> None:
    model = ChatCompletions(f"http://user:pw@127.0.0.1:{unused_tcp_port}/v1?k=s")
    with pytest.raises(LanguageModelFailedError, match="cannot be reached") as caught:
        await ask(model)
    assert "pw" not in str(caught.value)
    assert "k=s" not in str(caught.value)
    await model.close()


@pytest.mark.requirement("RX-7")
@pytest.mark.parametrize("kind", ["stall", "drip"])
async def test_the_time_is_that_of_the_whole_call(
    server: LocalLanguageModel, model: ChatCompletions, kind: str
) -> None:
    server.behave(Behaviour(kind))
    async with asyncio.timeout(PATIENT_S):
        with pytest.raises(LanguageModelTimeoutError, match=r"within 0\.8 s"):
            await ask(model, timeout_s=IMPATIENT_S)
    assert server.by_behaviour[kind] == 1


async def test_no_time_at_all_is_a_timeout(model: ChatCompletions) -> None:
    with pytest.raises(LanguageModelTimeoutError):
        await ask(model, timeout_s=0)


async def test_hundreds_that_stall_leave_nothing_behind(server: LocalLanguageModel) -> None:
    model = ChatCompletions(server.url, connections=300)
    server.behave(Behaviour("stall"))
    calls = [asyncio.create_task(ask(model)) for _ in range(300)]
    async with asyncio.timeout(PATIENT_S):
        await server.until_called(300)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    server.behave(Behaviour())
    assert (await ask(model)).text
    await model.close()


async def test_who_waits_for_a_connection_waits_no_longer_than_its_time(
    server: LocalLanguageModel,
) -> None:
    model = ChatCompletions(server.url, connections=2)
    # Those who wait are cancelled just as those before them go: httpx's own limit loses turns so.
    for _ in range(5):
        server.behave(Behaviour("stall"))
        calls = [ask(model, timeout_s=0.1) for _ in range(20)]
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(end) for end in ends} == {LanguageModelTimeoutError}
        server.behave(Behaviour())
        assert {(await ask(model)).text for _ in range(5)} == {"Who? And when?"}
    await model.close()


@pytest.mark.requirement("RR-7")
@pytest.mark.parametrize("kind", ["not-json", "wrong-shape", "stream", "huge"])
async def test_nonsense_is_an_error(
    server: LocalLanguageModel, model: ChatCompletions, kind: str
) -> None:
    server.behave(Behaviour(kind))
    with pytest.raises(LanguageModelNonsenseError):
        await ask(model)
    server.behave(Behaviour())
    assert (await ask(model)).text


def body(content: Any = "text", **others: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}}], **others}


BODIES: dict[str, Any] = {
    "null": None,
    "a list": [],
    "no choices": {"choices": []},
    "choices of another type": {"choices": "many"},
    "no message": {"choices": [{}]},
    "null content": body(None),
    "empty content": body(""),
    "blank content": body(" \n"),
    "content of another type": body([{"type": "text", "text": "hi"}]),
    "a number for content": body(7),
    "half a character": body("\ud800"),
    "negative tokens": body(usage={"total_tokens": -1}),
    "half a token": body(usage={"total_tokens": 1.5}),
    "tokens in quotes": body(usage={"total_tokens": "7"}),
    "true tokens": body(usage={"total_tokens": True}),
    "more tokens than there are": body(usage={"total_tokens": 10**30}),
    "usage of another type": body(usage="much"),
}


@pytest.fixture
async def bare() -> AsyncIterator[tuple[ChatCompletions, dict[str, Any]]]:
    """A client, and the raw answer that its endpoint gives."""
    given: dict[str, Any] = {"text": "", "headers": {}}

    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=given["text"], headers=given["headers"])

    app = web.Application()
    app.router.add_post("/v1/chat/completions", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    model = ChatCompletions(f"http://{host}:{port}")
    yield model, given
    await model.close()
    await runner.cleanup()


@pytest.mark.requirement("RR-7")
@pytest.mark.parametrize("answer", BODIES.values(), ids=BODIES.keys())
async def test_an_answer_of_another_shape_is_nonsense(
    bare: tuple[ChatCompletions, dict[str, Any]], answer: Any
) -> None:
    model, given = bare
    given["text"] = json.dumps(answer)
    with pytest.raises(LanguageModelNonsenseError, match="did not answer with a completion"):
        await ask(model)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "NaN", "data: {}\n\n"])
async def test_what_is_not_json_is_nonsense(
    bare: tuple[ChatCompletions, dict[str, Any]], text: str
) -> None:
    model, given = bare
    given["text"] = text
    with pytest.raises(LanguageModelNonsenseError, match="did not answer with a completion"):
        await ask(model)


async def test_what_is_said_to_be_compressed_is_not_unpacked(
    bare: tuple[ChatCompletions, dict[str, Any]],
) -> None:
    model, given = bare
    given.update(text="\x1f\x8b", headers={"content-encoding": "gzip"})
    with pytest.raises(LanguageModelNonsenseError):
        await ask(model)


@pytest.mark.parametrize("usage", [{}, {"usage": None}, {"usage": {"prompt_tokens": 3}}])
async def test_tokens_that_were_not_counted_are_none(
    bare: tuple[ChatCompletions, dict[str, Any]], usage: dict[str, Any]
) -> None:
    model, given = bare
    given["text"] = json.dumps(body(**usage, id="unknown names do no harm"))
    assert await ask(model) == Completion("text", tokens=0)


async def test_lone_surrogates_do_not_break_the_request(model: ChatCompletions) -> None:
    assert (await ask(model, "a\ud800b")).text == "a?b"


@pytest.mark.parametrize(("url", "key"), [("http://h:port", "key"), ("http://h", "schlüssel")])
def test_an_address_or_key_that_cannot_be_sent_is_said(url: str, key: str) -> None:
    with pytest.raises(LanguageModelError, match="cannot be used"):
        chat_completions(url, api_key=key)

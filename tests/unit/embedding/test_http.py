"""The HTTP embedder against a real server that answers, fails and returns nonsense."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import web

from retrieval.embedding import EmbedderError, open_embedder
from retrieval.embedding.http import HttpEmbedder
from retrieval.embedding.retry import RetryRules

KEY = "sk-secret"
Handler = Callable[[dict[str, Any]], web.StreamResponse]


@dataclass
class Endpoint:
    """A local /v1/embeddings: answers with the handlers in turn, then as it should."""

    url: str = ""
    script: list[Handler] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.keys.append(request.headers.get("authorization"))
        return self.script.pop(0)(body) if self.script else answer(body)


def vector(text: str) -> list[float]:
    return [3.0 * len(text), 4.0 * len(text), 0.0]


def rows(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"index": n, "embedding": vector(text)} for n, text in enumerate(body["input"])]


def answer(body: dict[str, Any]) -> web.StreamResponse:
    return web.json_response({"data": rows(body), "model": "served-model"})


def data(found: Callable[[list[dict[str, Any]]], Any]) -> Handler:
    return lambda body: web.json_response({"data": found(rows(body))})


def status(code: int, **headers: str) -> Handler:
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda body: web.Response(status=code, text=f"no: {KEY}", headers=shown)


def drop(body: dict[str, Any]) -> web.StreamResponse:
    raise ConnectionAbortedError


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    """The server, on a free port."""
    endpoint = Endpoint()
    app = web.Application()
    app.router.add_post("/v1/embeddings", endpoint.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    endpoint.url = f"http://{host}:{port}/v1/embeddings"
    yield endpoint
    await runner.cleanup()


@dataclass
class Opened:
    """An open embedder and the pauses it made."""

    embedder: HttpEmbedder
    pauses: list[float]


@pytest.fixture
async def opened(endpoint: Endpoint) -> AsyncIterator[Opened]:
    """The embedder of that server; it notes its pauses instead of waiting."""
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    embedder = HttpEmbedder(endpoint.url, model="asked-model", api_key=KEY, pause=pause)
    await embedder.open()
    yield Opened(embedder, pauses)
    await embedder.close()


async def test_rows_have_unit_length_and_the_order_of_the_texts(
    endpoint: Endpoint, opened: Opened
) -> None:
    endpoint.script.append(data(lambda found: found[::-1]))
    found = await opened.embedder.embed(["a", "bbb"])
    assert np.allclose(found, [[0.6, 0.8, 0.0]] * 2)
    assert opened.embedder.dimensions == 3


async def test_rows_out_of_order_are_put_in_order(endpoint: Endpoint, opened: Opened) -> None:
    def shuffled(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for row in found:
            row["embedding"] = [0.0] * row["index"] + [1.0] + [0.0] * (2 - row["index"])
        return [found[2], found[0], found[1]]

    endpoint.script.append(data(shuffled))
    assert np.array_equal(await opened.embedder.embed(["a", "b", "c"]), np.eye(3))


async def test_it_sends_the_model_and_the_key(endpoint: Endpoint, opened: Opened) -> None:
    await opened.embedder.embed(["text"])
    assert endpoint.bodies[-1] == {"input": ["text"], "model": "asked-model"}
    assert endpoint.keys == [f"Bearer {KEY}"] * 2
    assert opened.embedder.name == "asked-model"


async def test_no_texts_ask_nothing(endpoint: Endpoint, opened: Opened) -> None:
    assert (await opened.embedder.embed([])).shape == (0, 3)
    assert len(endpoint.bodies) == 1


async def test_lone_surrogates_do_not_break_the_request(opened: Opened) -> None:
    assert (await opened.embedder.embed(["\ud800"])).shape == (1, 3)


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
async def test_passing_trouble_is_waited_out(endpoint: Endpoint, opened: Opened, code: int) -> None:
    endpoint.script += [status(code), status(code)]
    assert (await opened.embedder.embed(["a"])).shape == (1, 3)
    assert 0.25 <= opened.pauses[0] <= 0.5 <= opened.pauses[1] <= 1.0


async def test_a_dropped_connection_is_tried_again(endpoint: Endpoint, opened: Opened) -> None:
    endpoint.script.append(drop)
    assert (await opened.embedder.embed(["a"])).shape == (1, 3)


async def test_retry_after_is_honoured(endpoint: Endpoint, opened: Opened) -> None:
    endpoint.script.append(status(429, retry_after="7"))
    await opened.embedder.embed(["a"])
    assert opened.pauses == [7.0]


async def test_it_does_not_wait_longer_than_a_search_can(
    endpoint: Endpoint, opened: Opened
) -> None:
    endpoint.script.append(status(429, retry_after="3600"))
    with pytest.raises(EmbedderError, match="answered 429"):
        await opened.embedder.embed(["a"])
    assert opened.pauses == []


async def test_it_gives_up_after_its_attempts(endpoint: Endpoint, opened: Opened) -> None:
    endpoint.script += [status(503)] * 10
    with pytest.raises(EmbedderError, match=r"answered 503.*attempt 4"):
        await opened.embedder.embed(["a"])
    assert len(endpoint.bodies) == 1 + RetryRules().attempts


@pytest.mark.parametrize("code", [301, 400, 401, 404, 413])
async def test_lasting_trouble_is_not_repeated(
    endpoint: Endpoint, opened: Opened, code: int
) -> None:
    endpoint.script.append(status(code))
    with pytest.raises(EmbedderError, match=f"answered {code}") as caught:
        await opened.embedder.embed(["a"])
    assert opened.pauses == []
    assert KEY not in str(caught.value)


NONSENSE: dict[str, Handler] = {
    "not json": lambda body: web.Response(text="<html>welcome</html>"),
    "no data": lambda body: web.json_response({"object": "list"}),
    "data of another type": lambda body: web.json_response({"data": "none"}),
    "a row too few": data(lambda found: found[1:]),
    "a row too many": data(lambda found: [*found, {"index": 2, "embedding": [1, 2, 3]}]),
    "the same row twice": data(lambda found: [found[0], found[0]]),
    "words for numbers": data(lambda found: [row | {"embedding": ["a"] * 3} for row in found]),
    "numbers in quotes": data(lambda found: [row | {"embedding": ["1"] * 3} for row in found]),
    "null": data(lambda found: [row | {"embedding": None} for row in found]),
    "not a number": data(lambda found: [row | {"embedding": [float("nan")] * 3} for row in found]),
    "no direction": data(lambda found: [row | {"embedding": [0, 0, 0]} for row in found]),
    "another length": data(lambda found: [row | {"embedding": [1, 2]} for row in found]),
    "mixed lengths": data(lambda found: [found[0], found[1] | {"embedding": [1, 2]}]),
    "empty rows": data(lambda found: [row | {"embedding": []} for row in found]),
}


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE.keys())
async def test_nonsense_is_an_error(endpoint: Endpoint, opened: Opened, nonsense: Handler) -> None:
    endpoint.script.append(nonsense)
    with pytest.raises(EmbedderError):
        await opened.embedder.embed(["a", "b"])
    assert (await opened.embedder.embed(["a"])).shape == (1, 3)


async def test_it_opens_through_the_specification(endpoint: Endpoint) -> None:
    embedder = await open_embedder(endpoint.url, cache_dir=Path("unused"))
    assert embedder is not None
    assert (embedder.name, embedder.dimensions) == ("served-model", 3)
    assert (await embedder.embed(["text"] * 70)).shape == (70, 3)
    assert max(len(body["input"]) for body in endpoint.bodies) == 32
    await embedder.close()


async def test_an_endpoint_that_fails_on_opening_is_an_error(endpoint: Endpoint) -> None:
    endpoint.script.append(status(401))
    embedder = HttpEmbedder(endpoint.url)
    with pytest.raises(EmbedderError, match="answered 401"):
        await embedder.open()


async def test_an_address_where_nobody_listens_is_an_error(unused_tcp_port: int) -> None:
    async def pause(seconds: float) -> None:
        pass

    embedder = HttpEmbedder(f"http://user:pw@127.0.0.1:{unused_tcp_port}/v1?k=s", pause=pause)
    with pytest.raises(EmbedderError, match="cannot be reached") as caught:
        await embedder.open()
    assert "pw" not in str(caught.value)
    assert "k=s" not in str(caught.value)

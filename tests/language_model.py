"""An OpenAI-compatible server that behaves as told: ``python -m tests.language_model``.

Within a test: ``async with local_language_model(Behaviour("stall")) as server: … server.url``.
By hand: ``curl -d '{"kind": "fail", "status": 429}' 127.0.0.1:8099/behaviour``, and ``/calls``.
"""

import argparse
import asyncio
import json
import random
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from aiohttp import web

MAX_KEPT = 10_000
HUGE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Prompt:
    """What a call asked."""

    model: str
    system: str
    user: str
    authorization: str | None = None
    behaviour: str = "answer"
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Behaviour:
    """What the server does with calls.

    kind     answer; stall (``seconds``, then answer); drip (a byte each ``seconds``, without end);
             fail (HTTP ``status``); close (the connection); not-json, wrong-shape, stream, huge;
             nonsense (these four in turn); mixture (of kinds by ``shares``, the rest answers)
    answers  texts by what is to be found in the user's message; the first that fits is used
    text     the answer to all else; by default the first sentence of the user's message
    tokens   what an answer is said to cost; by default a word of question and answer is a token
    """

    kind: str = "answer"
    seconds: float = 3600.0
    status: int = 500
    shares: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    answers: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for kind in (self.kind, *self.shares):
            if kind not in KINDS:
                raise ValueError(f"there is no kind {kind!r}: use {', '.join(KINDS)}")
        if sum(self.shares.values()) > 1 or any(share < 0 for share in self.shares.values()):
            raise ValueError("shares should be positive and not more than 1 together")

    def says(self, prompt: Prompt) -> str:
        for needle, text in self.answers.items():
            if needle in prompt.user:
                return text
        return self.text or first_sentence(prompt.user)


NONSENSE = ("not-json", "wrong-shape", "stream", "huge")
KINDS = ("answer", "stall", "drip", "fail", "close", *NONSENSE, "nonsense", "mixture")


def first_sentence(text: str) -> str:
    return text.strip().split(". ")[0].split("\n")[0] or "…"


class LocalLanguageModel:
    """The server's behaviour and its memory of calls."""

    def __init__(
        self, behaviour: Behaviour, answers: Callable[[Prompt], str] | None, api_key: str | None
    ) -> None:
        self.url = ""
        self.prompts: deque[Prompt] = deque(maxlen=MAX_KEPT)
        self.by_model: Counter[str] = Counter()
        self.by_behaviour: Counter[str] = Counter()
        self.arrived = asyncio.Condition()
        self._answers = answers
        self._api_key = api_key
        self.behave(behaviour)

    def behave(self, behaviour: Behaviour) -> None:
        """Do this from the next call on; a mixture starts again from its seed."""
        self.behaviour = behaviour
        self._chance = random.Random(behaviour.seed)
        self._turn = 0

    @property
    def calls(self) -> int:
        return self.by_model.total()

    async def until_called(self, times: int) -> None:
        """Wait until so many calls have arrived in all."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: self.calls >= times)

    def says(self, prompt: Prompt) -> str:
        return (self._answers or self.behaviour.says)(prompt)

    def _next_kind(self) -> str:
        kind = self.behaviour.kind
        if kind == "mixture":
            chance, kind = self._chance.random(), "answer"
            for name, share in self.behaviour.shares.items():
                if 0 <= chance < share:
                    kind = name
                chance -= share
        if kind == "nonsense":
            kind = NONSENSE[self._turn % len(NONSENSE)]
            self._turn += 1
        return kind

    async def complete(self, request: web.Request) -> web.StreamResponse:
        authorization = request.headers.get("authorization")
        if self._api_key and authorization != f"Bearer {self._api_key}":
            return _error(401, f"wrong key: {authorization}")
        try:
            prompt = _read(await request.json(), authorization, self._next_kind())
        except (ValueError, KeyError, TypeError, IndexError) as error:
            return _error(400, f"not a chat request: {error!r}")
        async with self.arrived:
            self.prompts.append(prompt)
            self.by_model[prompt.model] += 1
            self.by_behaviour[prompt.behaviour] += 1
            self.arrived.notify_all()
        return await HANDLERS[prompt.behaviour](self, request, prompt)

    async def change(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = await request.json()
            known = {one.name for one in fields(Behaviour)}
            if not isinstance(asked, dict) or not asked.keys() <= known:
                raise ValueError(f"use {', '.join(sorted(known))}")
            self.behave(Behaviour(**asked))
        except (ValueError, TypeError) as error:
            return _error(400, str(error))
        return web.json_response(asdict(self.behaviour))

    async def report(self, request: web.Request) -> web.StreamResponse:
        counts = {"by_model": self.by_model, "by_behaviour": self.by_behaviour}
        prompts = [asdict(prompt) for prompt in self.prompts]
        return web.json_response({"calls": self.calls, **counts, "prompts": prompts})


def _read(body: Any, authorization: str | None, behaviour: str) -> Prompt:
    said = {message["role"]: message["content"] for message in body["messages"]}
    return Prompt(
        body["model"], said.get("system", ""), said["user"], authorization, behaviour, body
    )


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message}}, status=status)


def completion(prompt: Prompt, text: str) -> dict[str, Any]:
    """The body of a proper answer; a word counts as a token."""
    asked, said = len(f"{prompt.system} {prompt.user}".split()), len(text.split())
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    return {
        "object": "chat.completion",
        "model": prompt.model,
        "choices": [choice | {"finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": said,
            "total_tokens": asked + said,
        },
    }


Handler = Callable[[LocalLanguageModel, web.Request, Prompt], Awaitable[web.StreamResponse]]


async def _answer(
    server: LocalLanguageModel, request: web.Request, prompt: Prompt
) -> web.StreamResponse:
    answer = completion(prompt, server.says(prompt))
    if server.behaviour.tokens is not None:
        answer["usage"]["total_tokens"] = server.behaviour.tokens
    return web.json_response(answer)


async def _stall(
    server: LocalLanguageModel, request: web.Request, prompt: Prompt
) -> web.StreamResponse:
    await asyncio.sleep(server.behaviour.seconds)
    return await _answer(server, request, prompt)


async def _drip(
    server: LocalLanguageModel, request: web.Request, prompt: Prompt
) -> web.StreamResponse:
    # Space before a value is good JSON: there is never a reason to give up but the time.
    response = web.StreamResponse(headers={"content-type": "application/json"})
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(min(server.behaviour.seconds, 0.01))


async def _fail(
    server: LocalLanguageModel, request: web.Request, prompt: Prompt
) -> web.StreamResponse:
    return _error(server.behaviour.status, f"told to fail, {prompt.authorization}, {prompt.user}")


async def _close(
    server: LocalLanguageModel, request: web.Request, prompt: Prompt
) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def _not_json(
    server: LocalLanguageModel, request: web.Request, prompt: Prompt
) -> web.StreamResponse:
    return web.Response(text="<html>welcome</html>", content_type="text/html")


async def _wrong_shape(
    server: LocalLanguageModel, request: web.Request, prompt: Prompt
) -> web.StreamResponse:
    return web.json_response({"choices": [{"text": "as completions were once"}]})


async def _stream(
    server: LocalLanguageModel, request: web.Request, prompt: Prompt
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    while True:
        await response.write(b'data: {"choices": [{"delta": {"content": "rubbish"}}]}\n\n')
        await asyncio.sleep(0.01)


async def _huge(
    server: LocalLanguageModel, request: web.Request, prompt: Prompt
) -> web.StreamResponse:
    return web.json_response(completion(prompt, "x" * HUGE_BYTES))


HANDLERS: dict[str, Handler] = {
    "answer": _answer,
    "stall": _stall,
    "drip": _drip,
    "fail": _fail,
    "close": _close,
    "not-json": _not_json,
    "wrong-shape": _wrong_shape,
    "stream": _stream,
    "huge": _huge,
}


@asynccontextmanager
async def local_language_model(
    behaviour: Behaviour | None = None,
    *,
    answers: Callable[[Prompt], str] | None = None,
    api_key: str | None = None,
    port: int = 0,
) -> AsyncIterator[LocalLanguageModel]:
    """Serve on loopback; ``answers`` is a script, ``api_key`` the only key that is let in."""
    server = LocalLanguageModel(behaviour or Behaviour(), answers, api_key)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/chat/completions", server.complete)
    app.router.add_post("/behaviour", server.change)
    app.router.add_get("/calls", server.report)
    # A caller that leaves ends its handler, so stalled calls cost nothing once they are given up.
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()
        host, actual_port = runner.addresses[0][:2]
        server.url = f"http://{host}:{actual_port}"
        yield server
    finally:
        await runner.cleanup()


async def _serve(port: int, behaviour: Behaviour) -> None:
    async with local_language_model(behaviour, port=port) as server:
        print(f"{server.url}/v1 {json.dumps(asdict(server.behaviour))}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--behaviour", type=json.loads, default={}, help="as for POST /behaviour")
    arguments = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(arguments.port, Behaviour(**arguments.behaviour)))


if __name__ == "__main__":
    main()

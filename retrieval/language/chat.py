"""Completions from any OpenAI-compatible `POST …/chat/completions`."""

import asyncio
from typing import Annotated, Any

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retrieval.language.protocol import (
    Check,
    Completion,
    LanguageModelError,
    LanguageModelFailedError,
    LanguageModelNonsenseError,
    LanguageModelTimeoutError,
)

_PATH = "/chat/completions"
# Model servers run some tens of prompts at a time; what is beyond waits here, within its timeout.
_CONNECTIONS = 64
# uvicorn, under most model servers, closes idle connections after 5 s: be the first to.
_KEPT_IDLE_S = 4.0
# Thousands of times a sub-query's answer, and room for the thoughts some models send along.
_LARGEST_BODY = 1024 * 1024
# Enough of an error body to recognise the cause, little enough for one log line.
_LARGEST_ERROR = 4096
_EXCERPT = 200


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class _Message(_Part):
    content: Annotated[str, Field(pattern=r"\S")]


class _Choice(_Part):
    message: _Message


class _Usage(_Part):
    # More than a 32-bit number is a mistake that would break every sum it got into.
    total_tokens: Annotated[int, Field(ge=0, lt=2**31)] = 0


class _Answer(_Part):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None


class ChatCompletions:
    """Asks a chat endpoint once per call, and checks what it answers."""

    def __init__(
        self, base_url: str, *, api_key: str | None = None, connections: int = _CONNECTIONS
    ) -> None:
        self._url = _endpoint(base_url)
        self._api_key = api_key
        # httpx's own limit loses a connection when one that waits for it is cancelled just as its
        # turn comes (httpcore#1093): whoever gets past this one need not wait there.
        self._turns = asyncio.Semaphore(connections)
        # What is not compressed cannot grow beyond what was counted.
        headers = {"accept": "application/json", "accept-encoding": "identity"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        # The only clock is that of the whole call: httpx would start again with every byte.
        # Proxies and certificates are settings like any other: never read from the environment.
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=None,  # noqa: S113 - see above
            limits=httpx.Limits(
                max_connections=None,
                max_keepalive_connections=connections,
                keepalive_expiry=_KEPT_IDLE_S,
            ),
            trust_env=False,
        )

    async def complete(
        self,
        model: str,
        system: str,
        user: str,
        *,
        timeout_s: float,
        max_tokens: int,
        check: Check | None = None,
    ) -> Completion:
        """Return the endpoint's answer; one that is not whole after ``timeout_s`` is none."""
        body = {
            "model": model,
            "messages": [
                {"role": "system", "content": _well_formed(system)},
                {"role": "user", "content": _well_formed(user)},
            ],
            "temperature": 0,
            "max_tokens": max_tokens,
            "stream": False,
        }
        try:
            async with asyncio.timeout(timeout_s), self._turns:
                content = await self._post(body)
        except TimeoutError:
            raise LanguageModelTimeoutError(
                f"{self._shown()} did not answer within {timeout_s:g} s."
            ) from None
        except httpx.RequestError as error:
            reason = f"cannot be reached: {type(error).__name__} {error}".rstrip()
            raise LanguageModelFailedError(f"{self._shown()} {reason}.") from error
        completion = self._read(content)
        if check is not None:
            try:
                check(completion.text)
            except LanguageModelNonsenseError as error:
                error.tokens = completion.tokens
                raise
        return completion

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _post(self, body: dict[str, Any]) -> bytes:
        async with self._client.stream("POST", self._url, json=body) as response:
            if not response.is_success:
                content = await _at_most(response, _LARGEST_ERROR)
                raise LanguageModelFailedError(
                    f"{self._shown()} answered {response.status_code}: {self._excerpt(content)}"
                )
            # It may never end, and is not what was asked for.
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                raise LanguageModelNonsenseError(f"{self._shown()} answered with a stream.")
            content = await _at_most(response, _LARGEST_BODY)
        if len(content) > _LARGEST_BODY:
            raise LanguageModelNonsenseError(
                f"{self._shown()} answered more than {_LARGEST_BODY} bytes."
            )
        return content

    def _read(self, content: bytes) -> Completion:
        try:
            answer = _Answer.model_validate_json(content)
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(map(str, problem["loc"])) or "the body"
            raise LanguageModelNonsenseError(
                f"{self._shown()} did not answer with a completion: {where}: {problem['msg']}."
            ) from None
        tokens = answer.usage.total_tokens if answer.usage else 0
        return Completion(answer.choices[0].message.content, tokens)

    def _excerpt(self, content: bytes) -> str:
        text = content.decode("utf-8", errors="replace")
        # Some servers repeat the key they refuse.
        hidden = text.replace(self._api_key, "…") if self._api_key else text
        return " ".join(hidden.split())[:_EXCERPT]

    def _shown(self) -> str:
        # Without the parts of an address that can hold a secret.
        return str(self._url.copy_with(userinfo=b"", query=None, fragment=None))


def chat_completions(base_url: str, *, api_key: str | None) -> ChatCompletions:
    """Make the model of an endpoint, or say why its address or key cannot be used."""
    try:
        return ChatCompletions(base_url, api_key=api_key)
    except (httpx.InvalidURL, UnicodeEncodeError) as error:
        raise LanguageModelError(
            f"The address or the key of the language model cannot be used: {error}."
        ) from error


def _endpoint(base_url: str) -> httpx.URL:
    """Return the address to post to: a server's alone means its /v1, any other is taken as is."""
    url = httpx.URL(base_url)
    base = url.path.rstrip("/").removesuffix(_PATH)
    return url.copy_with(path=(base or "/v1") + _PATH)


async def _at_most(response: httpx.Response, size: int) -> bytes:
    """Read the body until it is larger than allowed."""
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > size:
            break
    return bytes(content)


def _well_formed(text: str) -> str:
    """Return the text with lone surrogates replaced, which JSON can carry and UTF-8 cannot."""
    return text.encode("utf-8", errors="replace").decode("utf-8")

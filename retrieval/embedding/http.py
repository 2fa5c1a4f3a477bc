"""Embeddings from any OpenAI-compatible `POST …/v1/embeddings`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retrieval.embedding.protocol import EmbedderError, EmbedderUnavailableError, Vectors
from retrieval.embedding.retry import RetryRules, is_passing
from retrieval.embedding.vectors import no_rows, unit_rows, well_formed

# Connecting is quick or fails; a full batch on a busy CPU server takes a few seconds.
_TIMEOUT = httpx.Timeout(20.0, connect=5.0)
# Enough of an error body to recognise the cause, little enough for one log line.
_EXCERPT = 200

Pause = Callable[[float], Awaitable[None]]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    index: int
    embedding: list[Annotated[float, Field(allow_inf_nan=False)]]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    data: list[_Row]
    model: str | None = None


@dataclass(frozen=True)
class _Failure:
    """Why one attempt gave no answer, and whether another may."""

    reason: str
    passing: bool
    retry_after: str | None = None


class HttpEmbedder:
    """Asks an embeddings endpoint, again if it fails in passing, and checks what it answers."""

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        rules: RetryRules | None = None,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._url = httpx.URL(url)
        self._model = model
        self._api_key = api_key
        self._rules = rules or RetryRules()
        self._pause = pause
        self._name = model or self._shown()
        self._dimensions = 0
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        # Proxies and certificates are settings like any other: never read from the environment.
        self._client = httpx.AsyncClient(headers=headers, timeout=_TIMEOUT, trust_env=False)

    @property
    def name(self) -> str:
        """The configured model; failing that the one the server names, or else its address."""
        return self._name

    @property
    def dimensions(self) -> int:
        """The length of each vector, known once opened."""
        return self._dimensions

    async def open(self) -> None:
        """Learn the model's name and dimensions from one request."""
        try:
            answer = await self._ask(["probe"])
            self._dimensions = len(_ordered(answer, 1)[0])
        except BaseException:
            await self.close()
            raise
        self._name = self._model or answer.model or self._name

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of unit length per text."""
        if not texts:
            return no_rows(self._dimensions)
        rows = _ordered(await self._ask(well_formed(texts)), len(texts))
        if {len(row) for row in rows} != {self._dimensions}:
            raise EmbedderError(
                f"{self._shown()} answered vectors of another length than {self._dimensions}."
            )
        return unit_rows(rows)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _ask(self, texts: list[str]) -> _Answer:
        body: dict[str, object] = {"input": texts}
        if self._model:
            body["model"] = self._model
        response = await self._patiently(body)
        try:
            return _Answer.model_validate_json(response.content)
        except ValidationError as error:
            raise EmbedderError(f"{self._shown()} did not answer with embeddings.") from error

    async def _patiently(self, body: dict[str, object]) -> httpx.Response:
        attempt = 1
        while isinstance(result := await self._post(body), _Failure):
            delay = self._rules.delay(attempt, result.retry_after) if result.passing else None
            if delay is None:
                kind = EmbedderUnavailableError if result.passing else EmbedderError
                raise kind(f"{self._shown()} {result.reason} (attempt {attempt}).")
            await self._pause(delay)
            attempt += 1
        return result

    async def _post(self, body: dict[str, object]) -> "httpx.Response | _Failure":
        try:
            response = await self._client.post(self._url, json=body)
        except httpx.RequestError as error:
            reason = f"cannot be reached: {type(error).__name__} {error}".rstrip()
            return _Failure(reason, passing=True)
        if response.is_success:
            return response
        reason = f"answered {response.status_code}: {self._excerpt(response)}"
        retry_after = response.headers.get("retry-after")
        return _Failure(reason, is_passing(response.status_code), retry_after)

    def _excerpt(self, response: httpx.Response) -> str:
        # Some servers repeat the key they refuse.
        text = response.text.replace(self._api_key, "…") if self._api_key else response.text
        return " ".join(text.split())[:_EXCERPT]

    def _shown(self) -> str:
        # Without the parts of an address that can hold a secret.
        return str(self._url.copy_with(userinfo=b"", query=None, fragment=None))


def http_embedder(url: str, *, model: str | None, api_key: str | None) -> HttpEmbedder:
    """Make the embedder of an endpoint, or say why its address or key cannot be used."""
    try:
        return HttpEmbedder(url, model=model, api_key=api_key)
    except (httpx.InvalidURL, UnicodeEncodeError) as error:
        raise EmbedderError(
            f"The address or the key of the embeddings endpoint cannot be used: {error}."
        ) from error


def _ordered(answer: _Answer, count: int) -> list[list[float]]:
    rows = sorted(answer.data, key=lambda row: row.index)
    if [row.index for row in rows] != list(range(count)) or not all(row.embedding for row in rows):
        raise EmbedderError(f"The embeddings endpoint did not answer one row for each of {count}.")
    return [row.embedding for row in rows]

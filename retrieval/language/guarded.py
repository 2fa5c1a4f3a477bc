"""A language model behind a breaker, with its calls counted and timed."""

from retrieval.language.breaker import CircuitBreaker
from retrieval.language.protocol import Check, Completion, LanguageModel, LanguageModelError
from retrieval.metrics import LANGUAGE_MODEL_CALLS, LANGUAGE_MODEL_SECONDS


class GuardedModel:
    """Asks another language model as long as that answers; a call it refuses costs nothing."""

    def __init__(self, inner: LanguageModel, breaker: CircuitBreaker) -> None:
        self._inner = inner
        self._breaker = breaker

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
        """Return the answer of the model inside, or raise its error, or LanguageModelOpenError."""
        try:
            with self._breaker.call(), LANGUAGE_MODEL_SECONDS.time():
                completion = await self._inner.complete(
                    model, system, user, timeout_s=timeout_s, max_tokens=max_tokens, check=check
                )
        except Exception as error:
            outcome = error.outcome if isinstance(error, LanguageModelError) else "failed"
            LANGUAGE_MODEL_CALLS.labels(outcome).inc()
            raise
        LANGUAGE_MODEL_CALLS.labels("ok").inc()
        return completion

    async def close(self) -> None:
        """Close the model inside."""
        await self._inner.close()

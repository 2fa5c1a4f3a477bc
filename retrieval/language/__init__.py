"""Language models: a prompt in, a text out, within a given time or not at all."""

from retrieval.language.breaker import CircuitBreaker
from retrieval.language.cache import AnswerCache
from retrieval.language.guarded import GuardedModel
from retrieval.language.protocol import (
    Completion,
    LanguageModel,
    LanguageModelError,
    LanguageModelFailedError,
    LanguageModelNonsenseError,
    LanguageModelOpenError,
    LanguageModelTimeoutError,
)
from retrieval.language.replies import ask, read_reply

__all__ = [
    "AnswerCache",
    "CircuitBreaker",
    "Completion",
    "GuardedModel",
    "LanguageModel",
    "LanguageModelError",
    "LanguageModelFailedError",
    "LanguageModelNonsenseError",
    "LanguageModelOpenError",
    "LanguageModelTimeoutError",
    "ask",
    "read_reply",
]

"""Language models: a prompt in, a text out, within a given time or not at all."""

from retrieval.language.protocol import (
    Completion,
    LanguageModel,
    LanguageModelError,
    LanguageModelFailedError,
    LanguageModelNonsenseError,
    LanguageModelOpenError,
    LanguageModelTimeoutError,
)

__all__ = [
    "Completion",
    "LanguageModel",
    "LanguageModelError",
    "LanguageModelFailedError",
    "LanguageModelNonsenseError",
    "LanguageModelOpenError",
    "LanguageModelTimeoutError",
]

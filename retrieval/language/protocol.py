"""What every language model promises, and the errors it raises."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol


class LanguageModelError(Exception):
    """A language model did not answer; the message is one clear sentence without secrets."""

    outcome: ClassVar[str] = "failed"
    """How the call is counted."""


class LanguageModelTimeoutError(LanguageModelError):
    """The answer was not there, whole, in the time it was given."""

    outcome = "timeout"


class LanguageModelFailedError(LanguageModelError):
    """The endpoint cannot be reached, broke off, or answered with an HTTP error."""


class LanguageModelNonsenseError(LanguageModelError):
    """The endpoint answered, but not with a completion, or not with one that makes sense."""

    outcome = "nonsense"
    tokens: int = 0
    """What the answer cost all the same."""


class LanguageModelOpenError(LanguageModelError):
    """The call was not made, because too many before it failed."""

    outcome = "refused"


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model answered, never empty."""

    text: str
    tokens: int
    """Tokens of the prompt and the answer, as the endpoint counted them; 0 if it did not say."""


Check = Callable[[str], object]
"""Reads an answer, and raises LanguageModelNonsenseError if it makes no sense."""


class LanguageModel(Protocol):
    """Completes prompts."""

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
        """Return the answer to a prompt, or raise a LanguageModelError; never tries twice.

        An answer that does not pass the check is as bad as none, and counted so.

        A call that its caller cancels says nothing about the endpoint and is not counted. So what
        remains of a caller's time belongs into ``timeout_s``, not into a timeout around the call.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...

"""Has a language model answer a part of a question from what was found for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from retrieval.language import LanguageModel, ask
from storage import Hit

TIMEOUT_S: Final = 30.0
MAX_TOKENS: Final = 300
MEMORIES: Final = 10
"""So many memories are packed for a call."""
MEMORY_CHARACTERS: Final = 1200
"""Of each memory, so many characters."""

_ANSWER: Final = (
    "Answer the question from the numbered memories alone. Reply with one JSON object and nothing "
    'else: {"answer": short text or null, "memories": [numbers of those that tell it], "next": '
    "[at most 2 questions that must be looked up next, with names filled in, or empty]}."
)
_CONDENSE: Final = (
    "Choose the numbered memories that together say the most to the request, without saying the "
    'same twice. Reply with one JSON object and nothing else: {"memories": [numbers, the most '
    "telling first]}."
)


_Question = Annotated[str, Field(min_length=1, max_length=2000)]


class _Reply(BaseModel):
    """What a model says; whatever else it says is not listened to."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    answer: Annotated[str, Field(max_length=4000)] | None = None
    memories: Annotated[list[int], Field(max_length=200)] = []
    next: Annotated[list[_Question], Field(max_length=20)] = []


@dataclass(frozen=True, slots=True)
class SubAnswer:
    """What a call gave."""

    text: str | None
    memory_ids: tuple[str, ...]
    """The memories that tell it, of those that were packed."""
    next: tuple[str, ...]
    tokens: int


class SubCalls:
    """Calls the model for sub-queries; raises what the model raises, or for nonsense."""

    def __init__(self, model: LanguageModel, name: str, timeout_s: float = TIMEOUT_S) -> None:
        self._model = model
        self._name = name
        self._timeout_s = timeout_s

    async def answer(self, question: str, hits: Sequence[Hit], left_s: float) -> SubAnswer:
        """Return the model's answer to a sub-query, and what to ask next."""
        return await self._call(_ANSWER, question, hits, left_s)

    async def condense(self, request: str, hits: Sequence[Hit], left_s: float) -> SubAnswer:
        """Return the few memories that say the most."""
        return await self._call(_CONDENSE, request, hits, left_s)

    async def _call(
        self, system: str, question: str, hits: Sequence[Hit], left_s: float
    ) -> SubAnswer:
        packed = hits[:MEMORIES]
        memories = "\n".join(
            f"[{number}] {hit.content[:MEMORY_CHARACTERS]}"
            for number, hit in enumerate(packed, start=1)
        )
        reply, tokens = await ask(
            self._model,
            self._name,
            system,
            f"{memories}\n\nQuestion: {question}",
            _Reply,
            timeout_s=min(self._timeout_s, left_s),
            max_tokens=MAX_TOKENS,
        )
        named = [packed[number - 1] for number in reply.memories if 0 < number <= len(packed)]
        return SubAnswer(
            text=reply.answer,
            memory_ids=tuple(dict.fromkeys(hit.memory_id for hit in named)),
            next=tuple(dict.fromkeys(reply.next))[:2],
            tokens=tokens,
        )

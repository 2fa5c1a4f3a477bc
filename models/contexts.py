"""A context to assemble from memories, and the one assembled."""

from datetime import datetime
from typing import Annotated, Final, Self

from pydantic import Field

from models.answers import Answer
from models.errors import ErrorInfo
from models.identifiers import Identifier
from models.quantities import Count
from models.records import Record
from models.searches import Layers
from models.texts import Query

# The widest context windows offered today; more is a mistake rather than a wish.
MAX_TOKEN_BUDGET: Final = 1_000_000


class ContextRequest(Record):
    """A wish for the memories that help with a query, packed into a token budget."""

    request_id: Identifier
    """Tells this request from every other; its answer carries it."""
    tenant_id: Identifier
    """The tenant whose memories are searched."""
    session_id: Identifier
    """The session that asks."""
    query: Query
    """What the context is for."""
    token_budget: Annotated[int, Field(ge=1, le=MAX_TOKEN_BUDGET)] = 2000
    """The context never has more tokens than this."""
    layers: Layers | None = None
    """Only these layers."""
    scope: Identifier | None = None
    """Only this scope, and what is global; all scopes of the tenant if left out."""


class ContextAssembled(Answer):
    """The answer to a context request: the same keys whatever happened on the way."""

    context: str
    """The packed text."""
    memory_ids: Annotated[tuple[Identifier, ...], Field(strict=False)]
    """The memories in it, in order."""
    tokens: Count
    """How many tokens the text has."""

    @classmethod
    def failure(
        cls,
        *,
        request_id: str,
        tenant_id: str,
        session_id: str,
        error: ErrorInfo,
        completed_at: datetime,
    ) -> Self:
        """Build the answer to a request that could not be served."""
        return cls(
            request_id=request_id,
            tenant_id=tenant_id,
            session_id=session_id,
            status="error",
            context="",
            memory_ids=(),
            tokens=0,
            degraded=False,
            error=error,
            completed_at=completed_at,
        )

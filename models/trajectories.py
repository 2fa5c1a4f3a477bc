"""How a search was carried out and what came of it: what learning learns from."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from models.identifiers import Identifier
from models.quantities import Count, Milliseconds, Moment, Propensity, UnitInterval
from models.records import Record
from models.texts import OptionalQuery, Query

Route = Literal["standard", "rlm"]
OutcomeType = Literal["result_used", "query_refined", "result_ignored", "no_signal"]


class ComplexitySignals(Record):
    """How complex a query reads: the capped score of each family of signs."""

    multi_layer: Annotated[float, Field(ge=0, le=0.30)]
    """Words for layers, and several entities of one layer."""
    aggregation: Annotated[float, Field(ge=0, le=0.25)]
    """Words such as "across", "all", "summarize", "trend"."""
    comparison: Annotated[float, Field(ge=0, le=0.25)]
    """Words such as "compare", "versus", "difference between"."""
    structure: Annotated[float, Field(ge=0, le=0.20)]
    """Length, several hops, and time."""


class Action(Record):
    """One step of a search."""

    kind: Identifier
    """What was done: Route, Reason, or one of the actions of a decomposition."""
    params: dict[str, JsonValue]
    """What it was done with."""
    depth: Count
    """How deep in the decomposition."""
    started_at: Moment
    """When it began."""
    duration_ms: Milliseconds
    """How long it took."""
    tokens: Count
    """Tokens of language models it cost."""
    result_count: Count
    """How many memories it gave."""
    propensity: Propensity
    """The probability with which the policy chose it."""


class Shown(Record):
    """One memory of the result, as learning needs it."""

    memory_id: Identifier
    """The memory."""
    rank: Annotated[int, Field(ge=1)]
    """Its place in the result, from 1."""
    propensity: Propensity
    """The probability with which the policy placed it there."""
    features: dict[Identifier, float]
    """What the ranker knew of it."""


class Outcome(Record):
    """What came of a search."""

    type: OutcomeType
    """What happened to the result."""
    quality_score: UnitInterval | None = None
    """How much it helped, if it was used."""
    new_query: Query | None = None
    """The query as reworded, if it was."""


class Course(Record):
    """How a search was carried out."""

    trajectory_id: Identifier
    """Tells this trajectory from every other."""
    request_id: Identifier
    """The search."""
    tenant_id: Identifier
    """The tenant of the search."""
    session_id: Identifier
    """The session of the search."""
    query: OptionalQuery
    """What was looked for; empty for a get."""
    complexity_score: UnitInterval
    """How complex the query reads."""
    signals: ComplexitySignals
    """Where that score comes from."""
    route: Route
    """Standard search, or decomposition."""
    actions: Annotated[tuple[Action, ...], Field(strict=False)]
    """What was done, in order."""
    shown: Annotated[tuple[Shown, ...], Field(strict=False)]
    """What was returned, best first."""
    tokens_used: Count
    """Tokens of language models it cost."""
    max_depth: Count
    """How deep the decomposition went."""
    result_count: Count
    """How many memories were returned."""
    fallback: Identifier | None = None
    """Why decomposition gave way to standard search, if it did."""
    policy_version: Count
    """The policy that served it."""
    started_at: Moment
    """When the search began."""
    completed_at: Moment
    """When its result was ready."""


class Decision(Course):
    """A search as it was decided, for those who join it with what came of it."""

    succeeded: bool
    """Whether the search was served, if only by what was found before something failed."""
    seed: Count
    """What every choice left to chance was drawn from."""
    asked_at: Moment | None = None
    """When it was asked for, which may be long before it began; None: when it began."""

    @property
    def moment(self) -> datetime:
        """When it was asked for: its place among what happened in its session."""
        return min(self.asked_at or self.started_at, self.started_at)


class Trajectory(Course):
    """A labelled search; the stream of these alone can rebuild every policy."""

    revision: Count
    """Which labelling this is: a late signal labels anew, one higher."""
    outcome: Outcome
    """What came of it."""
    used: Annotated[tuple[Identifier, ...], Field(strict=False)] = ()
    """The memories of which it is known that they were used, in the order of their ids."""
    reward: Annotated[float, Field(ge=-1, le=1)]
    """How well it went."""
    trainable: bool
    """Whether learning may learn from it."""
    labelled_at: Moment
    """When its outcome was decided."""

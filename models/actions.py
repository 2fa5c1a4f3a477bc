"""What a decomposition can do next: six kinds of action."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from models.identifiers import Identifier
from models.memories import Layer
from models.quantities import UnitInterval
from models.records import Record
from models.texts import Query

Aggregation = Literal["combine", "compare", "summarize"]

Entities = dict[Identifier, tuple[Identifier, ...]]
"""For a layer, the entities that count."""


class SearchLayer(Record):
    """Search one layer, or all of them."""

    kind: Literal["SearchLayer"] = "SearchLayer"
    layer: Layer | None = None
    """The layer; every layer the request allows if left out."""
    query: Query
    """What to look for by meaning, and by words if no others are named."""
    words: str | None = None
    """What to look for by words."""
    within: Entities | None = None
    """Only memories of these entities: where a drill-down led."""
    follows: Identifier | None = None
    """The memory that led to this search, if one did."""


class DrillDown(Record):
    """From entities of one layer to those below them that fit a filter."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    kind: Literal["DrillDown"] = "DrillDown"
    from_layer: Annotated[Layer, Field(alias="from")]
    """The layer of the parents."""
    to_layer: Annotated[Layer, Field(alias="to")]
    """The layer of the children."""
    filter: str
    """Parents named in here count, all of them if it names none."""


class FilterByRelevance(Record):
    """Leave out what was found with a lower score."""

    kind: Literal["FilterByRelevance"] = "FilterByRelevance"
    min_score: UnitInterval
    """The least score kept."""


class FilterByRecency(Record):
    """Leave out what is older."""

    kind: Literal["FilterByRecency"] = "FilterByRecency"
    max_age: timedelta
    """The greatest age kept."""


class RecursiveCall(Record):
    """Have the sub-model answer a part of the question from what is found for it."""

    kind: Literal["RecursiveCall"] = "RecursiveCall"
    sub_query: Query
    """The part of the question."""


class Aggregate(Record):
    """Make one result set of everything found."""

    kind: Literal["Aggregate"] = "Aggregate"
    strategy: Aggregation
    """Merge, set side by side, or condense."""


DecompositionAction = Annotated[
    SearchLayer | DrillDown | FilterByRelevance | FilterByRecency | RecursiveCall | Aggregate,
    Field(discriminator="kind"),
]

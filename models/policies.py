"""What was learned for a tenant."""

from models.identifiers import Identifier
from models.quantities import Count, Moment, UnitInterval
from models.records import Record


class ServingPolicy(Record):
    """The policy that serves a tenant's searches."""

    tenant_id: Identifier
    """The tenant it serves."""
    version: Count
    """Which policy this is; each promotion or rollback is one higher."""
    weights: dict[Identifier, float]
    """What was learned, by name."""
    exploration_rate: UnitInterval
    """How often it tries something else to learn from it."""
    updated_at: Moment
    """When it began to serve."""

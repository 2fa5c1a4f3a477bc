"""How often memories were returned and used: being returned says little, being used says much."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from models import ContextUsage


@dataclass(frozen=True, slots=True)
class Use:
    """A usage event as it arrived."""

    usage: ContextUsage
    received_at: datetime

    @property
    def at(self) -> datetime:
        """When the memories were used: as the event says, or when it was received."""
        return self.usage.occurred_at or self.received_at


class Counts(NamedTuple):
    """How often, and when last, a memory was returned and used."""

    reference_count: int = 0
    last_referenced_at: datetime | None = None
    use_count: int = 0
    last_used_at: datetime | None = None


def tally(uses: Iterable[Use]) -> dict[str, tuple[int, datetime]]:
    """Return in how many events, and when last, each memory was used, in the order of their ids."""
    used: dict[str, list[datetime]] = {}
    for use in uses:
        for memory_id in set(use.usage.memory_ids):
            used.setdefault(memory_id, []).append(use.at)
    return {memory_id: (len(used[memory_id]), max(used[memory_id])) for memory_id in sorted(used)}

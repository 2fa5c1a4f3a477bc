"""What a run is to show, and whether it does."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

BARE_SQL = 1.3
BARE_PRODUCT = 1.5
INGEST = 0.8
VECTOR_RECALL = 0.98


@dataclass(frozen=True)
class Goal:
    """One number held against its goal."""

    name: str
    value: float
    goal: float
    at_most: bool
    spread: tuple[float, float] | None = None
    """The lowest and highest of the ratios of which the value is the median."""
    doubt: str = ""
    """Why the number says less than it seems to."""
    flattering: bool = True
    """Whether what is in doubt makes the number better: that takes a pass away, not a failure."""

    @classmethod
    def of_ratios(
        cls, name: str, ratios: Sequence[float], goal: float, *, at_most: bool, **more: Any
    ) -> "Goal":
        """Hold the median of several measurements against a goal."""
        spread = min(ratios), max(ratios)
        return cls(name, statistics.median(ratios), goal, at_most, spread, **more)

    @property
    def passed(self) -> bool | None:
        """Whether the number is on the right side of the goal, None if that says nothing."""
        held = self.value <= self.goal if self.at_most else self.value >= self.goal
        return None if self.doubt and (held or not self.flattering) else held

    def summary(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "name": self.name,
            "value": round(self.value, 3),
            "spread": [round(end, 3) for end in self.spread] if self.spread else None,
            "goal": f"{'≤' if self.at_most else '≥'} {self.goal}",
            "passed": self.passed,
            "doubt": self.doubt,
        }

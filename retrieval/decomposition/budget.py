"""What one decomposition may spend."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

RESERVE_S: Final = 0.05
"""Kept back of the time, to make a result of what was found."""


class BudgetError(Exception):
    """Nothing is left to spend; the message names what of."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one decomposition may spend besides time."""

    depth: int = 3
    queries: int = 50
    tokens: int = 100_000


@dataclass
class Budget:
    """What is left of the limits and of the time."""

    deadline: float
    monotonic: Callable[[], float]
    limits: Limits = field(default_factory=Limits)
    queries: int = 0
    tokens: int = 0

    @property
    def left_s(self) -> float:
        """Seconds until a result must be made, never negative."""
        return max(self.deadline - RESERVE_S - self.monotonic(), 0.0)

    def affordable(self, queries: int) -> int:
        """Return how many of so many queries can still be made."""
        return max(min(queries, self.limits.queries - self.queries), 0)

    def check_call(self, depth: int) -> None:
        """Raise unless a language model may be asked at this depth."""
        if depth >= self.limits.depth:
            raise BudgetError("depth")
        if self.tokens >= self.limits.tokens:
            raise BudgetError("tokens")
        if self.left_s <= 0:
            raise BudgetError("time")

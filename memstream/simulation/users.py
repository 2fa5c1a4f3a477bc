"""What a simulated user makes of a result.

The user is the only one who sees which memories answer a question. Everything left to chance is
drawn by seed and round alone, so that two ways of searching meet the same user in the same mood.
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from models import ContextUsage, QueryRefinement, SessionAbandonment, Signal

Mood = Literal["honest", "noise", "inverted", "poisoned"]
"""Honest users use what helps; noise has nothing to do with what was shown; inverted users go away
from what helps and claim to use what does not; poisoned ones are honest for the first half."""

LOOKS_AT: Final = 100


@dataclass(frozen=True, slots=True)
class Users:
    """How users behave; each number is a probability but for the first two."""

    position_bias: float = 0.5
    """The result at a rank is looked at with probability rank^(−this)."""
    patience: int = 10
    """Nobody looks further down than this."""
    use: float = 0.9
    """Something that helps is used once it was looked at."""
    mistake: float = 0.02
    """Something that does not help is used all the same."""
    refine: float = 0.5
    """Who found nothing to use puts the question in other words,"""
    abandon: float = 0.35
    """or goes away; else nothing more is heard."""
    mood: Mood = "honest"

    def in_round(self, number: int, rounds: int) -> "Users":
        """Return how they behave in one of so many rounds."""
        if self.mood != "poisoned":
            return self
        return replace(self, mood="honest" if number < rounds / 2 else "inverted")


@dataclass(frozen=True, slots=True)
class Reaction:
    """What a user did."""

    used: tuple[str, ...] = ()
    quality: float = 0.0
    reworded: str | None = None
    abandoned: bool = False

    def signals(self, tenant_id: str, session_id: str, request_id: str) -> Sequence[Signal]:
        """Return the events that tell of it."""
        named: dict[str, Any] = {
            "event_id": f"{request_id}/signal",
            "tenant_id": tenant_id,
            "session_id": session_id,
            "request_id": request_id,
        }
        if self.used:
            return [ContextUsage(**named, memory_ids=self.used, quality_score=self.quality)]
        if self.reworded is not None:
            return [QueryRefinement(**named, new_query=self.reworded)]
        return [SessionAbandonment(**named)] if self.abandoned else []


@dataclass(frozen=True)
class Mind:
    """A user in the mood of one round."""

    users: Users
    chance: random.Random
    looks: Sequence[float] = field(init=False)
    uses: Sequence[float] = field(init=False)
    errs: Sequence[float] = field(init=False)
    last: float = field(init=False)

    def __post_init__(self) -> None:
        for name in ("looks", "uses", "errs"):
            draws = [self.chance.random() for _ in range(LOOKS_AT)]
            object.__setattr__(self, name, draws)
        object.__setattr__(self, "last", self.chance.random())

    def react(self, query: str, shown: Sequence[str], gold: Collection[str]) -> Reaction:
        """Return what the user does with a result, as far as it is told."""
        return self._reaction(self.users, query, shown, gold)

    def meant(self, query: str, shown: Sequence[str], gold: Collection[str]) -> Reaction:
        """Return what an honest user of the same mind would do: what the result is worth.

        Only by that one sees whether noise and lies do any harm.
        """
        return self._reaction(replace(self.users, mood="honest"), query, shown, gold)

    def _reaction(
        self, users: Users, query: str, shown: Sequence[str], gold: Collection[str]
    ) -> Reaction:
        helps = sorted(gold)
        used = []
        for place, memory_id in enumerate(shown[: users.patience]):
            if self.looks[place] >= (place + 1) ** -users.position_bias:
                continue
            if users.mood == "noise":
                wants = self.errs[place] < users.use / 4
            elif memory_id in gold:
                # What a user makes of one memory does not depend on where it stands.
                wants = self.uses[helps.index(memory_id)] < users.use
            else:
                wants = self.errs[place] < users.mistake
            if wants:
                used.append(memory_id)
        if users.mood == "inverted":
            used = [] if used else list(shown[:1])
            return Reaction(tuple(used), 1.0) if used else Reaction(abandoned=True)
        if used:
            return Reaction(tuple(used), self._quality(users, used, gold))
        if self.last < users.refine:
            return Reaction(reworded=_reworded(query))
        return Reaction(abandoned=self.last < users.refine + users.abandon)

    def _quality(self, users: Users, used: Sequence[str], gold: Collection[str]) -> float:
        if users.mood == "noise":
            return round(self.uses[0], 2)
        return round(len(set(used) & set(gold)) / len(gold), 2)


def mind(users: Users, seed: int, number: int) -> Mind:
    """Return the user of a round."""
    return Mind(users, random.Random(f"{seed}/user/{number}"))  # noqa: S311 -- no secret


def _reworded(query: str) -> str:
    """Return the query in other words: without its first one, or with one more."""
    rest = query.split(maxsplit=1)[1:]
    return rest[0] if rest else f"{query} again"

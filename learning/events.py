"""What happened to a policy, for those who ask who changed it and why."""

from typing import Literal

from models import Record
from models.identifiers import Identifier
from models.quantities import Count

EventKind = Literal["promoted", "rolled back", "held", "suspended", "resumed", "bootstrapped"]

GATE = "gate"
"""The actor when nobody asked for it."""

WHOLE = "policy"
"""The part when it is all of them."""


class PolicyEvent(Record):
    """One change of a policy, or one that was not made."""

    kind: EventKind
    """What happened."""
    part: Identifier
    """To which part: a point of choices, the ranker, or all of the policy."""
    version: Count
    """The version that serves after it."""
    estimate: float | None = None
    """What was judged: the challenger's reward less the champion's, or the reward of late."""
    lower: float | None = None
    """Its lower bound."""
    upper: float | None = None
    """Its upper bound."""
    lessons: Count = 0
    """From how many lessons that is known."""
    reason: str
    """Why."""
    actor: Identifier = GATE
    """Who did it."""

"""Every number of learning, with its reason; docs/learning.md says more."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class LearningConfig:
    """How fast, how far and how carefully a tenant's policy is learned."""

    discount: float = 1.0
    """What a reward counts for a choice, against the one after it: all made the result."""
    baseline_rate: float = 0.02
    """How much of the baseline the newest reward is: it follows the last fifty or so."""
    importance_limit: float = 5.0
    """A choice counts at most this often: rarely tried options are heard, but not alone."""
    ridge: float = 20.0
    """Lessons' worth of evidence that nothing matters: with fewer, weights stay small."""
    temperature: float = 0.02
    """Expected reward that one logit is worth: 0.1 more makes an option 148 times as likely."""
    temperature_horizon: int = 500
    """Lessons after which the temperature begins to fall like one over their root."""
    weight_limit: float = 20.0
    """No weight of a choice moves a logit further by its feature at its usual size."""
    exploration: float = 0.2
    """How often a choice tries something else right after the first step."""
    exploration_horizon: int = 500
    """Lessons after which exploration begins to fall like one over their root."""
    exploration_floor: float = 0.02
    """It never falls lower, or nothing would be noticed that changes later."""
    forgetting: float = 1.0
    """What old lessons count after a step, against before it; 1 forgets nothing."""

    ranker_spread: float = 1.0
    """How far a weight of the ranker is thought to be from its prior before any lesson."""
    unknown_spread: float = 3.0
    """The same where the prior is 0 and knows nothing, so that a weight may be anywhere: what users
    of a tenant ask again, to which no prior can be fitted, and nearly all if one starts from equal
    weights."""
    ranker_spreads: Mapping[str, float] = field(default_factory=lambda: {"value": 1.0})
    """The same for features by name, where it is another: what is used often is not used much more
    often for that."""
    ranker_limit: float = 8.0
    """No weight of the ranker goes further from its prior: the largest prior there is."""
    newton_steps: int = 12
    """Newton's steps for a batch at most: two or three are enough when the start is near."""
    position_limit: float = 5.0
    """What was used far down counts at most this often for not having been looked at by others."""
    position_evidence: float = 20.0
    """Uses on swapped neighbours that weigh as much as the prior curve of positions."""
    position_floor: float = 0.05
    """Every shown memory is looked at with at least this probability."""

    place_lists: float = 5.0
    """Lists that the usual rate of use at a place is worth before any is known,"""
    place_rate: float = 0.1
    """which is this: about one of ten shown."""

    gate_lessons: int = 100
    """Fewer lessons promote nothing."""
    gate_z: float = 2.0
    """Standard errors below their mean at which a challenger's choices must be better, looked at
    after every step."""
    route_z: float = 1.0
    """The same for routes, which must hardly be worse."""
    blind_z: float = 3.0
    """The same for both while signals were not seen to tell memories apart: noise alone passes two
    standard errors for one tenant in ten."""
    ranker_z: float = 2.5
    """The same for its ranker, of which every list that was used tells something."""
    gate_margin: float = 0.03
    """Reward by which a challenger's routes that seem better may be worse after all. Without it
    what pays waits for thousands of lessons, which costs more than it saves."""
    sense_z: float = 3.0
    """Standard errors by which what is used must be what seems better, at the same place: before
    that is seen, signals may be nothing but noise, and choices must surely be better."""
    sense_lists: int = 200
    """After so many lists it would have been seen: if not, exploring is lost labour."""
    renewal_z: float = 1.0
    """Standard errors once the champion has learned too: the challenger is it with more lessons."""
    gate_bound: Literal["normal", "bernstein"] = "normal"
    """How bounds are made: Bernstein's hold for any bounded reward, but need many more lessons."""
    gate_limit: float = 20.0
    """Importance weights of the gate end here; what is beyond counts as an average lesson."""
    live_lessons: int = 60
    """Fewer lessons of a version roll nothing back."""
    live_z: float = 2.5
    """Standard errors of both bounds that must not overlap for a rollback."""
    recent_steps: int = 5
    """Steps whose rewards are compared with all before them, to notice a sudden drop."""
    drop_z: float = 4.0
    """The same for a sudden drop: it is looked for after every step, in the same rewards."""
    suspension: int = 500
    """Lessons for which a tenant that was rolled back is not promoted, nor heard by others."""

    tenant_cap: float = 200.0
    """Lessons that one tenant counts for at most in the global prior: none may outvote the rest."""
    list_uses: float = 2.0
    """Uses, as often as their places count, that a list is worth at most there on average: one at
    the fourth place. Evidence grows with uses: who uses 50 of 100 would outvote everybody."""
    pool_z: float = 2.5
    """Standard errors by which all tenants' rankers together must be better to count for others."""
    pool_cap: float = 500.0
    """Lessons that all other tenants together count for at most in a tenant's policy."""

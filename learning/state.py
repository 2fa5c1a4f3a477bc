"""What is known for a tenant: a fold over its trajectories, and nothing else."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from pydantic_core import from_json

from learning.config import LearningConfig
from learning.evidence import RANKER, Evidence
from learning.lost import Lost
from learning.origin import Former, Origin
from learning.positions import Positions
from learning.prior import WITHIN, Contribution
from learning.running import Running


@dataclass(frozen=True, slots=True)
class Learned:
    """The learner, the champion that serves, and what is needed to judge between them."""

    learner: Evidence
    """All lessons."""
    champion: Evidence
    """The lessons behind the policy that serves."""
    origin: Origin = field(default_factory=Origin)
    """Where that comes from."""
    previous: Former | None = None
    """The champion before, to roll back to."""
    lost: Lost = field(default_factory=Lost)
    """The steps whose lessons a rollback took out of the learner."""
    version: int = 0
    """The policy that serves; 0 is the prior alone."""
    trained: int = 0
    """Searches that went into it, whatever became of them."""
    taught: int = 0
    """Those of them that taught something."""
    steps: int = 0
    exploration: float = 0.0
    baseline: float = 0.0
    """A moving average of rewards."""
    positions: Positions = field(default_factory=Positions)
    trials: Mapping[str, Running] = field(default_factory=dict)
    """By how much the learner is better, for each part since it was last promoted."""
    live: Running = Running()  # noqa: RUF009 - frozen
    """Rewards of the version that serves."""
    former: Running | None = None
    """Rewards of the version before it."""
    recent: tuple[Running, ...] = ()
    """Rewards of the last steps, one by one."""
    earlier: Running = Running()  # noqa: RUF009
    """Rewards of the steps before those."""
    rolled_back: bool = False
    """Whether the version that serves came by a rollback."""
    suspended_until: int = 0
    """Until so many searches are trained nothing is promoted; 0 when nothing is amiss."""

    @classmethod
    def fresh(cls, prior: Mapping[str, float]) -> Self:
        """Return the state of a tenant of which nothing is known."""
        return cls(Evidence.none(prior), Evidence.none(prior))

    @property
    def suspended(self) -> bool:
        """Whether its signals are not trusted for now."""
        return self.trained < self.suspended_until

    @property
    def serving(self) -> Evidence:
        """What serves it: the champion's lessons, and those of templates if it got any."""
        return self.origin.with_templates(self.champion)

    def contribution(self, config: LearningConfig) -> Contribution:
        """Return what it gives to others: nothing while it is suspended.

        Nor what no gate has let through: an operator answers for one tenant only.
        """
        if self.suspended:
            return Contribution()
        limits = (config.tenant_cap, config.list_uses)
        learner = Evidence(ranker=self.learner.ranker).capped(*limits)
        trials = {part: self.trials[part] for part in (RANKER, WITHIN) if part in self.trials}
        champion = self.champion.without(self.origin.ordered)
        return Contribution(champion.capped(*limits), learner, trials)

    def dumps(self) -> str:
        """Write it as JSON, every digit kept."""
        return json.dumps(
            {
                "learner": self.learner.dump(),
                "champion": self.champion.dump(),
                "origin": self.origin.dump(),
                "previous": self.previous and self.previous.dump(),
                "lost": self.lost.dump(),
                "positions": self.positions.dump(),
                "trials": {part: asdict(self.trials[part]) for part in sorted(self.trials)},
                "live": asdict(self.live),
                "former": self.former and asdict(self.former),
                "recent": [asdict(one) for one in self.recent],
                "earlier": asdict(self.earlier),
                **{name: getattr(self, name) for name in _PLAIN},
            }
        )

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read what ``dumps`` wrote."""
        read: dict[str, Any] = from_json(text)
        return cls(
            learner=Evidence.load(read["learner"]),
            champion=Evidence.load(read["champion"]),
            origin=Origin.load(read["origin"]),
            previous=Former.load(read["previous"]) if read["previous"] else None,
            lost=Lost.load(read["lost"]),
            positions=Positions.load(read["positions"]),
            trials={part: Running(**trial) for part, trial in read["trials"].items()},
            live=Running(**read["live"]),
            former=Running(**read["former"]) if read["former"] else None,
            recent=tuple(Running(**one) for one in read["recent"]),
            earlier=Running(**read["earlier"]),
            **{name: read[name] for name in _PLAIN},
        )


_PLAIN = (
    *("version", "trained", "taught", "steps", "exploration", "baseline"),
    *("rolled_back", "suspended_until"),
)

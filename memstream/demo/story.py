"""What has become of a tenant so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import fmean
from typing import Any, Final

from memstream.demo.tenants import DemoTenant

STRETCH: Final = 60
"""So many searches are the start, and so many are now: enough to tell, few enough to be recent."""
RANK: Final = "rank/"
WINDOW_S: Final = 5
"""The outcome window: a search of which nothing more is heard is labelled so much later."""
SETTLED: Final = timedelta(seconds=WINDOW_S + 3)
"""Later than that all labels of a search's time have come."""


@dataclass
class Story:
    """A tenant's searches, rewards and policy, as they come."""

    tenant: DemoTenant
    right: list[bool] = field(default_factory=list)
    """For each search whether all that answers it came first, before anything else."""
    labels: dict[str, tuple[datetime, float]] = field(default_factory=dict)
    """When each search began, and its reward."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    history: Sequence[Mapping[str, Any]] = ()

    def rewards(self) -> list[float]:
        """Return the rewards in the order of the searches, as far as all are sure to be there.

        Those of which nothing more is heard are labelled last; without them, it would seem that
        the newest did better.
        """
        known = sorted(self.labels.values())
        until = known[-1][0] - SETTLED if known else None
        return [reward for began, reward in known if until and began <= until]

    @property
    def version(self) -> int:
        """The version that serves."""
        return int(self.policy.get("version", 0))

    def reward(self) -> tuple[float, float] | None:
        """Return the mean reward of the start and of now."""
        return start_and_now(self.rewards())

    def share(self) -> tuple[float, float] | None:
        """Return the share of right answers at the start and now."""
        return start_and_now([float(one) for one in self.right])

    def curve(self, points: int) -> list[float]:
        """Return mean rewards of as many equal stretches as there are, or of one search each."""
        values = self.rewards()
        count = min(points, len(values))
        ends = [round(len(values) * (n + 1) / count) for n in range(count)]
        return [fmean(values[a:b]) for a, b in zip([0, *ends], ends, strict=False)]

    def moved(self) -> dict[str, float]:
        """Return by how much each weight of the ranker has left where it began, the most first."""
        weights = self.policy.get("weights", {})
        apart = {
            name.removeprefix(RANK): each["weight"] - each["prior"]
            for name, each in weights.items()
            if name.startswith(RANK)
        }
        return dict(sorted(apart.items(), key=lambda one: -abs(one[1])))

    def promotions(self) -> list[Mapping[str, Any]]:
        """Return what was promoted or taken back, the newest first."""
        return [one for one in self.history if one["kind"] in ("promoted", "rolled back")]

    def report(self) -> dict[str, Any]:
        """Return it in numbers."""
        reward, share = self.reward(), self.share()
        return {
            "tenant": self.tenant.name,
            "searches": len(self.right),
            "labelled": len(self.labels),
            "reward": reward and [round(one, 3) for one in reward],
            "right": share and [round(one, 3) for one in share],
            "version": self.version,
            "promoted": [
                {"part": one["part"], "version": one["version"], "searches": one["trained"]}
                for one in reversed(self.promotions())
            ],
            "moved": {name: round(by, 2) for name, by in list(self.moved().items())[:4]},
            "curve": [round(one, 3) for one in self.curve(24)],
        }


def start_and_now(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the means of the first and of the last; None before there is anything."""
    if not values:
        return None
    return fmean(values[:STRETCH]), fmean(values[-STRETCH:])


def apart(one: Story, other: Story) -> float:
    """Return how far two tenants' rankers are from each other."""
    ours, theirs = one.moved(), other.moved()
    names = {*ours, *theirs}
    return float(sum((ours.get(name, 0.0) - theirs.get(name, 0.0)) ** 2 for name in names) ** 0.5)

"""The global prior: what tenants have in common. Only weights and counts cross tenants.

What serves a tenant counts for the others at once. What a tenant has learned but could not yet show
to be better, for want of lessons, counts once all tenants together have shown it: each compares its
learner with its champion, and these comparisons are added up.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from learning.config import LearningConfig
from learning.evidence import RANKER, Evidence, total
from learning.running import Running

WITHIN = "ranker within places"
"""The second trial of the ranker, which does not depend on how places are looked at."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one tenant gives, each part up to a limit."""

    evidence: Evidence = field(default_factory=Evidence)
    """Behind what serves it."""
    staged: Evidence = field(default_factory=Evidence)
    """Behind what its ranker has learned, whether that serves or not."""
    trials: Mapping[str, Running] = field(default_factory=dict)
    """By how much that would be better for it."""

    def dumps(self) -> str:
        """Write it as JSON, every digit kept."""
        return json.dumps(_dump(self.evidence, self.staged, self.trials))

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read what ``dumps`` wrote."""
        return cls(*_load(json.loads(text)))


@dataclass(frozen=True, slots=True)
class Pool:
    """What all tenants give together."""

    evidence: Evidence = field(default_factory=Evidence)
    staged: Evidence = field(default_factory=Evidence)
    trials: Mapping[str, Running] = field(default_factory=dict)
    tenants: int = 0

    def without(self, contribution: Contribution | None) -> Self:
        """Return what the others give; what all have shown together stays shown."""
        if contribution is None:
            return self
        evidence = self.evidence.plus(contribution.evidence.scaled(-1.0))
        staged = self.staged.plus(contribution.staged.scaled(-1.0))
        return type(self)(evidence, staged, self.trials, max(self.tenants - 1, 0))

    def shared(self, config: LearningConfig) -> Evidence:
        """Return what counts of it."""
        if not self.has_shown(config):
            return self.evidence
        return self.evidence.with_part(RANKER, self.staged)

    def has_shown(self, config: LearningConfig) -> bool:
        """Tell whether tenants together have shown that what their rankers learned is better."""
        found, within = (self.trials.get(part, Running()) for part in (RANKER, WITHIN))
        enough = within.n >= config.gate_lessons
        return enough and found.mean > 0 and within.bounds(config.pool_z)[0] > 0

    def dumps(self) -> str:
        """Write it as JSON, every digit kept."""
        return json.dumps(
            {"tenants": self.tenants, **_dump(self.evidence, self.staged, self.trials)}
        )

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read what ``dumps`` wrote."""
        read = json.loads(text)
        return cls(*_load(read), read["tenants"])


def pooled(contributions: Iterable[tuple[str, Contribution]]) -> Pool:
    """Return what tenants give together, whatever the order in which they are given."""
    by_tenant = dict(contributions)
    given = [by_tenant[name] for name in sorted(by_tenant)]
    trials: dict[str, Running] = {}
    for one in given:
        for part, trial in one.trials.items():
            trials[part] = trials.get(part, Running()).merged(trial)
    return Pool(
        total(one.evidence for one in given),
        total(one.staged for one in given),
        trials,
        len(given),
    )


def _dump(evidence: Evidence, staged: Evidence, trials: Mapping[str, Running]) -> dict[str, Any]:
    return {
        "evidence": evidence.dump(),
        "staged": staged.dump(),
        "trials": {part: asdict(trials[part]) for part in sorted(trials)},
    }


def _load(read: dict[str, Any]) -> tuple[Evidence, Evidence, dict[str, Running]]:
    trials = {part: Running(**trial) for part, trial in read["trials"].items()}
    return Evidence.load(read["evidence"]), Evidence.load(read["staged"]), trials

"""Where the policy that serves comes from: what is known of it beside its evidence."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from learning.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Origin:
    """How what serves came to serve."""

    steps: Mapping[str, int] = field(default_factory=dict)
    """After how many steps each part was taken from the learner."""
    ordered: frozenset[str] = frozenset()
    """The parts that an operator let serve, and the gate has not since."""
    templates: Evidence = field(default_factory=Evidence)
    """What templates taught: it serves and is judged with the rest, but is nobody's evidence."""

    def promoted(self, parts: Collection[str], step: int, *, ordered: bool) -> Self:
        """Return the same with parts taken from the learner after so many steps."""
        steps = {**self.steps, **dict.fromkeys(parts, step)}
        left = self.ordered | {*parts} if ordered else self.ordered - {*parts}
        return replace(self, steps=steps, ordered=left)

    def with_templates(self, evidence: Evidence) -> Evidence:
        """Return evidence with what templates taught."""
        return evidence.plus(self.templates) if self.templates.parts else evidence

    def dump(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "steps": {part: self.steps[part] for part in sorted(self.steps)},
            "ordered": sorted(self.ordered),
            "templates": self.templates.dump(),
        }

    @classmethod
    def load(cls, value: Mapping[str, Any]) -> Self:
        """Return what was dumped."""
        templates = Evidence.load(value["templates"])
        return cls(value["steps"], frozenset(value["ordered"]), templates)


class Former(NamedTuple):
    """What served before."""

    evidence: Evidence
    origin: Origin

    def dump(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"evidence": self.evidence.dump(), "origin": self.origin.dump()}

    @classmethod
    def load(cls, value: Mapping[str, Any]) -> Self:
        """Return what was dumped."""
        return cls(Evidence.load(value["evidence"]), Origin.load(value["origin"]))

"""What becomes known of memories by what happens to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

MAX_QUESTIONS: Final = 8
"""So many questions are remembered of a memory: who asks the same again finds it by them."""

LEAST: Final = 1e-9
"""Less than this is what is left of numbers that were added and taken away again."""

Question = tuple[str, float, float]
"""The stems of a query, how often the memory was looked at for it, and how often used then."""


@dataclass(slots=True)
class Worth:
    """How much more a memory was looked at, and used, in all and for each question."""

    exposure: float = 0.0
    use: float = 0.0
    questions: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, exposure: float, use: float, question: str) -> None:
        """Count one search; a negative one takes back what was counted of it before."""
        self.exposure += exposure
        self.use += use
        if question:
            seen, used = self.questions.pop(question, (0.0, 0.0))
            self.questions[question] = (seen + exposure, used + use)

    def __bool__(self) -> bool:
        """Tell whether anything was counted."""
        return bool(self.exposure or self.use)


def newest(
    known: Sequence[Question], more: Mapping[str, tuple[float, float]]
) -> Sequence[Question]:
    """Return what is known of the questions that were asked last, the newest last."""
    merged = {question: (exposure, use) for question, exposure, use in known}
    for question, (exposure, use) in more.items():
        seen, used = merged.pop(question, (0.0, 0.0))
        merged[question] = (seen + exposure, used + use)
    # What was taken back, or corrects what is no longer known, is not kept.
    kept = [(question, *counts) for question, counts in merged.items() if counts[0] > LEAST]
    return kept[-MAX_QUESTIONS:]

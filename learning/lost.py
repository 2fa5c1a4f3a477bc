"""Steps whose lessons are no longer known: a correction would take away what is not there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from learning.events import WHOLE

MOST: Final = 8
"""So many spans of steps are known of a part; older ones are joined, with what is between them."""

Span = tuple[int, int]
"""After which step it begins, and with which it ends."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Spans of steps for each part, in their order: rollbacks threw away what was learned then."""

    spans: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)

    def has(self, part: str, steps: Iterable[int]) -> bool:
        """Tell whether any of these steps is lost for a part, or for all of them.

        What was corrected in a lost step is known as it was before that, which nobody can tell.
        """
        spans = (*self.spans.get(part, ()), *self.spans.get(WHOLE, ()))
        return any(begin < step <= end for step in steps for begin, end in spans)

    def after(self, kept: Mapping[str, int], now: int) -> Self:
        """Return the same once parts went back to what they were after so many steps."""
        spans = dict(self.spans)
        for part, step in sorted(kept.items()):
            if step < now:
                spans[part] = _joined(spans.get(part, ()), (step, now))
        return type(self)(spans)

    def passed_over(self, step: int) -> Self:
        """Return the same after a step from which nothing was learned."""
        return self.after({WHOLE: step - 1}, step)

    def dump(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {part: [list(span) for span in self.spans[part]] for part in sorted(self.spans)}

    @classmethod
    def load(cls, value: Mapping[str, Any]) -> Self:
        """Return what was dumped."""
        return cls({part: tuple((a, b) for a, b in spans) for part, spans in value.items()})


def _joined(spans: tuple[Span, ...], new: Span) -> tuple[Span, ...]:
    """Return spans with one more, which ends last."""
    begin, end = new
    while spans and spans[-1][1] >= begin:
        begin = min(begin, spans[-1][0])
        spans = spans[:-1]
    spans = (*spans, (begin, end))
    if len(spans) > MOST:
        first, second, *rest = spans
        spans = ((first[0], second[1]), *rest)
    return spans

"""How many of the latest calls failed, in memory that does not grow with their number."""

from collections import deque
from dataclasses import dataclass


@dataclass(slots=True)
class _Slice:
    """The calls that ended in one slice of time."""

    number: int
    calls: int = 0
    failures: int = 0


class FailureWindow:
    """Counts the calls of the last so many seconds, and those of them that failed.

    Time is cut into slices and forgotten a slice at a time: nothing older than the window counts,
    and all that is younger than the window less one slice does.
    """

    def __init__(self, window_s: float, slices: int = 60) -> None:
        self._slice_s = window_s / slices
        self._kept = slices
        self._slices: deque[_Slice] = deque()
        self.calls = 0
        self.failures = 0

    def add(self, now_s: float, *, failed: bool) -> None:
        """Count a call that ended now, and forget those that ended too long ago."""
        number = int(now_s // self._slice_s)
        while self._slices and self._slices[0].number <= number - self._kept:
            old = self._slices.popleft()
            self.calls -= old.calls
            self.failures -= old.failures
        if not self._slices or self._slices[-1].number != number:
            self._slices.append(_Slice(number))
        latest = self._slices[-1]
        latest.calls += 1
        latest.failures += failed
        self.calls += 1
        self.failures += failed

    def clear(self) -> None:
        """Forget every call."""
        self._slices.clear()
        self.calls = self.failures = 0

"""Stops calling a language model that fails too often, and finds out when it is back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import structlog

from retrieval.language.protocol import LanguageModelOpenError
from retrieval.language.window import FailureWindow
from retrieval.metrics import BREAKER_OPEN, BREAKER_OPENINGS

log = structlog.get_logger(__name__)

State = Literal["closed", "open", "half-open"]


class CircuitBreaker:
    """Opens when too large a share of the latest calls failed; closes when a probe succeeds.

    What is counted are calls that end, in the order in which they do. Calls belong to the term in
    which they began (closed, or open): one that ends in a later term says nothing about it. None
    of this waits for anything, so calls on one event loop cannot come between.
    """

    def __init__(
        self,
        monotonic: Callable[[], float],
        window_s: float = 300.0,
        max_failure_share: float = 0.05,
        # One failure of twenty is the share that is allowed: with fewer calls, any would open it.
        least_calls: int = 20,
        pause_s: float = 30.0,
    ) -> None:
        self._monotonic = monotonic
        self._window = FailureWindow(window_s)
        self._max_failure_share = max_failure_share
        self._least_calls = least_calls
        self._pause_s = pause_s
        self._opened_s: float | None = None
        self._probing = False
        self._term = 0
        BREAKER_OPEN.set(0)

    @property
    def state(self) -> State:
        """Closed; open, calling nothing; or half-open, waiting for what one probe says."""
        if self._opened_s is None:
            return "closed"
        return "open" if self._monotonic() - self._opened_s < self._pause_s else "half-open"

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count what happens inside as a call, or refuse it at once.

        An exception is a failure. A cancelled call is neither a failure nor a success; if it was
        the probe, the next call is.
        """
        term = self._admit()
        try:
            yield
        except Exception:
            self._settle(term, failed=True)
            raise
        except BaseException:
            if term == self._term:
                self._probing = False
            raise
        self._settle(term, failed=False)

    def _admit(self) -> int:
        state = self.state
        if state == "open" or self._probing:
            raise LanguageModelOpenError(
                "The language model is not called: too many calls failed, and it is not known yet"
                " to be back."
            )
        self._probing = state == "half-open"
        return self._term

    def _settle(self, term: int, *, failed: bool) -> None:
        if term != self._term:
            return
        if self._opened_s is None:
            self._window.add(self._monotonic(), failed=failed)
            if self._fails_too_often():
                self._open()
        elif failed:
            self._open()
        else:
            self._close()

    def _fails_too_often(self) -> bool:
        calls, failures = self._window.calls, self._window.failures
        return calls >= self._least_calls and failures / calls > self._max_failure_share

    def _open(self) -> None:
        log.warning(
            "language model breaker opened",
            calls=self._window.calls,
            failures=self._window.failures,
            pause_s=self._pause_s,
        )
        self._begin_term(opened_s=self._monotonic())
        BREAKER_OPEN.set(1)
        BREAKER_OPENINGS.inc()

    def _close(self) -> None:
        log.info("language model breaker closed")
        self._begin_term(opened_s=None)
        BREAKER_OPEN.set(0)

    def _begin_term(self, *, opened_s: float | None) -> None:
        self._opened_s = opened_s
        self._probing = False
        self._term += 1
        self._window.clear()

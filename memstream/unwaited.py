"""Threads that nobody waits for: a name server or a disk that hangs must not hold up the end."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import Any


class UnwaitedThreads(ThreadPoolExecutor):
    """Does everything in a thread of its own, and ends with whatever is still being done."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Begin at once."""
        future: Future[Any] = Future()

        def work() -> None:
            try:
                done = fn(*args, **kwargs)
            except BaseException as error:  # Whoever waits is told.
                future.set_exception(error)
            else:
                future.set_result(done)

        # Running from the start, so that a caller that gives up cannot cancel it half way.
        future.set_running_or_notify_cancel()
        Thread(target=work, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for nothing."""

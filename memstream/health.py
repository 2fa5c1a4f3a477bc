"""Whether this worker can serve, and if not, why."""

import asyncio
from collections.abc import Awaitable, Callable

Check = Callable[[], Awaitable[str | None]]
"""Returns None if all is well, else the reason why not."""

CHECK_TIMEOUT_S = 2.0
"""A probe that asks less often than every few seconds must not pile up behind a part that hangs."""


class Health:
    """The checks behind /readyz; each counts as failed until it is registered."""

    def __init__(self, *names: str) -> None:
        self._checks: dict[str, Check | None] = dict.fromkeys(names)

    def watch(self, name: str, check: Check) -> None:
        """Register the check of a part that has been started."""
        self._checks[name] = check

    async def reasons(self) -> dict[str, str]:
        """Return the reasons against serving, by part; empty when ready."""
        answers = await asyncio.gather(*(self._reason(check) for check in self._checks.values()))
        return {name: why for name, why in zip(self._checks, answers, strict=True) if why}

    async def _reason(self, check: Check | None) -> str | None:
        if check is None:
            return "not started yet"
        try:
            return await asyncio.wait_for(check(), CHECK_TIMEOUT_S)
        except TimeoutError:
            return f"no answer within {CHECK_TIMEOUT_S:.0f} s"
        except Exception as error:
            return str(error) or repr(error)

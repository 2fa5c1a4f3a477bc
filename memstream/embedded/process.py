"""A child process that never outlives this one."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

from memstream.embedded import guard

GRACE_S = 5.0
"""How long past its own stop timeout a guard may take; more means that the guard is stuck."""


class PartError(Exception):
    """A part could not be started, or stopped working; the message says what to do."""


class Process:
    """One command under a guard: gone when stopped, and gone when this process dies."""

    def __init__(
        self, name: str, child: asyncio.subprocess.Process, log: Path | None, stop_timeout: float
    ) -> None:
        self.name = name
        self._child = child
        self._log = log
        self._stop_timeout = stop_timeout

    @classmethod
    async def start(
        cls,
        name: str,
        argv: Sequence[str],
        *,
        log: Path | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        stop_timeout: float = 10.0,
    ) -> "Process":
        """Start ``argv``; its output goes to the end of ``log``, or to ours when there is none."""
        with _appending(log) as output:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", guard.__file__),
                *(str(int(stop_signal)), str(stop_timeout), *argv),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )
        return cls(name, child, log, stop_timeout)

    @property
    def pid(self) -> int:
        """The guard's process id; the command is its only child."""
        return self._child.pid

    @property
    def running(self) -> bool:
        """Whether the command has not ended yet."""
        return self._child.returncode is None

    async def wait(self) -> int:
        """Wait until the command has ended by itself and return its status."""
        return await self._child.wait()

    async def stop(self) -> None:
        """Stop the command gently, then by force; return when it is gone."""
        if self._child.stdin is not None:
            self._child.stdin.close()
        try:
            await asyncio.wait_for(self._child.wait(), self._stop_timeout + GRACE_S)
        except TimeoutError:
            self._child.kill()
            await self._child.wait()

    def failure(self, why: str) -> PartError:
        """Return the error to raise when this process is of no use, with the end of its log."""
        status = "" if self.running else f" (it ended with status {self._child.returncode})"
        return PartError(f"{self.name} {why}{status}{self._last_words()}")

    def _last_words(self) -> str:
        if self._log is None or not self._log.exists():
            return ""
        lines = self._log.read_text(errors="replace").strip().splitlines()[-5:]
        return f"; the end of {self._log}:\n" + "\n".join(lines)


def _appending(log: Path | None) -> AbstractContextManager[IO[bytes] | None]:
    if log is None:
        return nullcontext(None)
    log.parent.mkdir(parents=True, exist_ok=True)
    return log.open("ab")

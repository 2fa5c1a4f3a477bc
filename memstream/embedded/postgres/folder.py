"""The folder an embedded PostgreSQL keeps: its cluster, its log, its address and its passwords."""

import asyncio
import fcntl
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkstemp
from typing import Self

from memstream.embedded.process import PartError

POLL_S = 0.05
"""Between two looks at a condition: well below what a person notices, far above its cost."""

ROLE = "memstream"
"""The role, and the database, of everything at run time."""


@dataclass(frozen=True)
class PostgresFolder:
    """Where everything of one embedded PostgreSQL lies; nobody else may read it."""

    root: Path

    @classmethod
    def at(cls, path: Path) -> Self:
        """Return the folder at ``path``, wherever we go from here."""
        return cls(path.resolve())

    @property
    def cluster(self) -> Path:
        """PostgreSQL's own data directory; it exists only once initdb has finished."""
        return self.root / "cluster"

    @property
    def log(self) -> Path:
        """What initdb and postgres print."""
        return self.root / "postgres.log"

    @property
    def occupied(self) -> bool:
        """Whether some postgres, dead or alive, has not given the cluster back."""
        return (self.cluster / "postmaster.pid").exists()

    @property
    def port(self) -> int | None:
        """The port of the last start, so that a restart has the same address."""
        kept = self._kept("port")
        return None if kept is None else int(kept)

    def keep_port(self, port: int) -> None:
        """Remember the port for the next start."""
        self._keep("port", str(port))

    @property
    def password(self) -> str | None:
        """The password of the run-time role; there is none until the database is prepared."""
        return self._kept("memstream.password")

    def keep_password(self, password: str) -> None:
        """Remember the run-time role's password, and so that the database is prepared."""
        self._keep("memstream.password", password)

    def superuser_password(self) -> str:
        """Return the superuser's password, chosen at the first call."""
        if self._kept("superuser.password") is None:
            if self.cluster.exists():
                raise PartError(f"{self.root / 'superuser.password'} is gone: put it back")
            self._keep("superuser.password", secrets.token_urlsafe())
        return str(self._kept("superuser.password"))

    def url(self) -> str:
        """Return the address for the run-time role."""
        return f"postgresql://{ROLE}:{self.password}@127.0.0.1:{self.port}/{ROLE}"

    def superuser_url(self, database: str) -> str:
        """Return the address for the superuser; for preparing the database and for tests only."""
        return f"postgresql://postgres:{self.superuser_password()}@127.0.0.1:{self.port}/{database}"

    @asynccontextmanager
    async def held(self, patience: float, tell: Callable[[str], None]) -> AsyncIterator[None]:
        """Make the folder and keep it to ourselves; the lock ends with us, however we end."""
        self._make()
        with (self.root / "lock").open("a") as lock:
            if not _locked(lock.fileno()):
                tell(f"waiting for another memstream to leave {self.root}")
                await self._wait_for(lock.fileno(), patience)
            yield

    async def _wait_for(self, lock: int, patience: float) -> None:
        deadline = time.monotonic() + patience
        while not _locked(lock):
            if time.monotonic() > deadline:
                raise PartError(f"{self.root} is in use by another memstream: stop that first")
            await asyncio.sleep(POLL_S)

    def _make(self) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A mistyped path must not make us move into, and close, somebody's home.
        if any(self.root.iterdir()) and not (self.root / "lock").exists():
            raise PartError(f"{self.root} holds other files: give PostgreSQL a folder of its own")

    def _kept(self, name: str) -> str | None:
        file = self.root / name
        return file.read_text() if file.exists() else None

    def _keep(self, name: str, text: str) -> None:
        # Beside and renamed: a kill leaves the old text or the new. mkstemp makes it 0600.
        handle, beside = mkstemp(prefix=f"{name}.", dir=self.root)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        Path(beside).rename(self.root / name)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

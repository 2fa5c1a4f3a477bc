"""The machine: Python, what else is installed, and the folder that everything is kept in."""

import asyncio
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from memstream.doctor.finding import Finding, fail, ok, warn

FOLDER: Final = "data folder"
DISK: Final = "disk"

LEAST_ROOM: Final = 200_000_000
"""The converted model alone takes 90 MB, and a database that cannot grow loses what comes."""
LITTLE_ROOM: Final = 1_000_000_000

_PROBE_BYTES: Final = 256 * 1024
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ROOM_REMEDY: Final = "free some, or set MEMSTREAM_DATA_DIR to a folder on another disk"
_TOOLS: Final = {"java": "openjdk-17-jre-headless", "mvn": "maven"}


def examine_python(version: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    """Tell whether this Python will do."""
    told = ".".join(map(str, version))
    if (3, 11) <= version < (3, 14):
        return ok("python", told)
    return fail("python", told, "use Python 3.11, 3.12 or 3.13")


def examine_tools() -> list[Finding]:
    """Tell whether there is what a local Apache Kafka needs."""
    return [_tool(name, package) for name, package in _TOOLS.items()]


def missing_tools() -> list[str]:
    """Return what a local Apache Kafka needs and is not there."""
    return [name for name in _TOOLS if not shutil.which(name)]


def _tool(name: str, package: str) -> Finding:
    if shutil.which(name):
        return ok(name, "installed")
    what = "not installed; only `make kafka`, --broker local-kafka and their tests need it"
    return ok(name, what, f"apt-get install {package}, if you want those")


async def examine_data_folder(folder: Path) -> Sequence[Finding]:
    """Tell whether the folder can be written, or made, and whether there is room."""
    return await asyncio.to_thread(_data_folder, folder)


def _data_folder(folder: Path) -> Sequence[Finding]:
    try:
        place = _existing(folder)
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(bytes(_PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in _FULL:
            return [fail(DISK, f"{folder} is on a full disk ({error.strerror})", _ROOM_REMEDY)]
        remedy = "set MEMSTREAM_DATA_DIR to a folder that can be written"
        return [fail(FOLDER, f"{folder} cannot be written ({error.strerror})", remedy)]
    return [ok(FOLDER, str(folder)), room(folder, shutil.disk_usage(place).free)]


def _existing(folder: Path) -> Path:
    """Return the folder, or the one above it in which it is going to be made."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    return folder


def room(folder: Path, free: int) -> Finding:
    """Tell whether so many bytes are enough."""
    left = f"{free / 1e6:,.0f} MB left for {folder}"
    if free < LEAST_ROOM:
        return fail(DISK, f"only {left}", _ROOM_REMEDY)
    if free < LITTLE_ROOM:
        return warn(DISK, left, _ROOM_REMEDY)
    return ok(DISK, left)

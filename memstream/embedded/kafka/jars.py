"""The jars of Apache Kafka, brought once from Maven Central and kept."""

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from memstream.embedded.process import PartError, Process

RECIPE = Path(__file__).parents[3] / "deploy" / "kafka"
"""Where the source checkout keeps the pom.xml and the logging configuration of the broker."""

DOWNLOAD_TIMEOUT_S = 600.0
"""70 MB of jars and Maven plugins at a slow 120 kB/s; on a good line it is 25 s."""

PACKAGES = {"java": "openjdk-17-jre-headless", "mvn": "maven"}
"""What to install (Debian, Ubuntu) for each program."""


def require(program: str) -> str:
    """Return the path of ``program``, or say how to install it."""
    found = shutil.which(program)
    if found is None:
        how = f"apt-get install {PACKAGES[program]}"
        raise PartError(f"the local Kafka needs {program}, which is not on the PATH: {how}")
    return found


async def resolve(jars_dir: Path, progress: Callable[[str], None]) -> Path:
    """Return the folder with the jars that pom.xml asks for, downloading them if it is not there.

    The folder's name is the hash of pom.xml, and it appears under that name only when complete:
    another pom.xml has another folder, and whoever finds one may use it.
    """
    pom = RECIPE / "pom.xml"
    if not pom.exists():
        raise PartError(f"the local Kafka needs a source checkout of memstream: no {pom}")
    jars = jars_dir / hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    if not jars.exists():
        progress("downloading Apache Kafka with mvn (once, 70 MB)")
        await _download(pom, jars)
    return jars


async def _download(pom: Path, jars: Path) -> None:
    mvn = require("mvn")
    jars.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="download-", dir=jars.parent) as scratch:
        complete = Path(scratch) / "jars"
        await _copy_dependencies(mvn, pom, complete, log=Path(scratch) / "mvn.log")
        _publish(complete, jars)


def _publish(complete: Path, jars: Path) -> None:
    try:
        complete.rename(jars)
    except OSError:
        # A folder that is there already is another process's, complete and the same.
        if not jars.exists():
            raise


async def _copy_dependencies(mvn: str, pom: Path, into: Path, log: Path) -> None:
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={into}"]
    process = await Process.start("mvn", [mvn, "-q", "-B", "-f", str(pom), *goal], log=log)
    try:
        async with asyncio.timeout(DOWNLOAD_TIMEOUT_S):
            status = await process.wait()
    except TimeoutError:
        raise process.failure(f"was not done after {DOWNLOAD_TIMEOUT_S:.0f} s") from None
    finally:
        await process.stop()
    if status != 0:
        raise PartError(f"mvn could not bring Apache Kafka's jars: {_first_error(log)}")


def _first_error(log: Path) -> str:
    # Maven names the cause in its first error, after colour codes, and then advises for ten lines.
    lines = log.read_text(errors="replace").splitlines()
    errors = (line.partition("[ERROR] ")[2] for line in lines)
    return next(filter(None, errors), "it did not say why")

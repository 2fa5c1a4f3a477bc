"""Examines every part a deployment needs, all at once, and says how to fix what is wrong."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from memstream.clock import now
from memstream.doctor.broker import examine_broker
from memstream.doctor.database import examine_database
from memstream.doctor.finding import Finding, fail, ok
from memstream.doctor.machine import examine_data_folder, examine_python, examine_tools
from memstream.doctor.models import examine_embedder, examine_language_model
from memstream.doctor.secrets import secrets_of
from memstream.doctor.service import examine_service
from memstream.runtime import with_running_parts
from memstream.settings import Settings, SettingsError, load_settings
from memstream.unwaited import UnwaitedThreads

__all__ = ["Finding", "examine"]

PATIENCE_S = 6.0
"""So long an examination may take; all of them together take no longer."""

Examination = Callable[[], Awaitable[Sequence[Finding]]]


async def examine(clock: Callable[[], datetime] = now) -> list[Finding]:
    """Return what was found, in the order in which it should be fixed."""
    asyncio.get_running_loop().set_default_executor(UnwaitedThreads())
    try:
        settings = load_settings()
    except SettingsError as error:
        remedy = "correct it and run `memstream doctor` again"
        wrong = [fail("settings", line, remedy) for line in str(error).splitlines()]
        return [examine_python(), *wrong]
    running = _with_running_parts(settings)
    examinations: dict[str, tuple[Examination, str]] = {
        "data folder": (
            lambda: examine_data_folder(settings.data_dir),
            "set MEMSTREAM_DATA_DIR to a folder that can be written",
        ),
        "embedder": (lambda: examine_embedder(settings), "correct MEMSTREAM_EMBEDDER"),
        "language model": (
            lambda: examine_language_model(settings),
            "start it, or correct MEMSTREAM_LLM_BASE_URL",
        ),
        "database": (
            lambda: examine_database(running, clock),
            "start it, or correct MEMSTREAM_DATABASE",
        ),
        "broker": (
            lambda: examine_broker(running, clock),
            "start it, or correct MEMSTREAM_BROKER",
        ),
        "service": (lambda: examine_service(settings), "see its log"),
    }
    found = await asyncio.gather(
        *(_examined(part, *examination) for part, examination in examinations.items())
    )
    findings = [examine_python(), ok("settings", "can be read")]
    findings += [finding for several in found for finding in several]
    findings += examine_tools()
    secrets = secrets_of(running)
    return [finding.without(secrets) for finding in findings]


def _with_running_parts(settings: Settings) -> Settings:
    try:
        return with_running_parts(settings)
    except OSError:
        return settings  # What is wrong with the data folder is found where that is examined.


async def _examined(part: str, examination: Examination, remedy: str) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await examination()
    except TimeoutError:
        return [fail(part, f"does not answer within {PATIENCE_S:.0f} s", remedy)]
    except Exception as error:
        # Whatever goes wrong here is what the user wants to hear about.
        return [fail(part, str(error) or repr(error), remedy)]

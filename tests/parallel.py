"""Tests in several processes at once: what the processes share, and who has the machine alone."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.locks import locked

_OF_A_SERVICE = re.compile(r"(tests/acceptance/.+?)::.*\[(embedded|real)\b")
"""The file and the parts: what tests that share a service have in common."""

_OF_ONE_SERVICE = (
    *("test_broken_messages.py", "test_references.py"),
    *("test_signals.py", "test_thin_path.py"),
)
"""The files whose tests have no service of their own, but one for all."""


_OF_THEIR_OWN = ("test_lifecycle.py", "test_scaling.py")
"""The files whose tests each start a service for themselves: any process may run any of them."""


class _Scheduler(LoadScopeScheduling):
    """Gives tests that share a service to one process, so that it is started only once."""

    # Not --dist=loadgroup: it does nothing with pytest 9.2 (pytest-xdist issue 1386).
    def _split_scope(self, nodeid: str) -> str:
        found = _OF_A_SERVICE.match(nodeid)
        if found is None:
            return nodeid
        file, parts = found.groups()
        if file.endswith(_OF_THEIR_OWN):
            return nodeid
        return parts if file.endswith(_OF_ONE_SERVICE) else f"{file}-{parts}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Scheduler:
    """Choose which process runs which test."""
    return _Scheduler(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave those marked ``alone`` to the end, where all others are short.

    Whoever wants to be alone waits until the tests that run have ended, and nobody begins another:
    beside a test of two minutes all processes but one would be idle for as long.
    """
    items.sort(key=lambda item: item.get_closest_marker("alone") is not None)


@pytest.fixture(scope="session")
def shared_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this test run see."""
    return _shared(request.config) or tmp_path_factory.getbasetemp()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Run a test marked ``alone`` while no other process runs one, from setup to teardown."""
    folder = _shared(item.config)
    if folder is None:
        return (yield)
    with _turn(folder, alone=item.get_closest_marker("alone") is not None):
        return (yield)


def _shared(config: pytest.Config) -> Path | None:
    # Each worker of pytest-xdist is given a folder below that of the whole run.
    return Path(config.option.basetemp).parent if hasattr(config, "workerinput") else None


@contextmanager
def _turn(folder: Path, *, alone: bool) -> Iterator[None]:
    with ExitStack() as stack:
        # Whoever waits to be alone holds the queue, or the others would never all be idle.
        with locked(folder / "queue.lock"):
            stack.enter_context(locked(folder / "tests.lock", shared=not alone))
        yield

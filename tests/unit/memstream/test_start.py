"""Commands start quickly because they load only what they need."""

import importlib
import subprocess
import sys

import pytest

from memstream.cli import EXPECTED

SLOW = ("aiohttp", "aiokafka", "asyncpg", "numpy", "onnxruntime", "structlog")


def loaded_after(*arguments):
    """Run a command that fails, and return what of the slow packages it loaded."""
    script = (
        "import sys; from memstream.cli import main\n"
        f"sys.argv = {['memstream', *arguments]!r}\n"
        "try:\n    main()\n"
        f"finally:\n    print([name for name in {SLOW!r} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1, ran.stderr
    return ran.stdout.strip(), ran.stderr.strip()


@pytest.mark.parametrize(("module", "name"), EXPECTED)
def test_what_is_told_in_one_line_is_where_it_is_looked_for(module, name):
    error = getattr(importlib.import_module(module), name)
    assert issubclass(error, Exception)
    # Whoever raises it has loaded this module, wherever else it is imported from.
    assert error.__module__ == module


def test_a_refusal_loads_nothing_slow():
    loaded, said = loaded_after("search", "", "--tenant", "t")
    assert "query" in said
    assert len(said.splitlines()) == 1
    assert loaded == "[]"

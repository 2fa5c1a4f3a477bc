"""SQL kept in .sql files, each statement under a line ``-- name: its_name``.

A statement may contain one named before it, as ``{its_name}``.
"""

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_PART = re.compile(r"\{(\w+)\}")


@cache
def statements(package: str, file: str = "queries.sql") -> dict[str, str]:
    """Return the named statements of a file of ``package``."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    named: dict[str, str] = {}
    for name, sql in zip(parts[::2], parts[1::2], strict=True):
        named[name] = _PART.sub(lambda part: named[part[1]], sql.strip())
    return named


@cache
def migrations(package: str) -> tuple[tuple[int, str, str], ...]:
    """Return the version, name and SQL of each ``0001_name.sql`` of ``package``.migrations."""
    folder = files(package).joinpath("migrations")
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(
        (int(name[:4]), name, folder.joinpath(name).read_text(encoding="utf-8")) for name in found
    )

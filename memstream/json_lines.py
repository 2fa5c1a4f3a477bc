"""Reads files of a JSON object a line."""

from collections.abc import Iterator
from pathlib import Path


def json_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Return the lines that say something, each with its number.

    Only a line feed ends a line: JSON may hold every other character that Unicode breaks lines at.
    Raises OSError or UnicodeDecodeError for a file that cannot be read.
    """
    lines = file.read_bytes().decode("utf-8-sig").split("\n")
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())

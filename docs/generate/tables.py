"""Markdown tables."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table after an empty line."""
    lines = ["", _row(head), _row(["---"] * len(head))]
    return [*lines, *(_row(row) for row in rows)]


def code(text: object) -> str:
    """Return text as code."""
    return f"`{text}`"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"

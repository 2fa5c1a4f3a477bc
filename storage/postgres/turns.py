"""Rows of many tenants as a batch's functions take them: columns, and whose turn ends where."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from storage.statements import statements

_SQL = statements("storage.postgres", "joins.sql")

Name = tuple[str, str]
"""A tenant, and the id of something of it."""


async def in_turns(
    connection: Any, statement: str, rows: Sequence[Sequence[Any]], *parameters: Any
) -> list[Any]:
    """Call a function with rows that are sorted by the tenant they begin with."""
    if not rows:
        return []
    owners, *columns = zip(*rows, strict=True)
    tenants, ends = [], []
    for tenant_id, turn in groupby(enumerate(owners, 1), lambda one: one[1]):
        tenants.append(tenant_id)
        ends.append(max(place for place, _ in turn))
    found: list[Any] = await connection.fetch(_SQL[statement], tenants, ends, *columns, *parameters)
    return found


async def new_events(
    connection: Any, consumer: str, seen_at: Mapping[Name, datetime]
) -> Sequence[Name]:
    """Mark events as seen and return those that were not before, sorted."""
    rows = [(*name, seen_at[name]) for name in sorted(seen_at)]
    return names(await in_turns(connection, "mark_seen", rows, consumer))


def names(rows: Iterable[Any]) -> list[Name]:
    """Return the names that rows begin with, sorted."""
    return sorted((row[0], row[1]) for row in rows)

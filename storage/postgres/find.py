"""Finds the memories of one tenant that may answer a query."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from storage.postgres.rows import found_rows
from storage.protocol import Filter, Found, Sought
from storage.statements import statements

_SQL = statements("storage.postgres")


async def find(
    connection: Any,
    tenant_id: str,
    sought: Sought,
    among: Filter,
    *,
    partition: int,
    exactly: bool,
) -> Found:
    """Return what was found by words, or by parts, or if that finds nothing by scraps."""

    async def by(statement: str, terms: Sequence[str]) -> Found:
        embedding = sought.embedding
        vector, model = (embedding.vector, embedding.model) if embedding else (None, None)
        dimensions = None if exactly or vector is None else len(vector)
        rows = await connection.fetch(
            _statement(statement, partition, dimensions),
            *filter_parameters(tenant_id, among),
            *(vector, model, terms, sought.best, sought.around, sought.by_meaning),
        )
        return found_rows(rows, len(terms))

    asked = sought.asked
    found = await (by("find_parts", asked.parts) if asked.parts else by("find_terms", asked.terms))
    if found.has_words or not asked.scraps:
        return found
    scraps = await by("find_scraps", asked.scraps)
    return scraps if scraps.has_words else found


def filter_parameters(tenant_id: str, among: Filter) -> tuple[Any, ...]:
    """Return the first seven parameters of every statement that finds memories."""
    return (
        *(tenant_id, among.at, among.layers, among.scope),
        *(among.min_confidence, among.metadata, _names(among.entities)),
    )


def _names(entities: Mapping[str, Sequence[str]] | None) -> dict[str, dict[str, int]] | None:
    """Return names as keys: an object's are looked up, a list's would be compared one by one."""
    if not entities:
        return None
    return {key: dict.fromkeys(names, 0) for key, names in entities.items()}


@cache
def _statement(name: str, partition: int, dimensions: int | None) -> str:
    """Return a statement for one partition that uses its index for vectors of that length, if any.

    Nothing else can be told to PostgreSQL before it plans, and these are planned once.
    """
    order = _SQL["exactly_nearest_first" if dimensions is None else "nearly_nearest_first"]
    return (
        _SQL[name]
        .replace(":partition", f"memories_{partition:d}")
        .replace(":nearest_first", order.replace(":dimensions", str(dimensions)))
    )

"""Finds the memories of one tenant that may answer a query."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from storage.postgres.rows import found_rows
from storage.protocol import Filter, Found, Sought
from storage.statements import statements

_SQL = statements("storage.postgres")


async def find(
    connection: Any, tenant_id: str, sought: Sought, among: Filter, exact_up_to: int
) -> Found:
    """Return what was found by words, or by parts, or if that finds nothing by scraps."""

    async def by(statement: str, terms: Sequence[str]) -> Found:
        embedding = sought.embedding
        vector, model = (embedding.vector, embedding.model) if embedding else (None, None)
        rows = await connection.fetch(
            _for_length(statement, 1 if vector is None else vector.shape[0]),
            *filter_parameters(tenant_id, among),
            *(vector, model, terms, sought.best, sought.around, exact_up_to),
        )
        return found_rows(rows, len(terms))

    asked = sought.asked
    found = await (by("find_parts", asked.parts) if asked.parts else by("find_terms", asked.terms))
    if found.has_words or not asked.scraps:
        return found
    scraps = await by("find_scraps", asked.scraps)
    return scraps if scraps.has_words else found


def filter_parameters(tenant_id: str, among: Filter) -> tuple[Any, ...]:
    """Return the first six parameters of every statement that finds memories."""
    return (
        *(tenant_id, among.at, among.layers, among.scope),
        *(among.min_confidence, among.metadata),
    )


@cache
def _for_length(statement: str, dimensions: int) -> str:
    """Return the statement for vectors of that length, which an index must be told."""
    return _SQL[statement].replace(":dimensions", str(dimensions))

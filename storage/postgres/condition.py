"""How a PostgreSQL database is that is to be the store, whether it is ready for that or not."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import asyncpg

from storage.postgres.migrate import applied_version
from storage.statements import migrations, statements

LEAST_VECTOR: Final = (0, 8)
"""The first version of pgvector that goes on scanning an index until filters let enough through."""

_SQL = statements("storage.postgres", "condition.sql")


@dataclass(frozen=True, slots=True)
class Condition:
    """What a database is like."""

    user: str
    database: str
    server: str
    """The server's version."""
    read_only: bool
    at: datetime
    """What its clock says."""
    vector: str | None
    """The version of the extension that the database has,"""
    vector_to_have: str | None
    """and of the one that the server could give it."""
    may_create_vector: bool
    user_bypasses: bool
    """Whether row-level security does not bind the user who connects,"""
    has_role: bool
    may_become: bool
    role_bypasses: bool
    """or not the role that this user takes on,"""
    role_owns: bool
    """which has what the tables' owner has."""
    unwalled: list[str]
    """Tables that have a tenant and no wall."""
    schema: int
    schema_known: int
    """The newest migration of the database, and of this program."""

    @property
    def vector_is_old(self) -> bool:
        """Whether the extension lacks what is needed of it."""
        digits = (self.vector or "0").split(".")[:2]
        return tuple(int(one) for one in digits if one.isdecimal()) < LEAST_VECTOR


async def condition(url: str, timeout_s: float) -> Condition:
    """Look at a database; asyncpg's errors say why that cannot be done."""
    connection = await asyncpg.connect(url, timeout=timeout_s, command_timeout=timeout_s)
    try:
        row = await connection.fetchrow(_SQL["condition"])
        schema = await applied_version(connection)
    finally:
        connection.terminate()
    return Condition(**row, schema=schema, schema_known=migrations("storage.postgres")[-1][0])

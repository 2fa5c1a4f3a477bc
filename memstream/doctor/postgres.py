"""PostgreSQL: can it be reached, has it what is needed, and does it keep tenants apart."""

import ssl
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import asyncpg

from memstream.doctor.clocks import compared
from memstream.doctor.finding import Finding, fail, ok, warn
from storage.postgres.condition import LEAST_VECTOR, Condition, condition

DATABASE: Final = "database"
VECTOR: Final = "vector"
SCHEMA: Final = "schema"
WALLS: Final = "row-level security"
ANSWER_S: Final = 5.0

_LEAST: Final = ".".join(map(str, LEAST_VECTOR))
_SETTING: Final = "correct MEMSTREAM_DATABASE"


async def examine_postgres(url: str, clock: Callable[[], datetime]) -> Sequence[Finding]:
    """Tell how the configured database is."""
    try:
        found = await condition(url, ANSWER_S)
    except Exception as error:
        return [_unusable(error)]
    findings = [_database(found), _vector(found)]
    if found.vector is not None:
        findings.append(_schema(found))
    if found.schema:
        findings.append(_walls(found))
    return [*findings, compared(clock(), found.at, "the database's")]


def _unusable(error: Exception) -> Finding:
    """Tell why a database cannot even be looked at."""
    told = str(error) or type(error).__name__
    match error:
        case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
            return fail(DATABASE, f"PostgreSQL refuses us: {told}", f"{_SETTING}: user, password")
        case asyncpg.InvalidCatalogNameError():
            return fail(DATABASE, told, f"create it (`createdb NAME`), or {_SETTING}")
        case asyncpg.InsufficientPrivilegeError():
            return fail(DATABASE, told, "connect as the user who ran `memstream migrate`")
        case asyncpg.PostgresError():
            return fail(DATABASE, f"PostgreSQL says: {told}", "see the log of the server")
        case TimeoutError():
            told = f"does not answer within {ANSWER_S:.0f} s"
            return fail(DATABASE, told, f"is it PostgreSQL, and well? Or {_SETTING}: host, port")
        case ssl.SSLError():
            return fail(DATABASE, f"does not agree with us on TLS ({told})", f"{_SETTING}: sslmode")
        case ConnectionError() if "SSL upgrade" in told:
            what = "what answers is not PostgreSQL, or does without the TLS that is asked for"
            return fail(DATABASE, what, f"{_SETTING}: host, port, sslmode")
        case ConnectionResetError() | asyncpg.InternalClientError() | asyncpg.InterfaceError():
            return fail(DATABASE, "what answers is not PostgreSQL", f"{_SETTING}: host, port")
        case OSError():
            return fail(DATABASE, f"cannot be reached ({told})", f"start it, or {_SETTING}")
        case ValueError():
            # The error itself would tell a part of a password that was not written as it must be.
            remedy = f"{_SETTING}; write / as %2F, @ as %40, : as %3A, # as %23 in a password"
            return fail(DATABASE, "its address cannot be read", remedy)
    return fail(DATABASE, told, f"start it, or {_SETTING}")


def _database(found: Condition) -> Finding:
    if found.read_only:
        what = f"{found.database} can only be read: a standby, or set to that"
        return fail(DATABASE, what, f"{_SETTING} to name the primary")
    return ok(DATABASE, f"PostgreSQL {found.server} answers")


def _vector(found: Condition) -> Finding:
    if found.vector is None and found.vector_to_have is None:
        major = found.server.partition(".")[0]
        remedy = f"install pgvector {_LEAST} or newer there (Debian: postgresql-{major}-pgvector)"
        return fail(VECTOR, "the server has no pgvector", remedy)
    if found.vector is None:
        what = f"{found.database} does not have the extension"
        if found.may_create_vector:
            return fail(VECTOR, what, "run `memstream migrate`")
        remedy = f"let a superuser run in {found.database}: CREATE EXTENSION vector;"
        return fail(VECTOR, f"{what}, and {found.user} may not create it", remedy)
    if found.vector_is_old:
        remedy = f"install pgvector {_LEAST} or newer there, then: ALTER EXTENSION vector UPDATE;"
        return fail(VECTOR, f"{found.vector} is too old", remedy)
    return ok(VECTOR, found.vector)


def _schema(found: Condition) -> Finding:
    have, known = found.schema, found.schema_known
    if have < known:
        what = f"{have or 'none yet'}, but this memstream needs {known}"
        return fail(SCHEMA, what, "run `memstream migrate`")
    if have > known:
        what = f"{have}, but this memstream only knows those up to {known}"
        return fail(SCHEMA, what, "upgrade memstream")
    return ok(SCHEMA, str(have))


def _walls(found: Condition) -> Finding:
    """Tell whether a statement that forgot its tenant would see that of others."""
    if not found.has_role:
        return fail(WALLS, "there is no role memstream_app", "run `memstream migrate`")
    if not found.may_become:
        remedy = f'let a superuser run: GRANT memstream_app TO "{found.user}";'
        return fail(WALLS, f"{found.user} may not take on the role memstream_app", remedy)
    if found.role_bypasses:
        remedy = "let a superuser run: ALTER ROLE memstream_app NOSUPERUSER NOBYPASSRLS;"
        return fail(WALLS, "it does not bind the role memstream_app", remedy)
    if found.role_owns:
        remedy = "take the owner's role from it (REVOKE), or give the tables to another user"
        return fail(WALLS, "memstream_app has the rights of the tables' owner", remedy)
    if found.unwalled:
        tables = ", ".join(found.unwalled)
        remedy = "ALTER TABLE … ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
        return fail(WALLS, f"it is off for {tables}", remedy)
    if found.user_bypasses:
        what = f"{found.user} bypasses it; only the role it takes on, memstream_app, is bound"
        return warn(WALLS, what, "connect as a user who is no superuser and has no BYPASSRLS")
    return ok(WALLS, "binds the role memstream_app")

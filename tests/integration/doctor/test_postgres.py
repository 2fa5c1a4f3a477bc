"""`memstream doctor` with a PostgreSQL that is away, closed, bare, old, new or open to all."""

from contextlib import asynccontextmanager
from datetime import timedelta
from urllib.parse import urlsplit

import asyncpg
import pytest

from memstream.clock import now
from memstream.doctor.secrets import password_of
from memstream.embedded.postgres import superuser_url
from storage.postgres import migrate
from tests.acceptance.service import free_port
from tests.examined import examined
from tests.language_model import local_language_model


@pytest.fixture
def look(monkeypatch, tmp_path):
    async def with_database(url, **more):
        return await examined(monkeypatch, tmp_path, database=url, **more)

    return with_database


@pytest.fixture
def superuser(postgres_server, postgres_url):
    """The superuser's address of the test's database."""
    return superuser_url(postgres_server.data_dir, urlsplit(postgres_url).path[1:])


async def execute(url, *statements):
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


@asynccontextmanager
async def changed(url, change, back):
    """Have something of the server changed for a moment."""
    await execute(url, change)
    try:
        yield
    finally:
        await execute(url, back)


async def test_a_database_that_is_away_is_told(look):
    report = await look(f"postgresql://u:hidden-word@127.0.0.1:{free_port()}/d")
    assert report.failed == ["database"]
    assert "cannot be reached" in report.of("database")
    assert "MEMSTREAM_DATABASE" in report.of("database")
    assert "hidden-word" not in "".join(report.lines)


async def test_something_else_on_the_port_is_told(look):
    async with local_language_model() as other:
        report = await look(f"postgresql://u:p@{other.url.removeprefix('http://')}/d")
    assert report.failed == ["database"]
    assert "what answers is not PostgreSQL" in report.of("database")


async def test_a_wrong_password_is_told(look, postgres_url):
    password = password_of(postgres_url)
    report = await look(postgres_url.replace(password, "wrong-password"))
    assert "PostgreSQL refuses us" in report.of("database")
    assert "user, password" in report.of("database")
    assert "wrong-password" not in "".join(report.lines)


async def test_a_password_that_is_not_written_as_it_must_be_is_not_shown(look):
    report = await look("postgresql://u:se/cr#et@127.0.0.1/d")
    assert report.failed == ["database"]
    assert "its address cannot be read" in report.of("database")
    assert "cr#et" not in "".join(report.lines)
    assert "'se'" not in "".join(report.lines)


async def test_a_database_that_is_not_there_is_told(look, postgres_url):
    report = await look(urlsplit(postgres_url)._replace(path="/nowhere").geturl())
    assert 'database "nowhere" does not exist' in report.of("database")
    assert "createdb" in report.of("database")


async def test_a_bare_database_is_told_what_to_run(look, postgres_url):
    report = await look(postgres_url)
    assert report.of("schema").endswith("run `memstream migrate`")
    assert report.failed == ["schema"]


async def test_a_database_without_the_extension_is_told_who_can_create_it(
    look, postgres_url, superuser
):
    await execute(superuser, "DROP EXTENSION vector")
    told = (await look(postgres_url)).of("vector")
    assert "memstream may not create it" in told
    assert "let a superuser run" in told
    assert (await look(superuser)).of("vector").endswith("run `memstream migrate`")
    name = urlsplit(superuser).path[1:]
    await execute(superuser, f"ALTER DATABASE \"{name}\" SET extension_control_path = '/nowhere'")
    told = (await look(postgres_url)).of("vector")
    assert "the server has no pgvector" in told
    assert "install pgvector 0.8" in told


async def test_an_old_extension_is_told(look, postgres_url, superuser):
    await execute(
        superuser, "UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'"
    )
    report = await look(postgres_url)
    assert "0.7.4 is too old" in report.of("vector")
    assert "ALTER EXTENSION vector UPDATE" in report.of("vector")


async def test_a_migrated_database_is_well_until_it_is_not(look, postgres_url, superuser):
    await migrate(postgres_url)
    report = await look(postgres_url)
    assert report.failed == []
    assert report.of("row-level security").startswith("ok  ")
    assert report.of("clock") == "ok    clock: agrees with the database's"
    newer = "INSERT INTO memstream.migrations VALUES (9999, 'from the future', '')"
    await execute(postgres_url, newer)
    report = await look(postgres_url)
    assert report.of("schema").endswith("upgrade memstream")
    assert report.failed == ["schema"]
    known = "(SELECT max(version) FROM memstream.migrations WHERE version < 9999)"
    await execute(postgres_url, f"DELETE FROM memstream.migrations WHERE version = {known}")
    assert (await look(postgres_url)).of("schema").endswith("run `memstream migrate`")


async def test_walls_that_do_not_hold_are_told(look, postgres_url, superuser):
    await migrate(postgres_url)
    report = await look(superuser)
    assert report.of("row-level security").startswith("warn  row-level security: postgres bypasses")
    role = "ALTER ROLE memstream_app"
    async with changed(superuser, f"{role} BYPASSRLS", f"{role} NOBYPASSRLS"):
        assert "does not bind the role" in (await look(postgres_url)).of("row-level security")
    off = "ALTER TABLE memstream.inbox DISABLE ROW LEVEL SECURITY"
    async with changed(superuser, off, off.replace("DISABLE", "ENABLE")):
        assert "off for inbox" in (await look(postgres_url)).of("row-level security")
    await execute(superuser, "ALTER TABLE memstream.inbox OWNER TO memstream_app")
    report = await look(postgres_url)
    assert "has the rights of the tables' owner" in report.of("row-level security")
    assert report.failed == ["row-level security"]


async def test_a_stranger_is_told_who_to_be(look, postgres_url, superuser):
    await migrate(postgres_url)
    make = "CREATE ROLE stranger LOGIN PASSWORD 'some-word'"
    async with changed(superuser, make, "DROP ROLE stranger"):
        parts = urlsplit(postgres_url)
        place = f"{parts.hostname}:{parts.port}"
        report = await look(f"postgresql://stranger:some-word@{place}{parts.path}")
    assert report.failed == ["database"]
    assert "the user who ran `memstream migrate`" in report.of("database")


async def test_a_database_that_can_only_be_read_is_told(look, postgres_url, superuser):
    name = urlsplit(superuser).path[1:]
    await execute(superuser, f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    assert "can only be read" in (await look(postgres_url)).of("database")


async def test_clocks_that_differ_are_told(look, postgres_url):
    for minutes, way in ((5, "300 s ahead of"), (-5, "300 s behind")):
        report = await look(postgres_url, clock=lambda m=minutes: now() + timedelta(minutes=m))
        assert report.of("clock").startswith(f"warn  clock: {way} the database's")
        assert "NTP" in report.of("clock")

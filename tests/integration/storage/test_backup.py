"""A backup as docs/operations.md makes it can be restored, and one that could not is refused."""

import asyncio
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from memstream.embedded.postgres import superuser_url
from memstream.embedded.postgres.cluster import program
from models import Item
from storage import Change, Filter
from storage.postgres import PostgresStore
from storage.sqlite import SqliteStore
from tests.integration.storage.aftermath import NOON

DOCUMENT = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()
MEMORIES = [
    Change(
        Item(event_id=tenant, tenant_id=tenant, memory_id="m", content=f"of {tenant}"), NOON, None
    )
    for tenant in ("acme", "umbrella")
]


async def contents(store):
    found = [await store.get(tenant, ["m"], Filter(NOON)) for tenant in ("acme", "umbrella")]
    return [hit.content for hits in found for hit in hits]


async def run(*command):
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    return process.returncode, out.decode()


def of_the_document(program):
    """Return the options that the document gives a program, without what is the reader's."""
    (line,) = re.findall(rf"^\$ {program} (.+)$", DOCUMENT, re.MULTILINE)
    return [word for word in line.split() if "$" not in word and "memstream.dump" not in word]


async def test_what_was_dumped_is_restored(
    emptied_postgres, postgres_url, postgres_server, tmp_path
):
    store = await PostgresStore.open(emptied_postgres)
    await store.apply(MEMORIES)
    await store.close()
    dump = f"--file={tmp_path / 'memstream.dump'}"
    command = [program("pg_dump"), *of_the_document("pg_dump"), dump]
    # The owner is behind the wall, too.
    code, told = await run(*command, emptied_postgres)
    assert code != 0
    assert "row-level security" in told
    code, told = await run(*command, as_superuser(postgres_server, emptied_postgres))
    assert code == 0, told
    restore = [program("pg_restore"), *of_the_document("pg_restore")]
    target = as_superuser(postgres_server, postgres_url)
    code, told = await run(*restore, f"--dbname={target}", tmp_path / "memstream.dump")
    assert code == 0, told
    store = await PostgresStore.open(postgres_url)
    assert await contents(store) == ["of acme", "of umbrella"]
    await store.close()
    owner = await asyncpg.connect(postgres_url)
    forced = "SELECT relforcerowsecurity FROM pg_class WHERE oid = 'memstream.memories'::regclass"
    assert await owner.fetchval(forced)
    await owner.close()


def as_superuser(server, url):
    return superuser_url(server.data_dir, urlsplit(url).path[1:])


async def test_a_copy_of_the_embedded_store_made_while_it_runs_is_whole(tmp_path):
    store = await SqliteStore.open(tmp_path / "memstream.db")
    await store.apply(MEMORIES)
    (script,) = re.findall(r"python -c \"(import sqlite3.+?)\"", DOCUMENT)
    script = script.replace(".memstream/memstream.db", str(tmp_path / "memstream.db"))
    script = script.replace("copy.db", str(tmp_path / "copy.db"))
    code, told = await run(sys.executable, "-c", script)
    assert code == 0, told
    await store.close()
    copy = await SqliteStore.open(tmp_path / "copy.db")
    assert await contents(copy) == ["of acme", "of umbrella"]
    await copy.close()

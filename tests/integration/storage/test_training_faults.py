"""What is learned, ordered or pooled is done or not, whenever process or connection dies."""

import asyncio
import os
import shutil
import signal
import sqlite3
import warnings
from contextlib import asynccontextmanager

import asyncpg
import numpy as np
import pytest

from models import Item
from storage import Change, Embedding, StoreUnavailableError
from storage.postgres import PostgresStore
from storage.postgres import policies as postgres_policies
from storage.postgres.policies import PostgresPolicies
from storage.sqlite import SqliteStore
from storage.sqlite import policies as sqlite_policies
from tests.integration.storage.aftermath import NOON
from tests.integration.storage.school import (
    REAL,
    corrected,
    everything,
    published,
    searches,
    undisturbed,
)

LOG = searches(100)
CORRECTED = [corrected(LOG[number], -0.5) for number in range(3)]
BEFORE, STEP = LOG[:75], [*CORRECTED, *LOG[75:]]
"""What was learned before, and what is being learned when it happens: two steps, with corrections,
a promotion and what is too old to be kept."""

TABLES = {
    "policies": "*",
    "lessons": "*",
    "policy_events": "tenant_id, steps, trained, kind, version, told",
    "outbox": "tenant_id, topic, value",
    "memories": "tenant_id, memory_id, exposure, exposed_use, questions",
    "common_policy": "*",
}
TENANTS = ("acme", "hooli")

WORK = {
    "learn": lambda policies: policies.learn("acme", STEP, REAL, NOON),
    "order": lambda policies: policies.control(
        "acme", "promote", REAL, NOON, actor="ann", why="now"
    ),
    "pool": lambda policies: policies.pool(REAL, NOON, 100),
}
"""What is interrupted. The first two are one transaction each; pooling is one to gather, and one
for each tenant whose weights follow from it."""

LENGTH = {"learn": 10, "order": 8, "pool": 12}
"""So many statements each has at least, or nothing is tested."""

STAGES = {"learn": 2, "order": 2, "pool": 2 + len(TENANTS)}


async def taught(store, log):
    await store.policies.learn("acme", log, REAL, NOON)


async def prepare(store):
    await store.apply(
        [
            Change(
                Item(event_id=name, tenant_id="acme", memory_id=name, content=name),
                NOON,
                Embedding("m", np.array([1, 0], np.float32)),
            )
            for name in ("m1", "m2", "m3")
        ]
    )
    await taught(store, BEFORE)
    await store.policies.learn("hooli", searches(60, tenant="hooli"), REAL, NOON)


@pytest.mark.requirement("TR-5", "TR-10")
async def test_what_is_learned_here_is_worth_testing(store):
    """The step below does all that a step can do; and it is the fold of the log, bit for bit."""
    await prepare(store)
    before, _ = await everything(store)
    await taught(store, STEP)
    after, history = await everything(store)
    assert (before.steps, after.steps, after.pending) == (3, 5, 3)
    assert after.version > before.version
    assert {"promoted"} <= {one.kind for one in history}
    study = undisturbed([*BEFORE, *STEP])
    assert after.state == study.state
    assert after.weights == REAL.serve(study.state, None, None)


def sqlite_rows(path):
    with sqlite3.connect(path) as database:
        return {
            table: sorted(database.execute(f"SELECT {columns} FROM {table}").fetchall(), key=repr)
            for table, columns in TABLES.items()
        }


def killed(path, work, statement):
    """Do it in a process that is killed before that statement; return whether it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
        return os.WIFSIGNALED(status)
    left = statement

    def trace(_):
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    async def do():
        store = await SqliteStore.open(path)
        store._database.set_trace_callback(trace)
        await WORK[work](store.policies)
        os._exit(0)

    try:
        asyncio.run(do())
    finally:
        os._exit(1)


@pytest.mark.requirement("TR-5", "TR-8", "TR-9", "TR-10")
@pytest.mark.parametrize("work", sorted(WORK))
def test_killed_between_any_two_statements_of_the_embedded_store(tmp_path, work):
    path, copy = tmp_path / "before.db", tmp_path / "copy.db"

    async def make():
        store = await SqliteStore.open(path)
        await prepare(store)
        await store.close()

    async def again(begun=lambda statement: None):
        store = await SqliteStore.open(copy)
        store._database.set_trace_callback(begun)
        await WORK[work](store.policies)
        await store.close()

    def begun(statement):
        if statement.startswith("BEGIN"):
            stages.append(sqlite_rows(copy))

    asyncio.run(make())
    shutil.copy(path, copy)
    stages = []
    asyncio.run(again(begun))
    stages.append(sqlite_rows(copy))
    assert len(stages) == STAGES[work]
    statement, died, seen = 0, True, []
    while died:
        for name in ("copy.db", "copy.db-wal", "copy.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        shutil.copy(path, copy)
        died = killed(copy, work, statement)
        rows = sqlite_rows(copy)
        assert rows in stages, f"between, before statement {statement}"
        seen.append(stages.index(rows))
        if died and statement % 8 == 0:
            asyncio.run(again())
            assert sqlite_rows(copy) == stages[-1]
        statement += 1
    # Nothing is seen before a statement that commits, and all of it after.
    assert statement > LENGTH[work]
    assert seen == sorted(seen)
    assert {*seen} == {*range(len(stages))}
    assert seen.count(len(stages) - 1) == 1


class Doomed:
    """A connection whose server process is ended before a statement."""

    def __init__(self, connection, tick):
        self._connection = connection
        self._tick = tick

    def __getattr__(self, name):
        method = getattr(self._connection, name)
        if name not in ("fetch", "execute", "executemany", "fetchval", "fetchrow"):
            return method

        async def run(*arguments):
            await self._tick(self._connection)
            return await method(*arguments)

        return run


async def postgres_rows(connection):
    found = {table: set() for table in TABLES}
    async with connection.transaction():
        for tenant in TENANTS:
            await connection.execute("SELECT set_config('app.tenant_id', $1, true)", tenant)
            for table, columns in TABLES.items():
                rows = await connection.fetch(f"SELECT {columns} FROM {table}")
                found[table] |= {tuple(row) for row in rows}
    return {table: sorted(rows, key=repr) for table, rows in found.items()}


async def save(connection):
    for table in TABLES:
        await connection.execute(f"CREATE TEMPORARY TABLE saved_{table} (LIKE {table})")
    async with connection.transaction():
        for tenant in TENANTS:
            await connection.execute("SELECT set_config('app.tenant_id', $1, true)", tenant)
            for table in TABLES.keys() - {"common_policy"}:
                await connection.execute(
                    f"INSERT INTO saved_{table} SELECT * FROM {table} WHERE tenant_id = $1", tenant
                )
        await connection.execute("INSERT INTO saved_common_policy TABLE common_policy")


async def put_back(connection, rows):
    """Make the tables what they were; rows that tell nothing of their place are told again."""
    async with connection.transaction():
        for tenant in TENANTS:
            await connection.execute("SELECT set_config('app.tenant_id', $1, true)", tenant)
            for table in ("policies", "lessons", "policy_events", "outbox"):
                await connection.execute(f"DELETE FROM {table} WHERE tenant_id = $1", tenant)
                await connection.execute(
                    f"INSERT INTO {table} OVERRIDING SYSTEM VALUE"
                    f" SELECT * FROM saved_{table} WHERE tenant_id = $1",
                    tenant,
                )
            await connection.execute(
                "UPDATE memories SET exposure = saved.exposure, exposed_use = saved.exposed_use,"
                " questions = saved.questions FROM saved_memories AS saved"
                " WHERE memories.tenant_id = $1 AND saved.tenant_id = $1"
                " AND memories.memory_id = saved.memory_id",
                tenant,
            )
        await connection.execute("DELETE FROM common_policy")
        await connection.execute("INSERT INTO common_policy SELECT * FROM saved_common_policy")
    assert await postgres_rows(connection) == rows


@pytest.mark.requirement("TR-5", "TR-8", "TR-9", "TR-10")
@pytest.mark.parametrize("work", sorted(WORK))
async def test_cut_off_between_any_two_statements_of_postgresql(emptied_postgres, work):
    settings = {"search_path": "memstream,public"}
    executioner = await asyncpg.connect(emptied_postgres, server_settings=settings)
    store = await PostgresStore.open(emptied_postgres, connections=2)
    await prepare(store)
    stages = [await postgres_rows(executioner)]
    await save(executioner)
    left = None

    async def tick(connection):
        nonlocal left
        if left is None:
            return
        left -= 1
        if left < 0:
            pid = connection.get_server_pid()
            await executioner.execute("SELECT pg_terminate_backend($1, 5000)", pid)

    @asynccontextmanager
    async def transaction():
        async with store._transaction() as connection:
            yield Doomed(connection, tick)
            # The last statement of all is the one that commits.
            await tick(connection)
        if left is None:
            stages.append(await postgres_rows(executioner))

    await WORK[work](PostgresPolicies(transaction))
    assert len(stages) == STAGES[work]
    statement, seen = 0, []
    while True:
        await put_back(executioner, stages[0])
        left = statement
        try:
            await WORK[work](PostgresPolicies(transaction))
        except StoreUnavailableError:
            rows = await postgres_rows(executioner)
            assert rows in stages[:-1], f"before statement {statement}"
            seen.append(stages.index(rows))
        else:
            assert await postgres_rows(executioner) == stages[-1]
            break
        await WORK[work](store.policies)
        assert await postgres_rows(executioner) == stages[-1]
        statement += 1
    assert statement > LENGTH[work]
    assert seen == sorted(seen)
    assert {*seen} == {*range(len(stages) - 1)}
    await store.close()
    await executioner.close()


@pytest.mark.requirement("TR-5")
@pytest.mark.parametrize("work", ["learn", "order"])
async def test_who_lost_its_turn_writes_nothing(store, work, monkeypatch):
    """As if the lock had been lost on the way: what it read of the steps is no longer so."""
    await prepare(store)
    before, told = await everything(store), await published(store)
    assert told
    with monkeypatch.context() as patch:
        for statements, name in ((sqlite_policies, "progress"), (postgres_policies, "lock")):
            outdated = statements._SQL[name].replace("SELECT steps", "SELECT steps - 1")
            assert outdated != statements._SQL[name]
            patch.setitem(statements._SQL, name, outdated)
        with pytest.raises(StoreUnavailableError, match="was written meanwhile"):
            await WORK[work](store.policies)
    assert await everything(store) == before
    assert await published(store) == []
    await WORK[work](store.policies)
    assert await everything(store) != before

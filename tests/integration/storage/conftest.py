"""Each store in turn: what every store must do is tested on both."""

from pathlib import Path

import pytest

from storage.postgres import PostgresStore, migrate
from storage.sqlite import SqliteStore


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return tmp_path / "memstream.db"


@pytest.fixture
async def store(database):
    if isinstance(database, Path):
        opened = await SqliteStore.open(database)
    else:
        await migrate(database)
        opened = await PostgresStore.open(database, connections=4)
    yield opened
    await opened.close()

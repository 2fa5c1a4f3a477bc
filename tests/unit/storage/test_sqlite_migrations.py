"""A file gets every migration once, in whatever order they were written."""

import sqlite3

import pytest

from storage.sqlite import database
from storage.sqlite.database import WRITTEN_LATER, connect
from storage.statements import migrations

ALL = {version for version, _, _ in migrations("storage.sqlite")}


def shape(path):
    connection = connect(path)
    made = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    found = connection.execute(made).fetchall()
    applied = {version for (version,) in connection.execute("SELECT version FROM migrations")}
    connection.close()
    return found, applied


@pytest.mark.parametrize("until", [0, 7, 11, 14])
def test_a_file_of_an_earlier_version_is_brought_up_to_date(tmp_path, until):
    connection = sqlite3.connect(tmp_path / "old.db")
    for version, _, sql in migrations("storage.sqlite"):
        if version <= until and version not in WRITTEN_LATER:
            connection.executescript(sql)
    connection.execute(f"PRAGMA user_version = {until}")
    connection.close()
    assert shape(tmp_path / "old.db")[1] == ALL
    kinds = [(kind, name) for kind, name, _ in shape(tmp_path / "old.db")[0]]
    assert kinds == [(kind, name) for kind, name, _ in shape(tmp_path / "new.db")[0]]


def test_one_that_was_written_late_is_made_up_for(tmp_path, monkeypatch):
    every = migrations("storage.sqlite")
    monkeypatch.setattr(database, "migrations", lambda _: [one for one in every if one[0] != 13])
    assert shape(tmp_path / "memstream.db")[1] == ALL - {13}
    monkeypatch.undo()
    found, applied = shape(tmp_path / "memstream.db")
    assert applied == ALL
    assert ("view", "memstream_searches") in [one[:2] for one in found]

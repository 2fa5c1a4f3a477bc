"""The file that says where the service is: believed only while that service lives."""

import os

import psutil
import pytest

from memstream.addresses import sqlite_path
from memstream.runtime import Runtime, forget_runtime, read_runtime, with_running_parts
from memstream.settings import Settings


@pytest.fixture
def runtime():
    return Runtime(
        broker="127.0.0.1:9092",
        web="http://127.0.0.1:6066",
        database="postgresql://u:p@127.0.0.1/x",
        pid=os.getpid(),
    )


def test_what_is_written_is_read_and_only_its_owner_may(tmp_path, runtime):
    runtime.write(tmp_path)
    assert read_runtime(tmp_path) == runtime
    assert (tmp_path / "runtime.json").stat().st_mode & 0o077 == 0
    forget_runtime(tmp_path)
    assert read_runtime(tmp_path) is None


def test_a_file_older_than_the_process_with_its_number_is_another_services(tmp_path, runtime):
    runtime.write(tmp_path)
    before = psutil.Process().create_time() - 60
    os.utime(tmp_path / "runtime.json", (before, before))
    assert read_runtime(tmp_path) is None


def test_a_broken_file_is_no_service(tmp_path):
    (tmp_path / "runtime.json").write_text("{")
    assert read_runtime(tmp_path) is None


def test_running_parts_fill_in_what_is_not_configured(tmp_path, runtime):
    runtime.write(tmp_path)
    found = with_running_parts(Settings(data_dir=tmp_path))
    assert (found.broker, found.database) == ("kafka://127.0.0.1:9092", runtime.database)
    chosen = Settings(data_dir=tmp_path, broker="kafka://elsewhere:1", database="postgresql://x/y")
    assert with_running_parts(chosen) == chosen


def test_a_running_services_file_may_be_in_a_folder_of_its_own(tmp_path, runtime):
    database = tmp_path / "demo" / "memstream.db"
    runtime.model_copy(update={"database": str(database)}).write(tmp_path)
    assert sqlite_path(with_running_parts(Settings(data_dir=tmp_path))) == database

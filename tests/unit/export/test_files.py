"""Exported files: nothing of a trajectory is lost, and a file is whole or not there."""

import json
import sys

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstream.export import FORMATS, SCHEMA_VERSION, ExportError, read_parquet
from memstream.export import files as export_files
from memstream.export.columns import VERSION_KEY, row, schema, trajectory_of
from memstream.export.files import Output
from models import Action, Trajectory
from models.choices import Choice
from tests.integration.storage.school import searches
from tests.unit.topics.conftest import records

CHOICES = records(Choice).map(lambda choice: {"choice": choice.model_dump()})


@st.composite
def trajectories(draw):
    """Any trajectory, with choices among its actions, and with what only looks like one."""
    trajectory = draw(records(Trajectory))
    actions = [
        action.model_copy(update={"params": {**action.params, **draw(CHOICES | st.just({}))}})
        for action in draw(st.lists(records(Action), max_size=3))
    ]
    return trajectory.model_copy(update={"actions": (*trajectory.actions, *actions)})


@settings(max_examples=30)
@given(st.lists(trajectories(), max_size=4))
def test_parquet_gives_back_what_was_written(tmp_path_factory, written):
    file = tmp_path_factory.mktemp("export") / "t.parquet"
    with Output(file, "parquet") as output:
        for one in written:
            output.write(one, 100)
    assert list(read_parquet(file)) == written


@pytest.mark.parametrize(
    "odd",
    [
        {"choice": None},
        {"choice": "rlm"},
        {"choice": {"point": "route"}},
        # With more than the columns hold it stays whole where it was.
        {"choice": {**searches(1)[0].actions[0].params["choice"], "more": 1}},
    ],
)
def test_what_is_no_choice_stays_in_params(odd):
    (one,) = searches(1)
    one = one.model_copy(update={"actions": (one.actions[0].model_copy(update={"params": odd}),)})
    assert row(one)["actions"][0]["point"] is None
    assert trajectory_of(row(one)) == one


def test_a_choice_has_columns_of_its_own():
    action = row(searches(1)[0])["actions"][0]
    assert (action["point"], action["propensity"], action["params"]) == ("route", 0.5, "{}")
    assert action["option"] in dict(action["options"])


def test_row_groups_are_written_as_they_fill(tmp_path, monkeypatch):
    monkeypatch.setattr(export_files, "ROWS_AT_A_TIME", 10)
    monkeypatch.setattr(export_files, "GROUP_ROWS", 20)
    log = searches(45)
    with Output(tmp_path / "t.parquet", "parquet") as output:
        for one in log:
            output.write(one, 100)
    with pq.ParquetFile(tmp_path / "t.parquet") as file:
        assert [file.metadata.row_group(n).num_rows for n in range(3)] == [20, 20, 5]
        assert file.schema_arrow.metadata[VERSION_KEY] == SCHEMA_VERSION.encode()
        assert file.schema_arrow.names == schema().names
    assert list(read_parquet(tmp_path / "t.parquet")) == log


def test_large_trajectories_make_smaller_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(export_files, "GROUP_BYTES", 1)
    with Output(tmp_path / "t.parquet", "parquet") as output:
        for one in searches(4):
            output.write(one, export_files.BYTES_AT_A_TIME)
    with pq.ParquetFile(tmp_path / "t.parquet") as file:
        assert file.metadata.num_row_groups == 4


def test_columns_are_the_fields_of_the_message():
    assert set(schema().names) == set(Trajectory.model_fields)
    fields = {field.name for field in schema().field("actions").type.value_type}
    assert fields == set(Action.model_fields) | set(Choice.model_fields)


def test_json_lines_are_the_messages(tmp_path):
    with Output(tmp_path / "t.jsonl", "jsonl") as output:
        for one in searches(3):
            output.write(one, 100)
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    assert [Trajectory.model_validate_json(line) for line in lines] == searches(3)
    assert "choice" in json.loads(lines[0])["actions"][0]["params"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_is_whole_or_as_it_was(tmp_path, form):
    file = tmp_path / "t"
    file.write_text("before")

    def interrupted():
        with Output(file, form) as output:
            output.write(searches(1)[0], 100)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]
    with Output(file, form):
        pass
    assert file.read_bytes() != b"before"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("name", "why"), [("gone/t", "No such file"), ("", "it is a folder"), ("/dev/full/t", "Not a")]
)
def test_what_cannot_be_written_is_told(tmp_path, form, name, why):
    with pytest.raises(ExportError, match=why):
        Output(tmp_path / name, form)
    assert list(tmp_path.iterdir()) == []


def test_without_pyarrow_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExportError, match=r"memstream\[analytics\]"):
        Output(tmp_path / "t.parquet", "parquet")
    with Output(tmp_path / "t.jsonl", "jsonl"):
        pass

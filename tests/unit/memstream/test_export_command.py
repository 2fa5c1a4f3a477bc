"""`memstream export` complains in one line, before it reads anything."""

import sys
from datetime import UTC, datetime

import pytest

from memstream.cli import main
from memstream.cli.shell import moment


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--format", "xlsx"), "there is no format 'xlsx': use parquet or jsonl"),
        (("--from", "yesterday"), "--from is 'yesterday'; Input should be an RFC 3339"),
        (("--until", "2026-11-16T09:30"), "--until is '2026-11-16T09:30'; Input should be an RFC"),
        (("--until", "2026-11-31"), "--until is '2026-11-31'; Input should be"),
        ((), "memstream is not running here"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(arguments, told, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEMSTREAM_DATA_DIR", str(tmp_path))
    file = tmp_path / "t.parquet"
    monkeypatch.setattr(sys, "argv", ["memstream", "export", "--out", str(file), *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    complaint = capsys.readouterr().err
    assert told in complaint
    assert complaint.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_date_is_the_moment_when_it_begins():
    assert moment("--from", "2026-11-16") == datetime(2026, 11, 16, tzinfo=UTC)
    assert moment("--from", "2026-11-16T01:00:00+01:00") == datetime(2026, 11, 16, tzinfo=UTC)
    assert moment("--from", None) is None

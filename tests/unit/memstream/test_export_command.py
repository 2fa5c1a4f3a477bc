"""`memstream export` complains in one line, before it reads anything."""

import sys

import pytest

from memstream.cli import main


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--format", "xlsx"), "there is no format 'xlsx': use parquet or jsonl"),
        (("--from", "yesterday"), "--from is 'yesterday'; Input should be an RFC 3339"),
        (("--until", "2026-11-16"), "--until is '2026-11-16'; Input should be an RFC 3339"),
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

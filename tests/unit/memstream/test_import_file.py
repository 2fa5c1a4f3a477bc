"""Files of memories: contract or dataset names, all or nothing."""

import itertools
import json

import pytest

from memstream.import_file import ImportFileError, read_items


@pytest.fixture
def new_id():
    numbers = itertools.count()
    return lambda: f"id-{next(numbers)}"


def _file(tmp_path, *lines):
    file = tmp_path / "memories.jsonl"
    file.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )
    return file


def test_dataset_lines_become_items_in_order_within_their_session(tmp_path, new_id):
    lines = [
        {"id": "a", "tenant": "t", "layer": "session", "session": "s1", "content": "one"},
        {"id": "b", "tenant": "t", "layer": "session", "session": "s2", "content": "two"},
        {"id": "c", "tenant": "t", "layer": "session", "session": "s1", "content": "three"},
    ]
    items = read_items(_file(tmp_path, *lines), None, new_id)
    assert [(item.memory_id, item.session_id, item.position) for item in items] == [
        ("a", "s1", 0),
        ("b", "s2", 0),
        ("c", "s1", 1),
    ]


def test_missing_ids_and_tenants_are_filled_in(tmp_path, new_id):
    (item,) = read_items(_file(tmp_path, {"content": "one"}, ""), "t", new_id)
    assert (item.tenant_id, item.event_id, item.memory_id) == ("t", "id-0", "id-1")


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x0b"])
def test_only_a_line_feed_ends_a_line(tmp_path, new_id, sign):
    line = f'{{"content": "one{sign}two", "tenant": "t"}}'.replace("\x0b", "\\u000b")
    file = tmp_path / "memories.jsonl"
    file.write_bytes(f"{line}\r\n\n{line}\n".encode())
    assert [item.content for item in read_items(file, None, new_id)] == [f"one{sign}two"] * 2


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        f'{{"content": {"9" * 5000}}}',
        '{"content": 1, "tenant": "t"}',
        '{"content": "x"}',
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path, new_id, line):
    with pytest.raises(ImportFileError, match="line 2"):
        read_items(_file(tmp_path, {"content": "fine", "tenant": "t"}, line), None, new_id)


def test_a_file_that_is_not_there_is_named(tmp_path, new_id):
    with pytest.raises(ImportFileError, match=r"nowhere\.jsonl"):
        read_items(tmp_path / "nowhere.jsonl", None, new_id)

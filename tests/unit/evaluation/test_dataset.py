"""Dataset folders as people write them, and what they are told when they got one wrong."""

import json

import pytest

from memstream.evaluation.dataset import DatasetError, read_dataset

MEMORY = {"id": "m", "tenant": "t", "layer": "user", "content": "text"}
QUERY = {"id": "q", "tenant": "t", "query": "what?", "category": "c", "gold": ["m"]}


def written(folder, memories=(MEMORY,), queries=(QUERY,), between="\n"):
    for name, lines in (("memories", memories), ("queries", queries)):
        text = between.join(json.dumps(line, ensure_ascii=False) for line in lines)
        (folder / f"{name}.jsonl").write_bytes(text.encode())
    return folder


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_a_line(tmp_path, sign):
    memories = [MEMORY | {"content": f"one{sign}two"}]
    queries = [QUERY | {"query": f"one{sign}two"}]
    dataset = read_dataset(written(tmp_path, memories, queries))
    assert [memory.content for memory in dataset.memories] == [f"one{sign}two"]
    assert [query.query for query in dataset.queries] == [f"one{sign}two"]


def test_blank_lines_and_carriage_returns_are_passed_over(tmp_path):
    queries = (QUERY, QUERY | {"id": "r"})
    dataset = read_dataset(written(tmp_path, queries=queries, between="\r\n \r\n\n"))
    assert [query.id for query in dataset.queries] == ["q", "r"]


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"query": ""}, "query"),
        ({"query": "x" * 8193}, "query"),
        ({"gold": []}, "gold"),
        ({"gold": ["m", "nobody"]}, "nobody"),
        ({"asked_at": "never"}, "asked_at"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, wrong, complaint):
    written(tmp_path, queries=(QUERY, QUERY | wrong), between="\n\n")
    with pytest.raises(DatasetError, match=r"queries\.jsonl, line 3: ") as caught:
        read_dataset(tmp_path)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dataset_without_questions_is_none(tmp_path):
    with pytest.raises(DatasetError, match="no queries"):
        read_dataset(written(tmp_path, queries=()))

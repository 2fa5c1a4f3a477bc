"""`memstream eval` on a dataset made for the test."""

import json

import pytest

from tests.acceptance.language_model import language_model
from tests.acceptance.service import Service

MEMORIES = [
    ("cat", "Her cat is called Momo"),
    ("port", "The login endpoint listens on port 8443"),
    ("nausea", "User experiences nausea after dairy"),
    ("kettle", "The kettle is descaled on Fridays"),
]
QUERIES = [
    ("the name of her pet", "one", ["cat"]),
    ("when is the kettle cleaned?", "one", ["kettle"]),
    ("which port does login use, and when does the user feel unwell?", "two", ["port", "nausea"]),
]


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "made-up"
    folder.mkdir()
    memories = [
        {"id": name, "tenant": tenant, "layer": "user", "content": content, "session": name}
        for tenant in ("acme", "umbrella")
        for name, content in MEMORIES
    ]
    queries = [
        {"id": f"{tenant}{n}", "tenant": tenant, "query": query, "category": category, "gold": gold}
        for tenant in ("acme", "umbrella")
        for n, (query, category, gold) in enumerate(QUERIES)
    ]
    for name, lines in (("memories", memories), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    return folder


@pytest.fixture
def command(tmp_path, models):
    return Service(tmp_path / "data", models=models).command


@pytest.mark.parametrize("database", ["embedded", "embedded-postgres"])
def test_quality_is_measured_as_the_contract_says(command, dataset, database):
    outcome = command(
        "eval", "--dataset", str(dataset), "--k", "2", "--json", "--database", database
    )
    measured = json.loads(outcome.stdout)
    assert list(measured) == [
        *("dataset", "queries", "k", "recall", "all_evidence", "mrr"),
        *("p50_ms", "p95_ms", "by_category"),
    ]
    assert (measured["dataset"], measured["queries"], measured["k"]) == ("made-up", 6, 2)
    assert measured["recall"] == measured["all_evidence"] == measured["mrr"] == 1.0
    assert set(measured["by_category"]) == {"one", "two"}
    assert 0 < measured["p50_ms"] <= measured["p95_ms"]


def test_a_table_is_shown_to_people(command, dataset):
    shown = command("eval", "--dataset", str(dataset), "--k", "1", "--route", "standard").stdout
    assert "made-up" in shown
    assert "0.833" in shown


def test_every_route_can_be_measured(command, dataset):
    for route, which, queries in (("auto", (), 6), ("rlm", ("--several",), 2)):
        options = ("--route", route, *which, "--json")
        measured = json.loads(command("eval", "--dataset", str(dataset), *options).stdout)
        assert measured["queries"] == queries
        assert measured["recall"] == 1.0


@pytest.mark.requirement("RX-7")
def test_a_language_model_is_asked_if_one_is_configured(tmp_path, models, dataset):
    with language_model() as model:
        command = Service(tmp_path / "data", models=models, **model.settings).command
        asked = ("eval", "--dataset", str(dataset), "--json", "--route")
        for route, called in (("standard", False), ("rlm", True)):
            assert json.loads(command(*asked, route).stdout)["recall"] == 1.0
            assert (model.calls > 0) == called


def test_what_is_wrong_with_a_dataset_is_one_clear_line(command, dataset, tmp_path):
    with (dataset / "queries.jsonl").open("a") as file:
        file.write('\n{"id": "x", "tenant": "acme", "query": "?", "category": "c", "gold": ["no"]}')
    for arguments, complaint in (
        ((str(dataset),), "'no'"),
        ((str(tmp_path / "nowhere"),), "memories.jsonl"),
        ((str(dataset), "--route", "sideways"), "sideways"),
    ):
        outcome = command("eval", "--dataset", *arguments, check=False)
        assert outcome.returncode == 1
        assert complaint in outcome.stderr
        assert "Traceback" not in outcome.stderr


def test_other_ways_are_shown_beside_it(command, dataset):
    measured = json.loads(command("eval", "--dataset", str(dataset), "--baseline", "--json").stdout)
    assert list(measured["baselines"]) == ["vector", "BM25", "RRF"]
    for other in measured["baselines"].values():
        assert set(other["by_category"]) == {"one", "two"}
    outcome = command("eval", "--dataset", str(dataset), "--without", "luck", check=False)
    assert outcome.returncode == 1
    assert "mentions" in outcome.stderr

"""`memstream tenant` on the embedded store, with no service running."""

import json

import pytest

from tests.acceptance.service import Service


@pytest.fixture
def command(tmp_path):
    return Service(tmp_path / "data").command


def shown(command, *arguments):
    return json.loads(command("tenant", *arguments, "--json").stdout)


@pytest.mark.requirement("SE-1", "RT-6")
def test_what_is_set_is_shown_for_that_tenant_only(command):
    command("tenant", "set", "acme", "routing_threshold=0.5", "rlm_enabled=off")
    command("tenant", "set", "acme", "fusion_weights=0.6,0.4", "routing_threshold=0.6")
    acme = shown(command, "show", "acme")
    assert acme["tenant_id"] == "acme"
    assert acme["overrides"] == {
        "routing_threshold": 0.6,
        "rlm_enabled": False,
        "fusion_weights": {"vector": 0.6, "keyword": 0.4},
    }
    assert acme["in_force"]["routing_threshold"] == 0.6
    assert acme["in_force"]["search_threshold"] == 0.7
    umbrella = shown(command, "show", "umbrella")
    assert umbrella["overrides"] == {}
    assert umbrella["in_force"]["rlm_enabled"] is True
    assert "latency_budget_ms" in umbrella["in_force"]


def test_an_override_is_removed_with_default_or_nothing(command):
    command("tenant", "set", "acme", "token_budget=10", "rlm_enabled=no", "global_prior=no")
    left = shown(command, "set", "acme", "token_budget=", "rlm_enabled=default")
    assert left["overrides"] == {"global_prior": False}
    assert left["in_force"]["token_budget"] == 2000


def test_people_see_a_table_that_says_whose_each_value_is(command):
    table = command("tenant", "set", "[acme]", "token_budget=10").stdout
    assert "[acme]" in table
    rows = {
        cells[0]: cells[1:]
        for line in table.splitlines()
        if len(cells := [cell.strip() for cell in line.strip("│").split("│")]) == 3
    }
    assert rows["token_budget"] == ["10", "tenant"]
    assert rows["routing_threshold"] == ["0.3", "default"]
    assert rows["latency_budget_ms"] == ["30000.0", "default"]


def test_what_is_wrong_is_one_clear_line_and_nothing_is_set(command):
    for arguments, complaint in (
        (
            ("set", "acme", "token_budget=10", "routing_threshold=[red]"),
            "routing_threshold is '[red]'; allowed: a number from 0 to 1",
        ),
        (("set", "a\nb", "token_budget=1"), "tenant_id"),
    ):
        outcome = command("tenant", *arguments, check=False)
        assert outcome.returncode == 1
        assert complaint in outcome.stderr
        assert len(outcome.stderr.splitlines()) == 1
        assert outcome.stdout == ""
    assert shown(command, "show", "acme")["overrides"] == {}

"""`memstream policy` on the embedded store, with no service running."""

import asyncio
import io
import json
import sys
from types import SimpleNamespace

import pytest

from learning.sense import SENSE
from memstream.cli import main
from storage.sqlite import SqliteStore
from tests.integration.storage.aftermath import NOON
from tests.integration.storage.school import REAL, searches


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    async def teach():
        store = await SqliteStore.open(tmp_path / "memstream.db")
        await store.policies.learn("acme", searches(110), REAL, NOON)
        await store.close()

    def command(*arguments, check=True, typed=None):
        """Run a command in this process: another one would take seconds to begin."""
        monkeypatch.setattr(sys, "argv", ["memstream", *arguments])
        stdin = io.StringIO(typed)
        stdin.isatty = lambda: typed is not None
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        assert not check or not ended.value.code, told.err
        return SimpleNamespace(returncode=ended.value.code, stdout=told.out, stderr=told.err)

    monkeypatch.setenv("MEMSTREAM_DATA_DIR", str(tmp_path))
    asyncio.run(teach())
    return command


def shown(command, *arguments):
    return json.loads(command("policy", *arguments, "--tenant", "acme", "--json").stdout)


@pytest.mark.requirement("TR-9")
def test_what_was_learned_is_shown_against_what_it_began_with(command):
    policy = shown(command, "show")
    assert (policy["trained"], policy["pending"]) == (100, 10)
    assert policy["version"] > 0
    assert policy["weights"]["route/rlm/always"]["prior"] == 0.0
    assert policy["weights"]["route/rlm/score"]["weight"] > 0
    for trial in policy["staged"].values():
        if trial["lower"] is not None:
            assert trial["lower"] <= trial["estimate"] <= trial["upper"]
    assert SENSE not in policy["staged"]
    people = command("policy", "show", "--tenant", "acme").stdout
    assert "100 searches in 5 steps, 10 waiting" in people
    told = "tell memories apart" if policy["signals"]["tell"] else "not seen to tell memories apart"
    assert told in people
    assert f"({policy['signals']['lists']} lists)" in people
    assert "route/rlm/score" in people
    nobody = command("policy", "show", "--tenant", "nobody").stdout
    assert "the shipped policy" in nobody
    assert "not seen to tell memories apart yet (0 lists)" in nobody
    assert "every weight is as shipped" in nobody


@pytest.mark.requirement("TR-6", "TR-9")
def test_orders_are_carried_out_and_recorded(command):
    version = shown(command, "show")["version"]
    told = command("policy", "rollback", "-t", "acme", "--why", "a bad day", "--yes")
    assert told.stdout == f"version {version + 1} serves acme\n"
    assert shown(command, "show")["suspended"]
    command("policy", "bootstrap", "-t", "acme")
    history = shown(command, "history")
    assert [one["kind"] for one in history[:3]] == ["bootstrapped", "suspended", "rolled back"]
    assert (history[2]["why"], history[2]["trained"]) == ("a bad day", 100)
    assert history[2]["actor"]
    assert [one["ordered"] for one in history[:4]] == ["bootstrap", None, "rollback", None]
    people = command("policy", "history", "-t", "acme", "--limit", "3").stdout
    assert "a bad day" in people


@pytest.mark.requirement("TR-9")
def test_what_cannot_be_done_is_said_and_what_can_is_asked_for_first(command):
    refused = command("policy", "promote", "-t", "nobody", "--yes", check=False)
    assert refused.returncode == 1
    assert refused.stderr == "error: there is nothing to promote: nothing was learned yet\n"
    before = shown(command, "show")["version"]
    unsaid = command("policy", "promote", "-t", "acme", check=False, typed="n\n")
    assert unsaid.returncode == 1
    assert unsaid.stderr.endswith("error: not confirmed: nothing was done\n")
    assert shown(command, "show")["version"] == before
    command("policy", "promote", "-t", "acme", typed="y\n")
    assert shown(command, "show")["version"] == before + 1


@pytest.mark.requirement("TR-9")
@pytest.mark.parametrize("order", ["promote", "rollback"])
def test_where_nobody_could_answer_nobody_is_asked(command, order):
    before = shown(command, "show")["version"]
    assert command("policy", order, "-t", "acme").stderr == ""
    assert shown(command, "show")["version"] == before + 1


@pytest.mark.requirement("TR-9")
def test_weights_are_shown_against_the_global_prior_where_it_takes_part(command, tmp_path):
    async def share():
        store = await SqliteStore.open(tmp_path / "memstream.db")
        await store.policies.pool(REAL, NOON, 100)
        await store.close()

    assert "global prior" not in command("policy", "show", "-t", "acme", "--all").stdout
    asyncio.run(share())
    assert "global prior" in command("policy", "show", "-t", "acme", "--all").stdout
    nobody = command("policy", "show", "-t", "nobody").stdout
    assert "every weight is as the global prior" in nobody

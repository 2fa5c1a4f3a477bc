"""Replaying a log gives what was learned live to the last bit, or says why not."""

import json
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest

from learning.config import LearningConfig
from learning.pupil import Pupil
from learning.rewards import RewardWeights
from memstream.cli import main, replaying
from memstream.replay import Replay
from memstream.replay_display import difference, plot_what_if, show_comparison, show_what_if
from memstream.what_if import Trying, WhatIfError, read_what_if
from retrieval.ranking import PRIOR
from storage.sqlite import SqliteStore
from tests.integration.storage.aftermath import NOON
from tests.integration.storage.school import corrected, searches
from topics import TopicNames

CAREFUL = LearningConfig()


def pupil(config, hindsight=None):
    watch = hindsight and hindsight.look
    return Pupil(PRIOR, config, TopicNames(), timedelta(hours=1), watch)


class Log:
    """What was written, some of which the service has not read yet when a replay begins."""

    def __init__(self, trajectories, lost=False):
        self._left = list(trajectories)
        self._lost = lost
        self.unreadable = 0

    async def read(self):
        while self._left:
            yield self._left.pop(0)

    async def lost_its_beginning(self):
        return self._lost


@pytest.fixture
async def store(tmp_path):
    store = await SqliteStore.open(tmp_path / "memstream.db")
    yield store
    await store.close()


LOGS = {tenant: searches(90, tenant=tenant) for tenant in ("acme", "hooli")}
WRITTEN = [one for pair in zip(*LOGS.values(), strict=True) for one in pair]
WRITTEN += [corrected(LOGS["acme"][number], -0.5) for number in range(25)]


async def live(store, trajectories=WRITTEN):
    for one in trajectories:
        await store.policies.learn(one.tenant_id, [one], pupil(CAREFUL), NOON)


async def replayed(store, log, trying=None, *, whole=True):
    replay = Replay(store, pupil, trying)
    await replay.read(log)
    return replay, await replay.compare(log, whole=whole)


@pytest.mark.requirement("TR-10")
async def test_a_replay_gives_the_same_bits(store):
    await live(store)
    await store.policies.control("acme", "promote", pupil(CAREFUL), NOON, actor="ann", why="")
    await store.policies.control("acme", "rollback", pupil(CAREFUL), NOON, actor="ann", why="")
    await live(store, searches(130, tenant="acme")[90:])
    written = [*WRITTEN, *searches(130, tenant="acme")[90:]]
    replay, compared = await replayed(store, Log(written))
    assert {name: one["identical"] for name, one in compared.items()} == {
        "acme": True,
        "hooli": True,
    }
    assert compared["acme"]["steps"] == 7
    assert replay.passes["acme"].study.state == (await store.policies.state("acme")).state
    # What the service has not read yet makes no difference.
    _, compared = await replayed(store, Log([*written, *searches(200, tenant="hooli")[90:]]))
    assert compared["hooli"]["identical"]
    assert compared["hooli"]["replayed_steps"] > compared["hooli"]["steps"]


def _garbled(trajectory):
    """Return a trajectory, of which one choice is none."""
    first, *rest = trajectory.actions
    garbled = first.model_copy(update={"params": {**first.params, "choice": {"point": "nowhere"}}})
    return trajectory.model_copy(update={"actions": (garbled, *rest)})


@pytest.mark.requirement("TR-10")
async def test_what_cannot_be_read_is_passed_over_and_told(store, capsys):
    """As live, where it becomes a dead letter and the next one is learned from."""
    written = [*WRITTEN[:31], _garbled(WRITTEN[31]), *WRITTEN[32:]]
    for one in written:
        try:
            await store.policies.learn(one.tenant_id, [one], pupil(CAREFUL), NOON)
        except ValueError:
            garbled = one.tenant_id
    _, compared = await replayed(store, Log(written))
    assert all(one["identical"] for one in compared.values())
    assert {name: one["unreadable"] for name, one in compared.items() if one["unreadable"]} == {
        garbled: 1
    }
    show_comparison(compared, unreadable=2)
    assert "3 of the topic's messages could not be read" in capsys.readouterr().out


@pytest.mark.requirement("TR-10")
async def test_what_serves_is_compared_as_far_as_it_follows_from_the_log(store):
    bold = replace(CAREFUL, gate_lessons=20, gate_z=0.0)

    def eager(_, hindsight=None):
        return pupil(bold, hindsight)

    async def compared(tenant_id=None):
        replay, log = Replay(store, eager, None, tenant_id), Log(WRITTEN)
        await replay.read(log)
        found = await replay.compare(log, whole=True)
        assert all(one["identical"] for one in found.values())
        return {name: one["serves"] for name, one in found.items()}

    for one in WRITTEN:
        await store.policies.learn(one.tenant_id, [one], eager(None), NOON)
    assert await compared() == {"acme": True, "hooli": True}
    # Blended with what others give, it follows from the logs of all, but not from its own.
    alone = (await store.policies.state("acme")).weights
    await store.policies.pool(eager(None), NOON, 10)
    blended = await store.policies.state("acme")
    assert blended.blended
    assert blended.weights != alone
    assert await compared() == {"acme": True, "hooli": True}
    assert await compared("acme") == {"acme": None}


@pytest.mark.requirement("TR-10")
async def test_other_weights_than_those_learned_are_noticed(store, tmp_path):
    await live(store)
    with closing(sqlite3.connect(tmp_path / "memstream.db")) as database, database:
        database.execute(
            "UPDATE policies SET weights = json_set(weights, '$.\"rank/bm25\"', 9.0) "
            "WHERE tenant_id = 'acme'"
        )
    _, compared = await replayed(store, Log(WRITTEN))
    assert [one["identical"] for one in compared.values()] == [False, True]
    assert "what serves" in compared["acme"]["why"]
    assert difference(compared) == (
        "the log does not give the live policy of acme: "
        "what serves does not follow from what was learned"
    )


@pytest.mark.parametrize("identical", [True, False])
def test_a_difference_ends_in_one_line_and_status_1(identical, monkeypatch, capsys):
    compared = {"identical": identical, "why": "too few [steps]", "steps": 1, "replayed_steps": 0}

    async def found(*_):
        live = {**compared, "serves": None, "unreadable": 0}
        return {"unreadable": 0, "tenants": {"acme": {"live": live}}}

    monkeypatch.setattr(replaying, "_replayed", found)
    monkeypatch.setattr(sys, "argv", ["memstream", "replay"])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    assert ended.value.code == (0 if identical else 1)
    line = "error: the log does not give the live policy of acme: too few [steps]\n"
    assert told.err == ("" if identical else line)


def _worthless(trajectory):
    return trajectory.model_copy(update={"reward": 0.0})


@pytest.mark.requirement("TR-10")
async def test_what_is_not_the_same_is_said_to_be(store, capsys):
    await live(store)
    for log, whole, why in (
        (Log(WRITTEN[30:], lost=True), True, "the topic no longer holds its beginning"),
        (Log(WRITTEN[30:]), False, "only a part of the log was read"),
        (Log(WRITTEN[:100]), True, "the topic holds 2 of 5 steps"),
        (Log([_worthless(one) for one in WRITTEN]), True, "another version of memstream"),
    ):
        _, compared = await replayed(store, log, whole=whole)
        assert not compared["acme"]["identical"]
        assert why in compared["acme"]["why"]
    _, compared = await replayed(store, Log(searches(30, tenant="new")))
    assert compared["new"]["why"] == "nothing was learned live yet"
    show_comparison(compared)
    assert "nothing was learned live yet" in capsys.readouterr().out


@pytest.mark.requirement("TR-10")
async def test_another_way_to_learn_is_tried_on_the_history(store, tmp_path, capsys):
    await live(store)
    trying = read_what_if(["gate_lessons=20", "gate_z=0.5", "reward_success=0"], RewardWeights())
    replay, compared = await replayed(store, Log(WRITTEN), trying)
    assert compared["acme"]["identical"]
    as_it_is, tried = replay.passes["hooli"].report(), replay.tried["hooli"].report()
    assert as_it_is["trained"] == tried["trained"] == 80
    # Without success every search of no tokens is worth the same: nothing can be learned from it.
    for one in (as_it_is, tried):
        logged = one["estimates"]["route"]["logged"]
        assert logged["value"] == pytest.approx(0.3)
        assert logged["n"] == 80
    bold = read_what_if(["gate_lessons=20", "gate_z=0"], RewardWeights())
    replay, _ = await replayed(store, Log(WRITTEN), bold)
    as_it_is, tried = replay.passes["hooli"].report(), replay.tried["hooli"].report()
    assert tried["events"]["promoted"] > as_it_is["events"].get("promoted", 0)
    assert tried["version"] > as_it_is["version"]
    for kind in ("ips", "snips", "dr"):
        then, now = (one["estimates"]["route"][kind] for one in (as_it_is, tried))
        assert now["lower"] <= now["value"] <= now["upper"]
        # What pays is found earlier, and pays; plain IPS is too noisy to see it in 80 searches.
        assert now["value"] > then["value"] or kind == "ips"
    json.dumps(tried)
    show_what_if("hooli", as_it_is, tried)
    assert "route: doubly robust" in capsys.readouterr().out
    plot_what_if("hooli", as_it_is, tried, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_typed_is_read_or_refused():
    read = read_what_if(["reward_efficiency=0.1", "gate_lessons=7", "ridge=3"], RewardWeights())
    assert read.rewards == RewardWeights(1.0, 0.1)
    assert (read.config.gate_lessons, read.config.ridge) == (7, 3.0)
    assert read_what_if(["ridge=3"], RewardWeights()).rewards is None
    assert read_what_if([], RewardWeights()) == Trying()
    assert read_what_if(["gate_bound=bernstein"], RewardWeights()).config.gate_bound == "bernstein"
    for wrong in ("speed=1", "ridge", "ridge=fast", "gate_lessons=1.5", "ridge=nan", "ridge=-1"):
        with pytest.raises(WhatIfError, match=wrong.partition("=")[0]):
            read_what_if([wrong], RewardWeights())
    with pytest.raises(WhatIfError, match="gate_bound is 'nonsense'; it should be normal or bern"):
        read_what_if(["gate_bound=nonsense"], RewardWeights())

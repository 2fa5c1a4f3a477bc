"""A simulation goes through retrieval, join and learning as the service does, seed by seed."""

import random
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from learning.config import LearningConfig
from learning.prior import pooled
from learning.serving import serving_weights
from learning.state import Learned
from memstream.evaluation.dataset import Dataset, DatasetError, DatasetMemory, DatasetQuery
from memstream.settings import Settings
from memstream.simulation import learner, run
from memstream.simulation.report import report
from memstream.simulation.run import simulate
from memstream.simulation.users import Users
from retrieval.ranking import EQUAL
from storage.sqlite import SqliteStore
from tests.language_model import Behaviour, local_language_model

TOPICS = ("tea", "rain", "port", "cat", "moon", "salt", "wood", "bread")
TAUGHT = {**EQUAL, "question": -2.0}
"""What there is to learn here: nothing can be added to it, so whatever changes is harm."""
OPEN = LearningConfig(
    gate_lessons=20, gate_z=-50.0, ranker_z=-50.0, renewal_z=-50.0, ranker_spread=5.0
)
"""A gate that everything passes, and a ranker that is easily moved."""


def dataset(tenants=("acme", "umbrella")):
    """Memories of which those that are questions never answer one, which is to be learned.

    There are up to 18 to a topic, so that not all are shown, and what answers is often longer, so
    that before anything is learned it is not among the first.
    """
    chance = random.Random(1)
    memories, queries = [], []
    for tenant in tenants:
        for place, topic in enumerate(TOPICS):
            for n in range(4 + 2 * place):
                words = chance.randint(1, 6) if n else 8 - place % 2 * 5
                filler = " ".join(chance.choices(("old", "blue", "late", "warm"), k=words))
                memories.append(
                    DatasetMemory(
                        id=f"{topic}{n}",
                        tenant=tenant,
                        layer="user",
                        content=f"how is the {topic} {filler}?" if n else f"the {topic} {filler}",
                        session=f"{topic}{n}",
                    )
                )
            queries.append(
                DatasetQuery(
                    id=topic,
                    tenant=tenant,
                    query=f"how is the {topic}",
                    category="made up",
                    gold=frozenset({f"{topic}0"}),
                )
            )
    return Dataset("made up", tuple(memories), tuple(queries))


def comparisons():
    """The same memories, and questions about two topics that are taken apart."""
    known = dataset(("acme",))
    pairs = zip(TOPICS, (*TOPICS[1:], TOPICS[0]), strict=True)
    queries = tuple(
        DatasetQuery(
            id=f"{one}, {two}",
            tenant="acme",
            query=f"compare the {one} and the {two} across all days",
            category="made up",
            gold=frozenset({f"{one}0", f"{two}0"}),
        )
        for one, two in pairs
    )
    return Dataset("comparisons", known.memories, queries)


async def simulated(rounds=120, seed=1, data=None, prior=EQUAL, settings=None, **more):
    settings = settings or Settings(embedder="none")
    asked = data or dataset()
    return await simulate(*(asked, settings, rounds, seed, prior, lambda *_: None), **more)


@pytest.fixture
async def store(monkeypatch, tmp_path):
    """The simulation's own store, which can be looked at afterwards."""
    store = await SqliteStore.open(tmp_path / "memstream.db")

    @asynccontextmanager
    async def kept(_):
        yield store

    monkeypatch.setattr(run, "own_store", kept)
    yield store
    await store.close()


@pytest.mark.requirement("TR-4", "TR-10", "TJ-3")
async def test_the_same_seed_gives_the_same_rounds_and_weights():
    once, again = await simulated(), await simulated()
    assert (once.learned, once.frozen, once.policies) == (
        again.learned,
        again.frozen,
        again.policies,
    )
    other = await simulated(seed=2)
    assert other.learned != once.learned


@pytest.mark.requirement("TR-4")
async def test_what_is_told_is_what_the_contract_says():
    rounds = await simulated(rounds=60, regret=True)
    told = report(rounds)
    assert {"rounds", "learned", "frozen", "curve"} <= set(told)
    for way in ("learned", "frozen"):
        assert set(told[way]) == {"reward", "recall", "tokens", "routes"}
        assert sum(told[way]["routes"].values()) == pytest.approx(1)
    assert {"round", "learned_reward", "frozen_reward", "regret"} <= set(told["curve"][0])
    assert set(rounds.policies) == {"acme", "umbrella"}


@pytest.mark.requirement("TR-4")
async def test_every_configuration_stays_as_it_is():
    rounds = await simulated(rounds=40, regret=True)
    told = report(rounds)["fixed"]
    assert told["rlm"]["routes"] == {"rlm": 1.0}
    for name in ("standard", "standard, rrf", "standard, weighted, wide", "standard, more words"):
        assert told[name]["routes"] == {"standard": 1.0}
    # Two routes; ranked with three weights of words or in two other ways, from three pools.
    assert len(told) == 1 + 1 + 5 * 3
    for came in rounds.others.values():
        found = {(one.question, one.recall, one.tokens) for one in came}
        assert len(found) == len({one.question for one in came})
    # Of what is asked first nothing was learned yet: as shipped, it is what the frozen policy does.
    assert rounds.others["standard"][0] == rounds.frozen[0]


@pytest.mark.requirement("TR-5")
async def test_whenever_a_question_was_asked_it_is_learned_from():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    days = (0, 30, 5, 20, 29)
    data = dataset(("acme",))
    queries = [
        replace_asked_at(query, start + timedelta(days=days[place % len(days)]))
        for place, query in enumerate(data.queries)
    ]
    rounds = await simulated(60, data=replace(data, queries=tuple(queries)))
    assert rounds.late == 0
    assert sum(rounds.labels.values()) == 60


def replace_asked_at(query, asked_at):
    return query.model_copy(update={"asked_at": asked_at})


@pytest.mark.requirement("TR-4")
async def test_what_nobody_tells_of_ends_in_silence():
    silent = Users(use=0.0, mistake=0.0, refine=0.0, abandon=0.0)
    rounds = await simulated(30, users=silent)
    assert rounds.labels == {"no_signal": 30}
    # That makes steps, as in service, in which nothing is learned.
    assert {one.reward for one in rounds.learned} == {rounds.frozen[0].reward}
    heard = await simulated(200)
    assert sum(heard.labels.values()) == 200
    assert heard.labels["no_signal"] == sum(
        not one.reaction.signals("t", "s", "r") for one in heard.learned
    )


@pytest.mark.requirement("TR-5")
async def test_however_much_is_labelled_at_once_every_tenant_learns_its_own(store, monkeypatch):
    monkeypatch.setattr(learner, "MOST", 2)
    monkeypatch.setattr(learner, "ROUND", timedelta(0))  # All windows end at once, in the end.
    silent = Users(use=0.0, mistake=0.0, refine=0.0, abandon=0.0)
    rounds = await simulated(50, users=silent)
    asked = Counter(one.question.partition("/")[0] for one in rounds.learned)
    for tenant, number in asked.items():
        state = await store.policies.state(tenant)
        assert state.trained + state.pending == number > 20
    assert (await store.joins.join_health()).outbox == 0


@pytest.mark.requirement("RX-7", "TR-3")
async def test_a_configured_language_model_is_asked_in_every_arm_and_its_tokens_count():
    told = {}
    async with local_language_model(Behaviour(text='{"why": "so"}', tokens=60_000)) as server:
        models = {"root_model": "planner", "sub_call_model": "answerer"}
        settings = Settings(embedder="none", llm_base_url=server.url, **models)
        for name, chosen in (("with", settings), ("without", None)):
            told[name] = report(await simulated(40, data=comparisons(), settings=chosen))
        asked = dict(server.by_model)
    # The reasoner knows what it was asked before; what a sub-model says of hits it is asked anew.
    assert asked["planner"] == 2 * len(TOPICS)
    assert asked["answerer"] > asked["planner"]
    for arm in ("learned", "frozen"):
        assert told["with"][arm]["tokens"] > 0 == told["without"][arm]["tokens"]
        assert told["with"][arm]["reward"] < told["without"][arm]["reward"]


@pytest.mark.requirement("TR-9")
async def test_noise_does_no_harm_because_of_the_gate():
    noise = Users(mood="noise")
    guarded = report(await simulated(300, seed=2, prior=TAUGHT, users=noise))
    for what in ("reward", "recall"):
        assert guarded["difference"][what]["upper"] >= 0
    # Were it not for the gate, harm would be done, and seen.
    let_in = report(await simulated(300, seed=2, prior=TAUGHT, users=noise, config=OPEN))
    assert let_in["difference"]["reward"]["upper"] < 0


@pytest.mark.requirement("TR-8")
async def test_a_tenant_that_is_kept_apart_is_lifted_by_what_the_others_learned():
    rounds = await simulated(300, keep_apart="umbrella")
    assert rounds.policies["umbrella"][0] == 0
    assert {one.question.partition("/")[0] for one in rounds.learned} == {"acme"}
    recall = report(rounds)["kept_apart"]
    assert recall["learned"] >= recall["frozen"] + 0.1
    with pytest.raises(DatasetError, match="'nobody'"):
        await simulated(rounds=4, keep_apart="nobody")


@pytest.mark.requirement("TR-8", "TR-9")
async def test_one_poisoned_tenant_is_rolled_back_and_nothing_of_it_serves_the_others(store):
    tenants, config = ("acme", "liar", "umbrella"), LearningConfig(gate_lessons=40)
    poisoned = Users(mood="poisoned")
    rounds = await simulated(700, data=dataset(tenants), users=poisoned, of="liar", config=config)
    assert rounds.events["liar"]["rolled back"] >= 1
    honest = ("acme", "umbrella")
    for tenant in honest:
        assert not {"rolled back", "suspended"} & set(rounds.events[tenant])
    states = {name: await store.policies.state(name) for name in tenants}
    assert not states["liar"].contributes
    # What serves the others is what they would be served by if it had never been there.
    known = {name: Learned.loads(states[name].state) for name in honest}
    given = {name: one.contribution(config) for name, one in known.items()}
    for name in honest:
        pool = pooled(given.items()).without(given[name])
        alone = serving_weights(known[name], pool, EQUAL, config)
        assert dict(states[name].weights) == pytest.approx(alone, abs=1e-9)
    with pytest.raises(DatasetError, match="'nobody'"):
        await simulated(rounds=4, users=poisoned, of="nobody")

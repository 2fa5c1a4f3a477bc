"""Trajectories to learn from, and a pupil whose every number can be told by hand."""

import json
import random
from datetime import timedelta

from learning.config import LearningConfig
from learning.pupil import Pupil
from models import Action, Outcome, Shown, Trajectory
from models.choices import Choice
from retrieval.ranking import FEATURES, PRIOR
from storage.joins import Message
from storage.lessons import Notebook
from storage.policies import Event, OrderError, Study, Taught
from storage.worth import Worth
from tests.integration.storage.aftermath import NOON, decision
from topics import TopicNames, encode

CORRECTABLE = timedelta(hours=1)


def trajectory(
    number, *, tenant="acme", revision=0, reward=1.0, shown=("m",), used=(), at=None, **told
):
    search = decision(f"r{number}", tenant=tenant, at=number if at is None else at, **told)
    return Trajectory(
        **search.model_dump(exclude={"succeeded", "seed", "shown"}),
        shown=tuple(
            Shown(memory_id=name, rank=rank, propensity=1.0, features={})
            for rank, name in enumerate(shown, 1)
        ),
        revision=revision,
        outcome=Outcome(type="result_used", quality_score=1.0),
        used=used,
        reward=reward,
        trainable=True,
        labelled_at=NOON,
    )


class Adder:
    """Adds up rewards; the sum is its weight, and what it gives to others."""

    step = 4
    correctable = CORRECTABLE

    def note(self, trajectory):
        shown = {one.memory_id: one.memory_id in trajectory.used for one in trajectory.shown}
        return json.dumps([trajectory.trajectory_id, trajectory.reward, shown, trajectory.query])

    def teach(self, state, lessons):
        known = json.loads(state) if state else {"sum": 0.0, "read": [], "version": 0}
        values = {}
        for lesson in lessons:
            name, reward, shown, question = json.loads(lesson.text)
            before = json.loads(lesson.before)[1] if lesson.before else 0.0
            known["sum"] += reward - before
            known["read"].append([name, reward, before])
            for memory, used in shown.items():
                values.setdefault(memory, Worth()).add(0.1, 0.1 * used, question)
        return self._taught(known, "stepped", values)

    def obey(self, state, order, actor, why, *, blended):
        if state is None:
            raise OrderError("nothing was learned yet")
        known = json.loads(state)
        known["version"] += 1
        known["read"].append(order)
        return self._taught(known, order)

    def _taught(self, known, kind, values=None):
        trained = sum(isinstance(one, list) for one in known["read"])
        given = None if known["sum"] < 0 else json.dumps(known["sum"])
        event = Event(kind, known["version"], json.dumps({"sum": known["sum"]}))
        return Taught(
            *(json.dumps(known), known["version"], trained, 1 / trained, given, [event]),
            values or {},
        )

    def gather(self, contributions):
        given = [json.loads(one) for one in contributions]
        return json.dumps([sum(given), given])

    def serve(self, state, pool, own):
        others = json.loads(pool)[0] - (json.loads(own) if own else 0.0) if pool else 0.0
        return {"own": json.loads(state)["sum"] if state else 0.0, "others": others}

    def publication(self, policy):
        return Message("memory.policies", policy.tenant_id.encode(), encode(policy))


ADDER = Adder()


async def learn(store, *trajectories, tenant="acme", at=NOON, pupil=ADDER):
    return await store.policies.learn(tenant, trajectories, pupil, at)


async def lessons_of(store, tenant="acme"):
    """Return what a tenant's pupil read, in order."""
    policy = await store.policies.state(tenant)
    return json.loads(policy.state)["read"] if policy and policy.state else []


async def published(store):
    told = []

    async def publish(messages):
        told.extend(messages)
        return ()

    while await store.joins.relay(publish, 100, NOON):
        pass
    return [json.loads(one.value) for one in told]


async def everything(store, tenant="acme"):
    """Return all that a tenant's policy is, for comparison, but when it began to serve."""
    policy = await store.policies.state(tenant)
    history = await store.policies.history(tenant, 1000)
    return policy and policy._replace(served_at=None), [one._replace(at=None) for one in history]


REAL = Pupil(
    PRIOR,
    # Little is needed to be promoted, so that it happens within a test.
    LearningConfig(
        gate_lessons=20, gate_z=0, ranker_z=0, renewal_z=0, live_lessons=40, suspension=40
    ),
    TopicNames(),
    CORRECTABLE,
)
"""The pupil that the service has, only less careful."""

CAREFUL = Pupil(PRIOR, LearningConfig(), TopicNames(), CORRECTABLE)
"""The pupil that the service has: it promotes nothing within a test by itself."""

OPTIONS = {"route": ("standard", "rlm"), "recipe": ("ranker", "rrf"), "pool": ("usual", "wide")}


def searches(count, seed=0, *, tenant="acme"):
    """Return labelled searches as the service makes them: what pays is there to be learned."""
    chance = random.Random(f"{tenant} {seed}")
    return [_search(number, chance, tenant) for number in range(count)]


def _search(number, chance, tenant):
    features = {"always": 1.0, "score": chance.random()}
    actions = []
    for point, options in OPTIONS.items():
        option = chance.choice(options)
        choice = Choice(
            point=point,
            option=option,
            options=dict.fromkeys(options, 0.0),
            features=features,
            exploration=1.0,
        )
        actions.append(
            Action(
                kind=point,
                params={"choice": choice.model_dump()},
                depth=0,
                started_at=NOON,
                duration_ms=1.0,
                tokens=0,
                result_count=1,
                propensity=1 / len(options),
            )
        )
    paid = actions[0].params["choice"]["option"] == "rlm"
    reward = min(max(0.3 + 0.5 * paid * features["score"] + chance.gauss(0, 0.1), -1.0), 1.0)
    shown = tuple(
        Shown(
            memory_id=f"m{rank}",
            rank=rank,
            propensity=1.0,
            features={name: chance.random() for name in FEATURES},
        )
        for rank in (1, 2, 3)
    )
    plain = trajectory(number, tenant=tenant, reward=reward, used=(f"m{chance.randint(1, 3)}",))
    return plain.model_copy(update={"actions": tuple(actions), "shown": shown})


def corrected(search, reward, revision=1):
    return search.model_copy(update={"reward": reward, "revision": revision})


def undisturbed(log, pupil=REAL):
    """Return what a pupil knows after reading a log from its beginning."""
    study = Study(pupil, Notebook(pupil.correctable))
    for one in log:
        study.read(one)
    return study

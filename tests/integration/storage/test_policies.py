"""What was learned, on both stores: each lesson once, in its order, within the tenant."""

import asyncio
import random

import numpy as np
import pytest

from learning.state import Learned
from models import Item
from storage import Change, Embedding, Filter, Sought
from storage.lessons import KNOWN_FOR
from storage.policies import OrderError
from storage.words import asked
from tests.integration.storage.aftermath import NOON, second
from tests.integration.storage.school import (
    ADDER,
    CAREFUL,
    CORRECTABLE,
    REAL,
    corrected,
    everything,
    learn,
    lessons_of,
    published,
    searches,
    trajectory,
    undisturbed,
)


def lesson(number, reward=1.0, before=0.0):
    return [f"t-r{number}", reward, before]


@pytest.mark.requirement("TR-4", "TR-5")
async def test_a_step_is_made_of_exactly_so_many_lessons_in_their_order(store):
    assert await store.policies.state("acme") is None
    learnt = await learn(store, *(trajectory(number) for number in range(3)))
    assert (learnt.kept, learnt.steps) == (3, 0)
    assert (await store.policies.state("acme")).pending == 3
    learnt = await learn(store, *(trajectory(number) for number in range(3, 10)))
    assert (learnt.kept, learnt.steps, learnt.published) == (7, 2, True)
    policy = await store.policies.state("acme")
    assert (policy.trained, policy.steps, policy.pending) == (8, 2, 2)
    assert await lessons_of(store) == [lesson(number) for number in range(8)]
    assert policy.weights == {"own": 8.0, "others": 0.0}


@pytest.mark.requirement("TR-2", "TR-5")
async def test_a_lesson_counts_once_however_often_it_comes(store):
    batch = [trajectory(number) for number in range(6)]
    await learn(store, *batch, *batch[:2])
    before = await everything(store)
    learnt = await learn(store, *batch)
    assert (learnt.kept, learnt.duplicates, learnt.steps) == (0, 6, 0)
    assert await everything(store) == before


@pytest.mark.requirement("TR-2")
async def test_a_correction_is_learned_as_a_difference_once(store):
    await learn(store, *(trajectory(number) for number in range(4)))
    corrected = trajectory(1, revision=1, reward=0.25)
    await learn(store, corrected, corrected, *(trajectory(number) for number in range(4, 7)))
    # An older labelling that comes late says nothing.
    learnt = await learn(store, trajectory(1))
    assert learnt.duplicates == 1
    assert await lessons_of(store) == [
        *(lesson(number) for number in range(4)),
        *(lesson(1, 0.25, 1.0), lesson(4), lesson(5), lesson(6)),
    ]
    await learn(store, trajectory(1, revision=2), *(trajectory(n) for n in range(7, 10)))
    assert (await lessons_of(store))[8] == lesson(1, 1.0, 0.25)


@pytest.mark.requirement("TR-2")
async def test_a_correction_of_what_still_waits_takes_its_place(store):
    await learn(store, trajectory(0), trajectory(1))
    await learn(store, trajectory(0, revision=1, reward=0.5), trajectory(2), trajectory(3))
    assert await lessons_of(store) == [lesson(0, 0.5), *(lesson(number) for number in (1, 2, 3))]


@pytest.mark.requirement("TR-10")
@pytest.mark.parametrize("seed", range(4))
async def test_what_is_learned_does_not_depend_on_the_batches_it_comes_in(stores, seed):
    """Redelivered, cut at random and with corrections all over, on every store the same bits."""
    chance = random.Random(seed)
    revisions = dict.fromkeys(range(12), -1)
    log = []
    for _ in range(40):
        number = chance.randrange(12)
        revisions[number] += 1
        reward = chance.uniform(-1, 1)
        log.append(trajectory(number, revision=revisions[number], reward=reward, used=("m",)))
    ways = []
    for way, store in enumerate(stores.values()):
        place = 0
        while place < len(log):
            taken = chance.randint(1, 1 + 9 * way)
            # After a rebalance some come again.
            await learn(store, *log[max(0, place - chance.randrange(5)) : place + taken])
            place += taken
        ways.append(await everything(store))
    assert ways[0] == ways[1] == ways[2]
    assert ways[0][0].steps > 5


@pytest.mark.requirement("TR-5")
async def test_two_writers_of_a_tenant_take_turns(store):
    batches = [[trajectory(4 * batch + n) for n in range(4)] for batch in range(6)]
    await asyncio.gather(*(learn(store, *batch) for batch in batches * 2))
    policy = await store.policies.state("acme")
    assert (policy.steps, policy.trained, policy.pending) == (6, 24, 0)
    assert sorted(await lessons_of(store)) == sorted(lesson(number) for number in range(24))


@pytest.mark.requirement("TR-2")
async def test_what_can_no_longer_be_corrected_is_forgotten_but_not_learned_again(store):
    await learn(store, *(trajectory(number) for number in range(4)))
    later = int(CORRECTABLE.total_seconds()) + 10
    await learn(store, *(trajectory(n, at=later) for n in range(10, 14)))
    learnt = await learn(store, trajectory(0), trajectory(1, revision=1))
    assert (learnt.duplicates, learnt.late, learnt.kept) == (1, 1, 0)
    much_later = later + int(KNOWN_FOR.total_seconds())
    await learn(store, *(trajectory(n, at=much_later) for n in range(20, 24)))
    # Nothing is left to know them by, but they are too old to be new.
    learnt = await learn(store, *(trajectory(number) for number in range(4)))
    assert (learnt.late, learnt.kept) == (4, 0)
    assert (await store.policies.state("acme")).trained == 12


@pytest.mark.requirement("TR-9")
async def test_each_new_policy_is_published_and_serves(store):
    assert await store.policies.serving("acme") is None
    await learn(store, *(trajectory(number) for number in range(4)), at=second(7))
    [told] = await published(store)
    serving = await store.policies.serving("acme")
    assert told == serving.model_dump(mode="json")
    assert serving.weights == {"own": 4.0, "others": 0.0}
    assert (serving.exploration_rate, serving.updated_at) == (0.25, second(7))
    learnt = await learn(store, trajectory(5))
    assert not learnt.published
    assert await published(store) == []


@pytest.mark.requirement("TR-9")
async def test_an_order_is_recorded_with_who_and_why_and_when(store):
    with pytest.raises(OrderError):
        await store.policies.control("acme", "promote", ADDER, NOON, actor="ann", why="try")
    assert await store.policies.history("acme", 10) == []
    await learn(store, *(trajectory(number) for number in range(6)))
    await store.policies.control("acme", "rollback", ADDER, second(9), actor="ann", why="worse")
    newest, first = await store.policies.history("acme", 10)
    assert (newest.kind, newest.version, newest.at) == ("rollback", 1, second(9))
    assert (newest.ordered, newest.actor, newest.why) == ("rollback", "ann", "worse")
    assert (newest.steps, newest.trained) == (1, 4)
    assert (first.kind, first.ordered, first.actor) == ("stepped", None, None)
    assert await store.policies.history("acme", 1) == [newest]
    assert await store.policies.orders("acme") == [(1, "rollback")]
    assert (await store.policies.serving("acme")).version == 1
    # What waits, waits on.
    assert (await store.policies.state("acme")).pending == 2


@pytest.mark.requirement("TR-8")
async def test_tenants_learn_from_each_other_without_counting_themselves_twice(store):
    for tenant, reward in (("acme", 1.0), ("hooli", 0.5), ("umbrella", 0.25)):
        batch = [trajectory(n, tenant=tenant, reward=reward) for n in range(4)]
        await learn(store, *batch, tenant=tenant)
    assert (await store.policies.serving("acme")).weights == {"own": 4.0, "others": 0.0}
    await published(store)
    assert await store.policies.pool(ADDER, second(5), 100) == 3
    assert {one["tenant_id"]: one["weights"] for one in await published(store)} == {
        "acme": {"own": 4.0, "others": 3.0},
        "hooli": {"own": 2.0, "others": 5.0},
        "umbrella": {"own": 1.0, "others": 6.0},
    }
    # A tenant that has learned nothing yet is served by what the others have.
    newcomer = await store.policies.serving("newcomer")
    assert newcomer.weights == {"own": 0.0, "others": 7.0}
    assert (newcomer.version, newcomer.exploration_rate) == (0, 0.0)
    # Nothing changed, so nothing is done.
    assert await store.policies.pool(ADDER, second(6), 100) == 0
    # What it learned since it was asked does not change what the others gave.
    await learn(store, *(trajectory(number) for number in range(4, 8)))
    assert (await store.policies.serving("acme")).weights == {"own": 8.0, "others": 3.0}


@pytest.mark.requirement("TR-8")
async def test_who_opts_out_neither_gives_nor_takes(store):
    for tenant in ("acme", "hooli"):
        await learn(store, *(trajectory(n, tenant=tenant) for n in range(4)), tenant=tenant)
    await store.override("hooli", {"global_prior": False})
    await store.override("newcomer", {"global_prior": False})
    await store.policies.pool(ADDER, NOON, 100)
    for tenant in ("acme", "hooli"):
        assert (await store.policies.serving(tenant)).weights == {"own": 4.0, "others": 0.0}
    assert await store.policies.serving("newcomer") is None
    assert not (await store.policies.state("hooli")).contributes
    await store.override("hooli", {"global_prior": None})
    await store.policies.pool(ADDER, NOON, 100)
    assert (await store.policies.serving("acme")).weights == {"own": 4.0, "others": 4.0}
    assert (await store.policies.serving("hooli")).weights == {"own": 4.0, "others": 4.0}
    await store.override("hooli", {"global_prior": False})
    await store.policies.pool(ADDER, NOON, 100)
    assert (await store.policies.serving("acme")).weights == {"own": 4.0, "others": 0.0}
    assert (await store.policies.serving("hooli")).weights == {"own": 4.0, "others": 0.0}


@pytest.mark.requirement("TR-8")
async def test_who_gives_nothing_is_left_out(store):
    await learn(store, *(trajectory(number) for number in range(4)))
    await store.policies.pool(ADDER, NOON, 100)
    bad = [trajectory(n, tenant="umbrella", reward=-1.0) for n in range(4)]
    await learn(store, *bad, tenant="umbrella")
    await store.policies.pool(ADDER, NOON, 100)
    assert (await store.policies.serving("acme")).weights == {"own": 4.0, "others": 0.0}
    assert (await store.policies.serving("umbrella")).weights == {"own": -4.0, "others": 4.0}


@pytest.mark.requirement("TR-8")
async def test_workers_gather_side_by_side_without_harm(store):
    for number in range(8):
        tenant = f"t{number}"
        await learn(store, *(trajectory(n, tenant=tenant) for n in range(4)), tenant=tenant)
    await asyncio.gather(*(store.policies.pool(ADDER, NOON, 3) for _ in range(4)))
    while await store.policies.pool(ADDER, NOON, 3):
        pass
    for number in range(8):
        serving = await store.policies.serving(f"t{number}")
        assert serving.weights == {"own": 4.0, "others": 28.0}


@pytest.mark.requirement("TR-2", "TR-9", "TR-10")
async def test_a_correction_after_a_rollback_is_the_same_everywhere(stores):
    """What was thrown away is not taken back again: live, in any batches, and in a replay."""
    log = searches(100)
    again = [corrected(one, -0.5) for one in log[10:70]]
    silent = [one.model_copy(update={"revision": 2, "trainable": False}) for one in log[10:70]]
    fold = undisturbed(log[:40], CAREFUL)
    fold.obey("promote", "ann", "")
    for one in log[40:]:
        fold.read(one)
    fold.obey("promote", "ann", "")
    fold.obey("rollback", "ann", "")
    known = Learned.loads(fold.state).learner.points["route"].lessons
    for one in (*again, *silent):
        fold.read(one)
    # Of sixty that became silent thirty were still known.
    assert (known, Learned.loads(fold.state).learner.points["route"].lessons) == (40, 10)
    for batch, store in zip((1, 7, 60), stores.values(), strict=True):

        async def order(what, store=store):
            await store.policies.control("acme", what, CAREFUL, NOON, actor="ann", why="")

        await learn(store, *log[:40], pupil=CAREFUL)
        await order("promote")
        await learn(store, *log[40:], pupil=CAREFUL)
        await order("promote")
        await order("rollback")
        for start in range(0, 120, batch):
            await learn(store, *[*again, *silent][start : start + batch], pupil=CAREFUL)
        assert (await store.policies.state("acme")).state == fold.state


@pytest.mark.requirement("TR-8", "TR-9")
async def test_who_is_served_by_others_alone_can_be_kept_from_them(store):
    """A newcomer whom the pool serves badly: a rollback drops it for as long as for anybody."""

    async def order(tenant):
        return await store.policies.control(
            tenant, "rollback", REAL, second(9), actor="ann", why="bad answers"
        )

    with pytest.raises(OrderError, match="the shipped policy serves"):
        await order("newcomer")
    alone = REAL.serve(None, None, None)
    await learn(store, *searches(100), pupil=REAL)
    await store.policies.pool(REAL, NOON, 100)
    assert (await store.policies.serving("newcomer")).weights != alone
    await order("newcomer")
    serving = await store.policies.serving("newcomer")
    assert (serving.version, serving.weights) == (0, alone)
    [entry] = await store.policies.history("newcomer", 10)
    assert (entry.kind, entry.ordered, entry.why) == ("suspended", "rollback", "bad answers")
    with pytest.raises(OrderError, match="the shipped policy serves"):
        await order("newcomer")
    # Neither does it come back with the next pool, but with the end of the suspension.
    await learn(store, *searches(40, tenant="third"), tenant="third", pupil=REAL)
    await store.policies.pool(REAL, NOON, 100)
    assert (await store.policies.serving("newcomer")).weights == alone
    later = searches(40, tenant="newcomer")
    await learn(store, *later[:20], tenant="newcomer", pupil=REAL)
    assert (await store.policies.serving("newcomer")).weights == alone
    await learn(store, *later[20:], tenant="newcomer", pupil=REAL)
    policy = await store.policies.state("newcomer")
    assert policy.weights != REAL.serve(policy.state, None, None)
    # It was an order like any other: a replay carries it out, and finds the same.
    assert await store.policies.orders("newcomer") == [(0, "rollback")]
    fold = undisturbed([], REAL)
    fold.obey("rollback", "replay", "")
    for one in later:
        fold.read(one)
    assert policy.state == fold.state


@pytest.mark.requirement("SE-1", "TR-8")
async def test_nothing_learned_is_reached_by_another_tenant(store):
    await learn(store, *(trajectory(number) for number in range(6)))
    for tenant in ("umbrella", "%", "ACME"):
        assert await store.policies.state(tenant) is None
        assert await store.policies.serving(tenant) is None
        assert await store.policies.history(tenant, 10) == []
        assert await store.policies.orders(tenant) == []
    before = await everything(store)
    await learn(store, *(trajectory(n, tenant="umbrella") for n in range(6)), tenant="umbrella")
    await store.policies.control("umbrella", "promote", ADDER, NOON, actor="ann", why="")
    assert await everything(store) == before


def memory(memory_id, tenant="acme"):
    item = Item(event_id=memory_id, tenant_id=tenant, memory_id=memory_id, content="a cat")
    return Change(item, NOON, Embedding("m", np.array([1, 0], np.float32)))


async def values(store, tenant="acme"):
    """Return the value of each memory, as find and as get tell it."""
    sought = Sought(asked("cat"), Embedding("m", np.array([1, 0], np.float32)), 10, 1)
    found = await store.find(tenant, sought, Filter(NOON))
    told = {hit.memory_id: hit.value for hit in found.hits}
    got = await store.get(tenant, sorted(told), Filter(NOON))
    assert {hit.memory_id: hit.value for hit in got} == told
    return told


@pytest.mark.requirement("TR-7")
async def test_a_memory_is_worth_what_it_was_used_when_it_was_seen(stores):
    told = []
    for store in stores.values():
        await store.apply([memory("used"), memory("seen"), memory("new"), memory("used", "hooli")])
        assert set((await values(store)).values()) == {None}
        shown = ("used", "seen", "gone")
        batch = [trajectory(number, shown=shown, used=("used",)) for number in range(4)]
        await learn(store, *batch)
        told.append(await values(store))
        assert await values(store, "hooli") == {"used": None}
    mean = 0.4 / 1.2
    assert (
        told[0]
        == told[1]
        == told[2]
        == {
            "used": round((0.4 + 3 * mean) / 3.4, 6),
            "seen": round(3 * mean / 3.4, 6),
            "new": round(mean, 6),
        }
    )


@pytest.mark.requirement("TR-7")
async def test_a_memory_that_comes_again_is_a_new_one(store):
    await store.apply([memory("m"), memory("n")])
    await learn(store, *(trajectory(number, used=("m",)) for number in range(4)))
    gone = Item(event_id="gone", tenant_id="acme", memory_id="m", op="delete")
    await store.apply([Change(gone, NOON, None)])
    again = Item(event_id="again", tenant_id="acme", memory_id="m", content="a cat")
    await store.apply([Change(again, NOON, None)])
    told = await values(store)
    assert told["m"] == told["n"]


async def questions(store, tenant="acme"):
    """Return what each memory was looked at for, as find and as get tell it."""
    sought = Sought(asked("cat"), Embedding("m", np.array([1, 0], np.float32)), 10, 1)
    found = await store.find(tenant, sought, Filter(NOON))
    told = {hit.memory_id: [[*one] for one in hit.questions] for hit in found.hits}
    got = await store.get(tenant, sorted(told), Filter(NOON))
    assert {hit.memory_id: [[*one] for one in hit.questions] for hit in got} == told
    return told, found.mean_rate


@pytest.mark.requirement("TR-7")
async def test_a_memory_is_known_by_the_newest_questions_it_was_looked_at_for(stores):
    for store in stores.values():
        await store.apply([memory("used"), memory("seen"), memory("used", "hooli")])
        assert await questions(store) == ({"used": [], "seen": []}, None)
        asked_for = [0, 1, 2, 0, 3, 4, 5, 1, 6, 7, 8, 9]
        for number, question in enumerate(asked_for):
            shown = ("used", "seen", "gone")
            await learn(
                store, trajectory(number, shown=shown, used=("used",), query=f"q{question}")
            )
        newest = [0, 3, 4, 5, 1, 6, 7, 8, 9][-8:]
        seen = {name: 0.2 if name == 1 else 0.1 for name in newest}
        told, mean_rate = await questions(store)
        assert told == {
            "used": [[f"q{name}", seen[name], seen[name]] for name in newest],
            "seen": [[f"q{name}", seen[name], 0.0] for name in newest],
        }
        assert mean_rate == pytest.approx(1 / 3)
        assert await questions(store, "hooli") == ({"used": []}, None)
        gone = Item(event_id="gone", tenant_id="acme", memory_id="used", op="delete")
        again = Item(event_id="again", tenant_id="acme", memory_id="used", content="a cat")
        await store.apply([Change(gone, NOON, None)])
        await store.apply([Change(again, NOON, None)])
        assert (await questions(store))[0]["used"] == []

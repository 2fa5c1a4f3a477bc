"""What a rollback threw away is not taken back a second time by a correction."""

import random

import numpy as np
import pytest

from learning.evidence import RANKER
from learning.lost import MOST, Lost
from learning.state import Learned
from storage.lessons import Notebook
from storage.policies import Study
from tests.integration.storage.school import CAREFUL, corrected, searches
from tests.unit.learning.test_pupil import outsized


def study(pupil=CAREFUL):
    return Study(pupil, Notebook(pupil.correctable))


def read(known, log):
    for one in log:
        known.read(one)
    return known


def silent(search, revision=1):
    return search.model_copy(update={"trainable": False, "revision": revision})


def learner(known):
    return Learned.loads(known.state).learner


def same(one, two):
    assert one.points.keys() == two.points.keys()
    for name, point in one.points.items():
        other = two.points[name]
        assert point.lessons == other.lessons
        for sums in ("fisher", "gains", "scores", "sizes"):
            assert (getattr(point, sums) == getattr(other, sums)).all()
    assert one.ranker.lessons == two.ranker.lessons
    assert (one.ranker.precision == two.ranker.precision).all()


@pytest.mark.requirement("TR-2", "TR-9")
@pytest.mark.parametrize("promotes", [True, False])
def test_corrections_of_what_was_thrown_away_take_nothing_back(promotes):
    log = searches(60)
    known = read(study(), log)
    if promotes:
        known.obey("promote", "ann", "")
    known.obey("rollback", "ann", "")
    before = learner(known)
    read(known, [silent(one) for one in log[:20]])
    same(learner(known), before)
    assert learner(known).parts == ()


@pytest.mark.requirement("TR-2", "TR-9")
def test_corrections_of_what_is_still_known_count_after_a_rollback():
    """Rolled back to what was known after 40: of those lessons a correction is learned."""
    log = searches(80)
    known = read(study(), log[:40])
    known.obey("promote", "ann", "")
    read(known, log[40:])
    known.obey("promote", "ann", "")
    known.obey("rollback", "ann", "")
    before = learner(known).points["route"]
    assert before.lessons == 40
    read(known, [silent(one) for one in log[30:50]])
    after = learner(known).points["route"]
    assert after.lessons == 30
    assert np.linalg.eigvalsh(after.fisher).min() > -1e-9
    # Corrected once more they count again; those that were thrown away still do not.
    read(known, [corrected(one, 0.5, revision=2) for one in log[30:50]])
    assert learner(known).points["route"].lessons == 40


@pytest.mark.requirement("TR-2", "TR-9")
def test_what_was_corrected_in_a_step_that_was_thrown_away_stays_as_it_is():
    """The learner has it as it was first, and nobody knows any more how that was."""
    log = searches(80)
    known = read(study(), log[:40])
    known.obey("promote", "ann", "")
    read(known, [silent(one) for one in log[:20]])
    known.obey("promote", "ann", "")
    known.obey("rollback", "ann", "")
    before = learner(known)
    for revision in (2, 3, 4):
        read(known, [corrected(one, 0.1 * revision, revision) for one in log[:20]])
        same(learner(known), before)


@pytest.mark.requirement("TR-2", "TR-4")
def test_corrections_of_what_could_not_be_learned_take_nothing_back():
    log = searches(40)
    log[25] = outsized(log[25], 1e200)
    known = read(study(), log)
    assert known.taught.events[0].kind == "held"
    before = learner(known)
    steps = known.steps
    known.values.clear()
    rest = [one for one in log[20:] if one is not log[25]]
    read(known, [silent(one) for one in [*rest, *searches(21)[20:]]])
    read(known, [silent(one, 2) for one in log[:1]])
    assert known.steps == steps + 1
    # Of the twenty one alone had been learned.
    assert learner(known).points["route"].lessons == before.points["route"].lessons - 1
    assert sum(worth.exposure < 0 for worth in known.values[-1].values()) <= 3


@pytest.mark.requirement("TR-2", "TR-9", "TR-10")
@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_corrected_and_rolled_back_nothing_is_known_less_than_not_at_all(seed):
    chance = random.Random(seed)
    log = searches(200, seed)
    known, revisions, orders = study(), dict.fromkeys(range(200), 0), []
    told = 0
    for _ in range(600):
        what = chance.random()
        if what < 0.5 and told < len(log):
            known.read(log[told])
            told += 1
        elif told:
            number = chance.randrange(max(0, told - 60), told)
            revisions[number] += 1
            change = silent if chance.random() < 0.5 else corrected
            value = revisions[number] if change is silent else 0.3
            again = change(log[number], value)
            known.read(again.model_copy(update={"revision": revisions[number]}))
        if known.steps and chance.random() < 0.03:
            order = chance.choice(["promote", "rollback"])
            orders.append(order)
            if order == "promote" and not learner(known).parts:
                continue
            known.obey(order, "ann", "")
    state = Learned.loads(known.state)
    assert {*orders} == {"promote", "rollback"}
    assert state.lost.spans
    for evidence in (state.learner, state.champion):
        for point in evidence.points.values():
            assert point.lessons >= 0
            assert np.linalg.eigvalsh(point.fisher).min() > -1e-6
        assert evidence.ranker.lessons >= 0


@pytest.mark.requirement("TR-2", "TR-9")
def test_what_is_lost_is_known_part_by_part_and_never_grows_long():
    lost = Lost().after({"route": 3, RANKER: 0}, 5)
    assert [step for step in range(8) if lost.has("route", (step,))] == [4, 5]
    assert [step for step in range(8) if lost.has(RANKER, (step,))] == [1, 2, 3, 4, 5]
    assert lost.has("route", (1, 4, 9))
    assert not lost.has("pool", (4,))
    further = lost.after({"route": 7}, 9).after({"route": 2}, 9)
    assert further.spans["route"] == ((2, 9),)
    assert further.spans[RANKER] == ((0, 5),)
    assert lost.passed_over(6).has("pool", (6,))
    for step in range(10, 100, 4):
        further = further.after({"route": step}, step + 2)
    assert len(further.spans["route"]) == MOST
    # Rather too much is lost than too little: what is not there must not be taken back.
    assert all(further.has("route", (step,)) for step in (3, 11, 95))
    assert not further.has("route", (97,))
    assert Lost.load(further.dump()) == further

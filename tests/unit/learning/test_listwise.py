"""What the ranker learns: the loss of lists, its derivatives, and what corrections change."""

import numpy as np
import pytest

from learning.config import LearningConfig
from learning.lessons import Experience, Lesson, Placed
from learning.listwise import Lists, Ranker, lists_of, rankable
from learning.positions import Positions
from tests.unit.learning.readers import Readers

CONFIG = LearningConfig()
CURVE = Positions().curve(CONFIG)
PRIOR = {"a": 1.0, "b": -0.5, "c": 0.0}


def some_lists(seed=3, count=6):
    numbers = np.random.default_rng(seed)
    sizes = numbers.integers(2, 9, count)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rows = numbers.normal(size=(sizes.sum(), 3))
    weight = numbers.random(sizes.sum()) * (numbers.random(sizes.sum()) < 0.4)
    return Lists(rows, starts, sizes, weight, float(count))


def shown(seed, used, names=("a", "b", "c"), **other):
    numbers = np.random.default_rng(seed)
    placed = tuple(
        Placed(f"m{rank}", rank, 1.0, rank in used, tuple(numbers.normal(size=len(names)).tolist()))
        for rank in range(1, 6)
    )
    fields = {"revision": 0, "policy_version": 0, "reward": 0.5, "trainable": True, **other}
    return Experience(f"t{seed}", names=tuple(names), placed=placed, **fields)


def learned(*lessons: Lesson, start: Ranker | None = None) -> Ranker:
    ranker = start or Ranker.fresh(PRIOR)
    for lesson in lessons:
        lists = lists_of([lesson], ranker.features, CURVE, CONFIG)
        if lists is not None:
            ranker = ranker.after(lists, PRIOR, CONFIG)
    return ranker


@pytest.mark.requirement("TR-4", "TR-7")
def test_gradient_and_hessian_are_the_derivatives_of_the_loss():
    lists, at, small = some_lists(), np.array([0.4, -1.0, 0.2]), 1e-6
    _, gradient, hessian = lists.loss(at)
    for place, unit in enumerate(np.eye(3)):
        upper, up, _ = lists.loss(at + small * unit)
        lower, down, _ = lists.loss(at - small * unit)
        assert gradient[place] == pytest.approx((upper - lower) / (2 * small), rel=1e-6, abs=1e-8)
        assert hessian[place] == pytest.approx((up - down) / (2 * small), rel=1e-6, abs=1e-8)


@pytest.mark.requirement("TR-4")
def test_a_batch_ends_where_nothing_pulls():
    lists = some_lists()
    before = Ranker(("a", "b", "c"), 0.0, 0.0, np.zeros((3, 3)), np.zeros(3))
    after = before.after(lists, PRIOR, CONFIG)
    mean = after.mean(PRIOR, CONFIG)
    _, gradient, hessian = lists.loss(mean)
    start = np.array([PRIOR[name] for name in "abc"])
    # Where the prior knows nothing a weight may be further away.
    spread = np.where(start == 0, CONFIG.unknown_spread, CONFIG.ranker_spread)
    assert {*spread} == {CONFIG.unknown_spread, CONFIG.ranker_spread}
    assert (mean - start) / spread**2 + gradient == pytest.approx(np.zeros(3), abs=1e-9)
    assert after.precision == pytest.approx(hessian)


@pytest.mark.requirement("TR-4")
def test_batches_come_near_to_learning_all_at_once():
    lessons = [Lesson(shown(seed, {1 + seed % 4})) for seed in range(60)]
    in_turn = learned(*lessons).mean(PRIOR, CONFIG)
    lists = lists_of(lessons, ("a", "b", "c"), CURVE, CONFIG)
    assert lists is not None
    at_once = Ranker.fresh(PRIOR).after(lists, PRIOR, CONFIG).mean(PRIOR, CONFIG)
    start = np.array([1.0, -0.5, 0.0])
    assert np.linalg.norm(in_turn - at_once) < 0.1 * np.linalg.norm(at_once - start)


@pytest.mark.requirement("TR-4")
def test_what_teaches_nothing_changes_nothing():
    known = learned(Lesson(shown(1, {2})))
    assert learned(Lesson(shown(2, set())), start=known) is known
    assert learned(Lesson(shown(3, {1}, trainable=False)), start=known) is known
    other = shown(4, {1}, names=("a", "b", "z"))
    assert not rankable(other, ("a", "b", "c"))
    assert learned(Lesson(other), start=known) is known


@pytest.mark.requirement("TR-2")
def test_a_correction_takes_back_most_of_a_mistake():
    others = [Lesson(shown(seed, {1 + seed % 3})) for seed in range(20)]
    wrong, right = shown(99, {5}), shown(99, {1}, revision=1)
    mistaken = learned(*others, Lesson(wrong))
    corrected = learned(Lesson(right, wrong), start=mistaken)
    at_once = learned(*others, Lesson(right))
    far = np.linalg.norm(mistaken.mean(PRIOR, CONFIG) - at_once.mean(PRIOR, CONFIG))
    near = np.linalg.norm(corrected.mean(PRIOR, CONFIG) - at_once.mean(PRIOR, CONFIG))
    assert near < 0.05 * far
    assert corrected.lessons == at_once.lessons


@pytest.mark.requirement("TR-2")
def test_taking_a_use_back_and_giving_it_again_ends_where_it_began():
    others = [Lesson(shown(seed, {1 + seed % 3})) for seed in range(20)]
    good, silent = shown(99, {2}), shown(99, set(), revision=1, trainable=False)
    known = learned(*others, Lesson(good))
    taken = learned(Lesson(silent, good), start=known)
    assert taken.lessons == 20
    again = learned(Lesson(good, silent), start=taken)
    assert again.lessons == known.lessons
    assert again.mean(PRIOR, CONFIG) == pytest.approx(known.mean(PRIOR, CONFIG), abs=0.005)
    assert (np.linalg.eigvalsh(again.precision + np.eye(3)) > 0).all()


@pytest.mark.requirement("TR-4")
def test_weights_stay_near_the_prior_and_other_priors_keep_what_is_known():
    config = LearningConfig(ranker_limit=0.1)
    known = learned(*(Lesson(shown(seed, {4})) for seed in range(30)))
    start = np.array([1.0, -0.5, 0.0])
    assert np.abs(known.weights(PRIOR, config) - start).max() <= 0.1 + 1e-12
    other = known.about(("b", "c", "d"))
    assert other.precision[:2, :2].tolist() == known.precision[1:, 1:].tolist()
    assert not other.precision[2].any()


@pytest.mark.requirement("TR-4", "TR-10")
@pytest.mark.parametrize(
    "looks", [lambda rank: rank**-0.5, lambda rank: 1 / rank], ids=["root", "rank"]
)
def test_planted_weights_are_found_whatever_the_readers_habits(looks):
    planted = {"a": 4.0, "b": 0.0, "c": 2.0, "d": -2.0, "e": 1.0, "f": 3.0}
    readers = Readers(planted, dict.fromkeys(planted, 1.0), looks, 1, CONFIG)
    readers.run(1000)
    found = readers.state.learner.ranker.mean(readers.prior, CONFIG)
    likeness = found @ readers.truth / np.linalg.norm(found) / np.linalg.norm(readers.truth)
    assert likeness > 0.99
    assert readers.state.version >= 1
    assert np.mean(readers.quality[-200:]) > 1.3 * np.mean(readers.quality[:100])

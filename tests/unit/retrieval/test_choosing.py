"""Choices: drawn by the request, told with their probability."""

from datetime import UTC, datetime

import pytest

from models.choices import Choice, probabilities
from retrieval.choosing import Chooser, Policy
from retrieval.fusion import Scored
from retrieval.query_features import query_features
from retrieval.ranking import PRIOR
from retrieval.recipes import choose_recipe
from retrieval.swapping import swapped
from storage import Hit

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
OPTIONS = {"a": 0.0, "b": -1.0, "c": -2.0}


def hit(name, layer="user"):
    return Hit(name, layer, "global", "fact", name, None, NOON, {}, 5.0, 1.0, None)


def shown(layers="uuuu"):
    names = {"u": "user", "t": "team"}
    return [
        Scored(hit(f"m{place}", names[layer]), 61 / (61 + place))
        for place, layer in enumerate(layers)
    ]


@pytest.mark.requirement("TJ-3", "TR-4")
def test_the_same_request_draws_the_same_and_others_share_out_the_chances():
    policy = Policy(3, choices={"move/b/always": 1.0}, exploration=0.5)
    drawn = [Chooser(policy, seed).choose("move", OPTIONS, {"always": 1.0}) for seed in range(3000)]
    again = [Chooser(policy, seed).choose("move", OPTIONS, {"always": 1.0}) for seed in range(3000)]
    assert drawn == again
    chances = probabilities("move", OPTIONS, {"always": 1.0}, {"move/b/always": 1.0}, 0.05)
    for option, chance in chances.items():
        taken = [one for one in drawn if one.option == option]
        assert {one.propensity for one in taken} == {chance}
        assert len(taken) / len(drawn) == pytest.approx(chance, abs=0.03)


def test_choices_do_not_hang_on_those_before_them():
    chooser, other = (Chooser(Policy(1, exploration=1.0), 7) for _ in range(2))
    first = chooser.choose("route", OPTIONS, {})
    chooser.choose("route", OPTIONS, {})
    other.choose("pool", OPTIONS, {})
    assert other.choose("route", OPTIONS, {}) == first
    many = [chooser.choose("route", OPTIONS, {}).option for _ in range(50)]
    assert set(many) == {"a", "b", "c"}


@pytest.mark.requirement("TJ-3")
def test_what_is_told_of_a_choice_can_be_read_again():
    chosen = Chooser(Policy(1, exploration=0.5), 1).choose("route", OPTIONS, {"always": 1.0})
    assert chosen.is_open
    choice = Choice.model_validate(chosen.told())
    assert (choice.option, choice.options, choice.exploration) == (chosen.option, OPTIONS, 0.5)


@pytest.mark.requirement("SE-4", "TR-4")
def test_with_nothing_learned_the_recipe_is_the_prior_and_nothing_is_told():
    recipe, choices = choose_recipe(Chooser(Policy(), 1), "what is her cat called")
    assert (recipe.weights, recipe.order, recipe.size, choices) == (PRIOR, "ranker", 1.0, ())


@pytest.mark.requirement("TR-4")
def test_recipes_vary_words_and_pool_by_what_was_learned():
    learned = {"keywords/more/always": 40.0, "pool/narrow/always": 40.0, "recipe/rrf/always": 40.0}
    recipe, choices = choose_recipe(Chooser(Policy(1, choices=learned), 1), "her cat")
    assert (recipe.order, recipe.size) == ("rrf", 0.5)
    assert recipe.weights["bm25"] == pytest.approx(1.6 * PRIOR["bm25"])
    assert recipe.weights["cosine"] == PRIOR["cosine"]
    assert [one.point for one in choices] == ["recipe", "keywords", "pool"]


def test_features_of_queries_lie_between_0_and_1():
    assert query_features("") == dict.fromkeys(("words", "names", "links", "exact"), 0.0)
    known = query_features("Who is the mother of Ada's teacher in 1843?")
    assert known["names"] == pytest.approx(1 / 9)
    assert (known["links"], known["exact"]) == (0.8, 1.0)
    assert all(0 <= value <= 1 for value in query_features("of " * 500).values())


@pytest.mark.requirement("SE-11", "TJ-2")
def test_nothing_is_swapped_while_nothing_is_learned():
    assert swapped(shown(), Chooser(Policy(), 1)) == (shown(), None)


@pytest.mark.requirement("TR-7", "TJ-3")
def test_neighbours_of_a_layer_are_swapped_with_the_probability_that_is_told():
    policy, before, swaps = Policy(1, exploration=0.6), shown("uutt"), 0
    for seed in range(2000):
        after, placed = swapped(before, Chooser(policy, seed))
        assert [one.score for one in after] == [one.score for one in before]
        moved = [place for place in range(4) if after[place].hit != before[place].hit]
        assert moved in ([], [0, 1], [2, 3])
        expected = [0.15 if place in moved else 0.85 for place in range(4)]
        assert placed == pytest.approx(expected)
        swaps += bool(moved)
    assert swaps / 2000 == pytest.approx(0.3, abs=0.04)

"""What is judged in hindsight is the policy that would serve, to the last rule of it."""

from dataclasses import replace

import numpy as np
import pytest

from learning.config import LearningConfig
from learning.hindsight import Hindsight
from learning.serving import serving_weights
from models.choices import probabilities
from tests.unit.learning.bandit import Tenant


def features(chance):
    # Of very different sizes, so that a limit of each weight is another one than of all.
    return {"always": 1.0, "several": float(chance.random() < 0.5), "score": 8 * chance.random()}


def pays(known, option, chance):
    return 0.3 + (option == "rlm") * (0.5 if known["several"] else -0.2) + chance.gauss(0, 0.3)


@pytest.mark.requirement("TR-9", "TR-10")
@pytest.mark.parametrize("limit", [20.0, 2.0])
def test_the_policy_that_is_judged_is_the_one_that_would_serve(limit):
    """After a thousand lessons the temperature has fallen; the lower limit cuts the weights."""
    config = replace(LearningConfig(), weight_limit=limit)
    tenant = Tenant(features, pays, 1, {"standard": 0.0, "rlm": -2.0}, config=config)
    state = tenant.run(1000)
    assert "route" in state.champion.points
    served = serving_weights(state, None, tenant.prior, config)
    lessons = [tenant.search(number, served) for number in range(200)]
    hindsight = Hindsight(config)
    hindsight.look(state, lessons)
    terms = []
    for lesson in lessons:
        [chosen] = lesson.experience.chosen
        choice = chosen.choice
        chances = probabilities("route", choice.options, choice.features, served, 0.0)
        weight = min(chances[choice.option] / chosen.propensity, 20.0)
        terms.append(weight * lesson.experience.reward)
    found = hindsight.estimates(1)["route"]
    assert found["ips"].value == pytest.approx(float(np.mean(terms)), rel=1e-9)

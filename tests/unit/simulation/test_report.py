"""What is said of a simulation."""

from memstream.simulation.arms import Came
from memstream.simulation.report import best_fixed, report
from memstream.simulation.run import Rounds
from memstream.simulation.users import Reaction


def came(*rewards, routes="s", questions="abcd"):
    """Return rounds with these rewards; the routes and questions begin anew when they end."""
    return [
        Came(
            *(Reaction(), reward, reward / 2, 3),
            {"s": "standard", "r": "rlm"}[routes[place % len(routes)]],
            questions[place % len(questions)],
        )
        for place, reward in enumerate(rewards)
    ]


ROUNDS = Rounds(
    came(0, 0, 0, 0, 0, 0, 0.5, 1.0, routes="sr"),
    came(0, 0, 0, 0, 0, 0, 0.25, 0.25),
    {
        "rlm": came(1, 1, 1, 1, 1, 1, 1, 1, routes="r"),
        "standard": came(0, 0, 0, 0, 0, 0, 2, 2),
    },
    {"t": (3, {"rank/bm25": 1.0})},
)


def test_the_last_quarter_counts():
    told = report(ROUNDS)
    assert told["rounds"] == 8
    assert told["learned"] == {
        "reward": 0.75,
        "recall": 0.375,
        "tokens": 3.0,
        "routes": {"rlm": 0.5, "standard": 0.5},
    }
    assert told["frozen"]["reward"] == 0.25
    assert told["frozen"]["routes"] == {"standard": 1.0}
    assert told["difference"]["reward"]["mean"] == 0.5
    assert told["policies"] == {"t": 3}
    assert [point["round"] for point in told["curve"]] == list(range(1, 9))


def test_regret_is_told_against_what_would_have_been_best_from_the_first_round_on():
    told = report(ROUNDS)
    # In the last quarter another one is better, but nobody could have stayed with both.
    assert best_fixed(ROUNDS) == told["regret"]["against"] == "rlm"
    assert told["fixed"]["rlm"]["reward"] == 1.0
    assert told["regret"] == {
        "against": "rlm",
        "first_quarter": 1.0,
        "last_quarter": 0.25,
        "cumulative": 6.5,
    }
    assert [point["regret"] for point in told["curve"]] == [1, 1, 1, 1, 1, 1, 0.5, 0]
    assert [point["cumulative_regret"] for point in told["curve"]] == [1, 2, 3, 4, 5, 6, 6.5, 6.5]


def test_the_interval_knows_that_questions_come_again():
    rewards = [0.9, 0.1] * 16
    again = Rounds(came(*rewards, questions="ab"), came(*[0.0] * 32), {}, {})
    other = Rounds(came(*rewards, questions="abcdefgh"), came(*[0.0] * 32), {}, {})
    two, eight = (report(one)["difference"]["reward"] for one in (again, other))
    assert two["mean"] == eight["mean"]
    assert two["upper"] - two["lower"] > 2 * (eight["upper"] - eight["lower"])

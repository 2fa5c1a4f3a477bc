"""Made-up contextual bandits, with rewards of the size and the noise that searches have."""

import random
from collections.abc import Callable

from bench.learning.race import Round

Gain = Callable[[dict[str, float], str], float]

NOISE = 0.3


def rounds(
    count: int, seed: int, options: dict[str, float], gain: Gain, noise: float = NOISE
) -> list[Round]:
    """Return rounds with the features of a query; what each option earns in each is drawn first."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        score = 0.3 * chance.random()
        features = {
            "always": 1.0,
            "several": float(chance.random() < 0.5),
            "score": score,
            "length": chance.random(),
            "names": float(chance.random() < 0.3),
            "question": float(chance.random() < 0.7),
            "numbers": chance.random(),
            "recent": float(chance.random() < 0.2),
        }
        earned = {
            option: _bounded(0.4 + gain(features, option) + chance.gauss(0, noise))
            for option in options
        }
        shown = [_shown(chance) for _ in options]
        lists = dict(zip(options, shown, strict=True))
        made.append(Round(features, options, earned.__getitem__, lists))
    return made


def route(count: int, seed: int) -> list[Round]:
    """Return a router's choices: taking apart pays for questions with several parts only."""

    def gain(known: dict[str, float], option: str) -> float:
        return (0.3 if known["several"] else -0.2) if option == "rlm" else 0.0

    return rounds(count, seed, {"standard": 0.0, "rlm": -1.0}, gain)


def recipe(count: int, seed: int) -> list[Round]:
    """Return choices of a recipe: which is best depends on length and names, a little."""

    def gain(known: dict[str, float], option: str) -> float:
        if option == "rrf":
            return 0.5 * (known["length"] - 0.4)
        return 0.3 if option == "weighted" and known["names"] else 0.0

    return rounds(count, seed, {"ranker": 1.0, "rrf": 0.0, "weighted": 0.0}, gain)


def settled(count: int, seed: int) -> list[Round]:
    """Return choices where what speaks for itself is best: nothing is to be gained."""

    def gain(known: dict[str, float], option: str) -> float:
        return 0.0 if option == "usual" else -0.1

    return rounds(count, seed, {"less": 0.0, "usual": 1.0, "more": 0.0}, gain)


def _shown(chance: random.Random) -> list[tuple[float, bool]]:
    """Return a list by how well memories seem to fit, of which two do, and are used if seen."""
    fits = [(chance.gauss(1.5 * (place < 2), 1), place < 2) for place in range(10)]
    fits.sort(reverse=True)
    return [
        (fit, good and chance.random() < 0.9 * rank**-0.5)
        for rank, (fit, good) in enumerate(fits, 1)
    ]


def _bounded(reward: float) -> float:
    return min(max(reward, -1.0), 1.0)

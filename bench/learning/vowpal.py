"""Vowpal Wabbit: a contextual bandit that learns after every round."""

import vowpalwabbit

from bench.learning.race import Round, mixed


class Vowpal:
    """Takes what Vowpal Wabbit thinks best; exploration is given, the same as everybody's."""

    def __init__(self, kind: str = "mtr", options: str = "") -> None:
        arguments = f"--cb_adf --cb_type {kind} -q SA --quiet --random_seed 1 {options}"
        self._workspace = vowpalwabbit.Workspace(arguments)

    def chances(self, round_: Round, exploration: float) -> dict[str, float]:
        """Return how likely each option is."""
        costs = self._workspace.predict(self._lines(round_))
        names = list(round_.options)
        # Of equals the one that speaks for itself: before anything is learned, all are equal.
        best = min(range(len(names)), key=lambda n: (costs[n], -round_.options[names[n]]))
        return mixed(names[best], round_.options, exploration)

    def learn(self, round_: Round, option: str, reward: float, propensity: float) -> None:
        """Learn from one choice."""
        self._workspace.learn(self._lines(round_, option, -reward, propensity))

    def close(self) -> None:
        """End it."""
        self._workspace.finish()

    def _lines(
        self, round_: Round, option: str | None = None, cost: float = 0.0, propensity: float = 1.0
    ) -> list[str]:
        known = " ".join(f"{_plain(name)}:{value}" for name, value in round_.features.items())
        lines = [f"shared |S {known}"]
        for name, base in round_.options.items():
            label = f"0:{cost}:{propensity} " if name == option else ""
            lines.append(f"{label}|A {_plain(name)} base:{base}")
        return lines


def _plain(name: str) -> str:
    """Return a name without what Vowpal Wabbit reads as something else."""
    return name.replace(" ", "_").replace(":", "_").replace("|", "_")

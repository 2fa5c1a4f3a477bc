"""memstream's learner: steps of twenty lessons, behind its gate or without it."""

from bench.learning.race import Round
from learning.config import LearningConfig
from learning.lessons import Chosen, Experience, Lesson, Placed
from learning.serving import serving_weights
from learning.state import Learned
from learning.trainer import STEP, Trainer
from models.choices import Choice, probabilities

FIT = {"fit": 1.0}
"""How well a memory seems to fit, all that is known of it here."""


class Memstream:
    """Serves what the gate lets through."""

    def __init__(self, config: LearningConfig | None = None, *, gated: bool = True) -> None:
        self._config = config or LearningConfig()
        self._trainer = Trainer(FIT, self._config)
        self._gated = gated
        self.state = Learned.fresh(FIT)
        self._weights: dict[str, float] = {}
        self._lessons: list[Lesson] = []
        self._exploration = 0.0

    def chances(self, round_: Round, exploration: float) -> dict[str, float]:
        """Return how likely each option is."""
        self._exploration = exploration
        return probabilities("route", round_.options, round_.features, self._weights, exploration)

    def learn(self, round_: Round, option: str, reward: float, propensity: float) -> None:
        """Keep a lesson; twenty make a step."""
        choice = Choice(
            point="route",
            option=option,
            options=dict(round_.options),
            features=dict(round_.features),
            exploration=self._exploration,
        )
        number = self.state.trained + len(self._lessons)
        chosen = (Chosen(choice, propensity),)
        version = self.state.version
        placed = tuple(
            Placed(f"m{rank}", rank, 1.0, used, (fit,))
            for rank, (fit, used) in enumerate(round_.lists.get(option, ()), 1)
        )
        told = Experience(
            *(f"t{number}", 0, version, reward),
            trainable=True,
            chosen=chosen,
            names=tuple(FIT),
            placed=placed,
        )
        self._lessons.append(Lesson(told))
        if len(self._lessons) == STEP:
            self._step()

    def _step(self) -> None:
        self.state = self._trainer.step(self.state, self._lessons).state
        self._lessons = []
        served = self.state
        if not self._gated:
            served = self._trainer.promote(self.state).state
        self._weights = serving_weights(served, None, FIT, self._config)

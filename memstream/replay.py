"""Learns once more from the log, to see that the same comes of it, or what else might have."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from learning.config import LearningConfig
from learning.hindsight import Hindsight, told
from learning.pupil import Pupil
from memstream.labelled import TrajectoryLog
from memstream.what_if import Trying
from models import Trajectory
from storage import Store
from storage.lessons import Notebook
from storage.policies import OrderError, PolicyState, Study

SEED = 7
"""What intervals are drawn from: the same log gives the same report."""


class Pass:
    """One tenant's log, learned from once more in one way."""

    def __init__(
        self,
        pupil: Callable[[LearningConfig, Hindsight], Pupil],
        trying: Trying,
        orders: Sequence[tuple[int, str]] = (),
    ) -> None:
        self._trying = trying
        self._orders = list(orders)
        self.hindsight = Hindsight(trying.config)
        self.pupil = pupil(trying.config, self.hindsight)
        self.study = Study(self.pupil, Notebook(self.pupil.correctable))
        self.marks: dict[int, str] = {}
        """What was known after each step."""
        self.versions: list[tuple[int, int]] = [(0, 0)]
        """After how many searches which version served."""
        self.unreadable = 0
        """How many could not be read."""
        self._obey()

    def read(self, trajectory: Trajectory, worth: float) -> None:
        """Learn from one more; policies are judged by what it is worth.

        One whose choices cannot be read is passed over, as live, where it becomes a dead letter.
        """
        try:
            self.pupil.note(trajectory)
        except ValueError:
            self.unreadable += 1
            return
        earned = self._trying.reward(trajectory)
        if earned != trajectory.reward:
            trajectory = trajectory.model_copy(update={"reward": earned})
        self.hindsight.rewards[trajectory.trajectory_id] = worth
        if self.study.read(trajectory) is not None:
            self._obey()

    def _obey(self) -> None:
        while self._orders and self._orders[0][0] <= self.study.steps:
            try:
                self.study.obey(self._orders.pop(0)[1], "replay", "as it was ordered then")
            except OrderError:
                continue  # In another history there was nothing to order.
        taught = self.study.taught
        if taught is not None:
            self.marks[self.study.steps] = _mark(taught.state)
            self.versions.append((taught.trained, taught.version))

    def report(self) -> dict[str, Any]:
        """Return what came of it."""
        taught = self.study.taught
        kinds = Counter(event.kind for _, _, event in self.study.events)
        return {
            "trained": taught.trained if taught else 0,
            "steps": self.study.steps,
            "version": taught.version if taught else 0,
            "exploration_rate": taught.exploration if taught else 0.0,
            "events": dict(sorted(kinds.items())),
            "versions": self.versions,
            "estimates": told(self.hindsight.estimates(SEED)),
            "weights": dict(self.pupil.serve(self.study.state, None, None)),
        }


class Replay:
    """All tenants' logs, learned from as it was done, and in another way beside it if asked."""

    def __init__(
        self,
        store: Store,
        pupil: Callable[[LearningConfig, Hindsight], Pupil],
        trying: Trying | None = None,
        tenant_id: str | None = None,
    ) -> None:
        self._store = store
        self._pupil = pupil
        self._trying = trying
        self._tenant_id = tenant_id
        self.passes: dict[str, Pass] = {}
        self.tried: dict[str, Pass] = {}

    async def read(self, log: TrajectoryLog) -> None:
        """Learn from all that was written and not read yet."""
        async for trajectory in log.read():
            if self._tenant_id in (None, trajectory.tenant_id):
                await self._take(trajectory)

    async def _take(self, trajectory: Trajectory) -> None:
        tenant_id = trajectory.tenant_id
        if tenant_id not in self.passes:
            orders = await self._store.policies.orders(tenant_id)
            self.passes[tenant_id] = Pass(self._pupil, Trying(), orders)
            if self._trying:
                self.tried[tenant_id] = Pass(self._pupil, self._trying)
        worth = self._trying.reward(trajectory) if self._trying else trajectory.reward
        self.passes[tenant_id].read(trajectory, worth)
        if self._trying:
            self.tried[tenant_id].read(trajectory, worth)

    async def compare(self, log: TrajectoryLog, *, whole: bool) -> dict[str, dict[str, Any]]:
        """Return for each tenant whether what was learned live is the same, to the last bit."""
        live = {name: await self._store.policies.state(name) for name in self.passes}
        # What the service learned from while this was reading is on the topic by now.
        await self.read(log)
        lost = await log.lost_its_beginning()
        return {
            name: _compared(
                self.passes[name],
                live.get(name),
                lost=lost,
                whole=whole,
                serves=await self._serves(name, live),
            )
            for name in sorted(self.passes)
        }

    async def _serves(self, tenant_id: str, live: Mapping[str, PolicyState | None]) -> bool | None:
        """Tell whether what serves a tenant follows from the log; None where that cannot be told.

        What others taught is blended in as it was when they were last asked, which no log tells.
        So of a difference to what they would give now nothing follows.
        """
        served, replayed = live[tenant_id], self.passes[tenant_id]
        if served is None or served.weights is None or served.steps != replayed.study.steps:
            return None
        pool, own = None, None
        if served.blended:
            given = {name: await self._given(name) for name in sorted(self.passes)}
            pool = replayed.pupil.gather([text for text in given.values() if text is not None])
            own = given[tenant_id]
        weights = replayed.pupil.serve(replayed.study.state, pool, own)
        same = dict(weights) == dict(served.weights)
        return same or (None if served.blended else False)

    async def _given(self, tenant_id: str) -> str | None:
        taught = self.passes[tenant_id].study.taught
        overrides = await self._store.overrides(tenant_id)
        return taught.contribution if taught and overrides.global_prior is not False else None


def _compared(
    replayed: Pass, live: PolicyState | None, *, lost: bool, whole: bool, serves: bool | None
) -> dict[str, Any]:
    steps = live.steps if live else 0
    same = live is not None and live.state is not None
    same = same and replayed.marks.get(steps) == _mark(live.state or "" if live else "")
    if same and serves is False:
        same, why = False, "what serves does not follow from what was learned"
    elif same:
        why = "identical"
    elif live is None or not live.state:
        why = "nothing was learned live yet" if replayed.study.steps else "too few searches yet"
        same = not replayed.study.steps
    elif not whole:
        why = "only a part of the log was read"
    elif lost:
        why = "the topic no longer holds its beginning"
    elif replayed.study.steps < steps:
        why = f"the topic holds {replayed.study.steps} of {steps} steps"
    else:
        why = "learned by other parameters, windows or by another version of memstream"
    return {
        "identical": same,
        "why": why,
        "steps": steps,
        "replayed_steps": replayed.study.steps,
        "serves": serves,
        "unreadable": replayed.unreadable,
    }


def changes(
    one: Mapping[str, float], two: Mapping[str, float], most: int = 12
) -> list[tuple[str, float, float]]:
    """Return the weights that differ most, with both values."""
    names = sorted({*one, *two}, key=lambda name: -abs(one.get(name, 0) - two.get(name, 0)))
    return [(name, one.get(name, 0.0), two.get(name, 0.0)) for name in names[:most]]


def _mark(state: str) -> str:
    return sha256(state.encode()).hexdigest()

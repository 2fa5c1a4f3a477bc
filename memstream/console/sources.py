"""What the console knows: the store, the newest of some topics, this worker's metrics."""

from collections.abc import Sequence

from memstream.broker import broker_of
from memstream.clock import now
from memstream.console.contexts import MOST_EACH as MOST_CONTEXTS
from memstream.console.contexts import Contexts
from memstream.console.course import Course
from memstream.console.heard import KINDS, Heard, admission
from memstream.console.letters import MOST as MOST_LETTERS
from memstream.console.letters import Letters
from memstream.console.newest import Newest, Taker
from memstream.console.pulse import Pulse
from memstream.console.recent import Recent
from memstream.health import Health
from memstream.settings import Settings
from storage import Store
from storage.protocol import StoreUnavailableError
from topics import Topic, TopicNames

MOST_TRAJECTORIES = 5000
"""So many of each partition are read when somebody begins to look, for the course of rewards.

Most of each is passed over, which takes some 35 µs; the newest 1,000 are taken in whole.
"""

MOST_SIGNALS = 2000
"""So many of each partition: some searches have several, and most of them one or none."""


TRAJECTORIES, DEAD_LETTERS = (Topic.TRAJECTORIES,), (Topic.DEAD_LETTERS,)
CONTEXTS = (Topic.CONTEXT_ASSEMBLED,)


class Sources:
    """Opened with the worker; the store is there a little later than the pages."""

    def __init__(self, settings: Settings, health: Health) -> None:
        self.settings = settings
        self.health = health
        self.broker = broker_of(settings)
        self.names = TopicNames(settings.topic_prefix)
        self.pulse = Pulse(now)
        self._recent, self.course = Recent(), Course()
        self._letters = Letters(self.names)
        self._heard = Heard(self.names, admission(settings))
        self._searches = self._newest(MOST_TRAJECTORIES, (self._recent, self.course), TRAJECTORIES)
        self._dead = self._newest(MOST_LETTERS, (self._letters,), DEAD_LETTERS)
        self._contexts = Contexts()
        self._assembled = self._newest(MOST_CONTEXTS, (self._contexts,), CONTEXTS)
        self._signals = self._newest(MOST_SIGNALS, (self._heard,), tuple(KINDS))
        self._store: Store | None = None

    def _newest(self, most: int, takers: Sequence[Taker], topics: Sequence[Topic]) -> Newest:
        return Newest(self.broker, [self.names.name(topic) for topic in topics], most, takers)

    @property
    def store(self) -> Store:
        """The store; raises while there is none yet."""
        if self._store is None:
            raise StoreUnavailableError("the store is not open yet")
        return self._store

    def open(self, store: Store) -> None:
        """Have the store, once it is there."""
        self._store = store

    async def recent(self) -> tuple[Recent, str | None]:
        """Return the newest searches, and why there may be more, if so."""
        why = await self._searches.look()
        return self._recent, why

    async def letters(self) -> tuple[Letters, str | None]:
        """Return the newest dead letters, and why there may be more, if so."""
        why = await self._dead.look()
        return self._letters, why

    def listen(self) -> None:
        """Begin to read signals: who sees a list of searches opens one of them next."""
        self._signals.begin()

    async def heard(self) -> tuple[Heard, str | None]:
        """Return the newest signals, and why there may be more, if so."""
        why = await self._signals.look()
        return self._heard, why

    async def contexts(self) -> tuple[Contexts, str | None]:
        """Return the newest contexts, and why there may be more, if so."""
        why = await self._assembled.look()
        return self._contexts, why

    async def close(self) -> None:
        """Read nothing any more."""
        self._store = None
        following = (self._searches, self._dead, self._signals, self._assembled)
        for part in (self.pulse, *following):
            await part.close()

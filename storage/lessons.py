"""Which labelled searches wait to be learned from, and when there are enough of them.

Plain bookkeeping, the same for every store and for a replay: what a tenant is taught follows from
the order of its trajectories alone, not from the batches in which they come.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from models import Trajectory

KNOWN_FOR = timedelta(days=7)
"""So long after a search can no longer be corrected it is known to have been learned from."""


class Lesson(NamedTuple):
    """A labelled search in the pupil's words, and as it was learned from before if it was."""

    text: str
    before: str | None = None
    steps: tuple[int, ...] = ()
    """In which steps it was learned from before."""


class Note(NamedTuple):
    """What is known of a labelled search."""

    trajectory_id: str
    revision: int
    completed_at: datetime
    place: int | None
    """Its place among those that wait to be learned from; None if it was."""
    lesson: str | None
    """What waits to be learned."""
    taught: str | None
    """What was learned from it last, for as long as that can be corrected."""
    taught_in: str | None
    """In which steps it was learned from, one after the other."""


@dataclass
class Notebook:
    """What a tenant's pupil has before it: what waits, and what was learned and may come again.

    A search whose time is long over is passed over: it was learned from, or never will be. Time is
    that of the newest search of the tenant.
    """

    correctable: timedelta
    """How long after its end the outcome of a search may change."""
    places: int = 0
    newest_at: datetime | None = None
    notes: dict[str, Note] = field(default_factory=dict)
    changed: dict[str, Note] = field(default_factory=dict)
    """What is not as it was when the notebook was opened."""
    duplicates: int = 0
    late: int = 0
    """How many corrections came after what they correct had been forgotten."""

    def __post_init__(self) -> None:
        self._pending = {
            note.trajectory_id: None
            for note in sorted(self.notes.values(), key=lambda note: note.place or 0)
            if note.place is not None
        }

    @property
    def pending(self) -> int:
        """How many wait."""
        return len(self._pending)

    @property
    def correctable_since(self) -> datetime | None:
        """Searches that ended before can no longer be corrected."""
        return self.newest_at and _before(self.newest_at, self.correctable)

    @property
    def known_since(self) -> datetime | None:
        """Searches that ended before are not known any more."""
        return self.newest_at and _before(self.newest_at, self.correctable + KNOWN_FOR)

    def keep(self, trajectory: Trajectory, text: str) -> bool:
        """Keep what is new, in the order of arrival; return whether it was."""
        ended_at = trajectory.completed_at
        known = self.notes.get(trajectory.trajectory_id)
        if known is not None and known.revision >= trajectory.revision:
            self.duplicates += 1
            return False
        if self._is_over(ended_at, learned=known is not None and known.place is None):
            self.late += 1
            return False
        self.newest_at = max(self.newest_at or ended_at, ended_at)
        if known is not None and known.place is not None:
            self._write(known._replace(revision=trajectory.revision, lesson=text))
            return True
        self.places += 1
        taught = (known.taught, known.taught_in) if known else (None, None)
        self._write(
            Note(
                trajectory.trajectory_id, trajectory.revision, ended_at, self.places, text, *taught
            )
        )
        self._pending[trajectory.trajectory_id] = None
        return True

    def take(self, number: int, step: int) -> Sequence[Lesson]:
        """Return the next lessons, which are learned from in that step; none if fewer wait."""
        if self.pending < number:
            return ()
        lessons = []
        for trajectory_id in list(self._pending)[:number]:
            note = self.notes[trajectory_id]
            steps = (note.taught_in or "").split()
            lessons.append(Lesson(note.lesson or "", note.taught, tuple(map(int, steps))))
            taught_in = " ".join([*steps, str(step)])
            self._write(
                note._replace(place=None, lesson=None, taught=note.lesson, taught_in=taught_in)
            )
            del self._pending[trajectory_id]
        return lessons

    def _is_over(self, ended_at: datetime, *, learned: bool) -> bool:
        since = self.correctable_since if learned else self.known_since
        return since is not None and ended_at < since

    def _write(self, note: Note) -> None:
        self.notes[note.trajectory_id] = self.changed[note.trajectory_id] = note


def opened(
    correctable: timedelta, places: int, newest_at: datetime | None, notes: Iterable[Note]
) -> Notebook:
    """Return a tenant's notebook as it was left."""
    return Notebook(correctable, places, newest_at, {note.trajectory_id: note for note in notes})


def _before(moment: datetime, span: timedelta) -> datetime:
    try:
        return moment - span
    except OverflowError:
        return datetime.min.replace(tzinfo=moment.tzinfo)

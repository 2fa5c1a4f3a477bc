"""Which message of the topic holds the newest revision of each trajectory."""

import hashlib
import sqlite3
from types import TracebackType
from typing import NamedTuple, Self

from models import Record
from models.identifiers import Identifier
from models.quantities import Count, Moment

CACHE_KIB = 65_536
"""What is kept in memory of the index; the rest is in a file that goes with the process."""


class Head(Record):
    """What of a trajectory must be read to tell whether it is exported."""

    trajectory_id: Identifier
    tenant_id: Identifier
    revision: Count
    started_at: Moment


class Place(NamedTuple):
    """Where a message is on its topic."""

    partition: int
    offset: int


class Newest:
    """An index of ids, revisions and places: memory does not grow with the log.

    Messages can be on the topic twice; of the same revision the first is taken.
    """

    def __init__(self, *, all_revisions: bool = False) -> None:
        self._all = all_revisions
        # Without a name SQLite makes a file of its own, which nobody else sees, and removes it.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._database.execute(
            "CREATE TABLE places (id BLOB PRIMARY KEY, revision INTEGER NOT NULL, "
            'partition INTEGER NOT NULL, "offset" INTEGER NOT NULL) WITHOUT ROWID'
        )
        self._database.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._database.close()

    def __len__(self) -> int:
        count: int = self._database.execute("SELECT count(*) FROM places").fetchone()[0]
        return count

    def note(self, head: Head, place: Place) -> None:
        """Take note of a message, in the order of the topic."""
        self._database.execute(
            "INSERT INTO places VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            'revision = excluded.revision, partition = excluded.partition, "offset" = '
            'excluded."offset" WHERE excluded.revision > revision',
            (self._key(head), head.revision, *place),
        )

    def holds(self, head: Head, place: Place) -> bool:
        """Tell whether the message at this place is the one to take."""
        found = self._database.execute(
            'SELECT partition, "offset" FROM places WHERE id = ?', (self._key(head),)
        ).fetchone()
        return bool(found == place)

    def _key(self, head: Head) -> bytes:
        name = f"{len(head.tenant_id)}:{head.tenant_id}{head.trajectory_id}"
        if self._all:
            name = f"{head.revision}:{name}"
        return hashlib.blake2b(name.encode(), digest_size=16).digest()

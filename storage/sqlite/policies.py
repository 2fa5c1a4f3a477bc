"""What was learned, in SQLite: one transaction a batch, in the store's one thread."""

import json
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from math import fsum
from typing import Any, NamedTuple, TypeVar

from models import ServingPolicy, Trajectory
from storage.lessons import Note, Notebook, opened
from storage.messages import headers_text
from storage.policies import (
    Learnt,
    PolicyState,
    Pupil,
    Recorded,
    Study,
    Taught,
    counted,
    is_blended,
    read_weights,
    recorded_rows,
    weights_text,
)
from storage.protocol import StoreUnavailableError
from storage.sqlite.database import writing
from storage.sqlite.rows import as_moment, as_text
from storage.statements import statements
from storage.worth import newest

_SQL = statements("storage.sqlite", "policies.sql")
_PUT_OUT = statements("storage.sqlite", "joins.sql")["put_out"]

T = TypeVar("T")
Run = Callable[[Callable[[], Any]], Awaitable[Any]]


class SqlitePolicies:
    """Keeps what was learned for each tenant."""

    def __init__(self, run: Run, database: Callable[[], sqlite3.Connection]) -> None:
        self._run = run
        self._database = database

    async def learn(
        self, tenant_id: str, trajectories: Sequence[Trajectory], pupil: Pupil, at: datetime
    ) -> Learnt:
        """Keep new lessons of a tenant and learn from those that are enough, in one transaction."""
        learnt: Learnt = await self._write(
            tenant_id, pupil, at, lambda tenant: tenant.learn(trajectories)
        )
        return learnt

    async def serving(self, tenant_id: str) -> ServingPolicy | None:
        """Return what serves a tenant's searches."""
        [row] = await self._read("serving", tenant_id)
        version, weights, exploration, served_at = row
        if weights is None:
            return None
        return ServingPolicy(
            tenant_id=tenant_id,
            version=version,
            weights=read_weights(weights),
            exploration_rate=exploration,
            updated_at=datetime.fromisoformat(served_at),
        )

    async def state(self, tenant_id: str) -> PolicyState | None:
        """Return a tenant's policy as it stands."""
        for row in await self._read("state", tenant_id):
            policy = PolicyState(*row)
            return policy._replace(
                weights=row[5] and read_weights(row[5]),
                served_at=as_moment(row[6]),
                contributes=bool(policy.contributes),
                blended=bool(policy.blended),
            )
        return None

    async def history(self, tenant_id: str, limit: int) -> Sequence[Recorded]:
        """Return what became of a tenant's policy, the newest first."""
        rows = await self._read("history", tenant_id, limit)
        return [Recorded(datetime.fromisoformat(at), *rest) for at, *rest in rows]

    async def orders(self, tenant_id: str) -> Sequence[tuple[int, str]]:
        """Return after how many steps operators ordered what, in their order."""
        return [(row[0], row[1]) for row in await self._read("orders", tenant_id)]

    async def control(
        self, tenant_id: str, order: str, pupil: Pupil, at: datetime, *, actor: str, why: str
    ) -> Taught:
        """Carry out what an operator orders, in one transaction, and record who and why."""
        taught: Taught = await self._write(
            tenant_id, pupil, at, lambda tenant: tenant.obey(order, actor, why)
        )
        return taught

    async def pool(self, pupil: Pupil, at: datetime, most: int) -> int:
        """Gather what tenants give, if that changed, and blend it into what they are served by."""
        stale: list[str] = await self._run(lambda: self._gather(pupil, at, most))
        for tenant_id in stale:
            await self._write(tenant_id, pupil, at, lambda tenant: tenant.blend_again())
        return len(stale)

    def _gather(self, pupil: Pupil, at: datetime, most: int) -> list[str]:
        execute = self._database().execute
        with writing(self._database()):
            if execute(_SQL["contributions_changed"]).fetchone()[0]:
                execute(_SQL["gather"])
                pool = pupil.gather([row[0] for row in execute(_SQL["gathered"])])
                weights = weights_text(pupil.serve(None, pool, None))
                execute(_SQL["put_common"], (pool, weights, as_text(at)))
            return [row[0] for row in execute(_SQL["stale"], (most,))]

    async def _write(
        self, tenant_id: str, pupil: Pupil, at: datetime, work: Callable[["_Tenant"], T]
    ) -> T:
        def write() -> T:
            with writing(self._database()):
                return work(_Tenant(self._database(), tenant_id, pupil, at))

        done: T = await self._run(write)
        return done

    async def _read(self, statement: str, tenant_id: str, *parameters: Any) -> list[Any]:
        def read() -> list[Any]:
            return self._database().execute(_SQL[statement], (tenant_id, *parameters)).fetchall()

        rows: list[Any] = await self._run(read)
        return rows


class _Learner(NamedTuple):
    state: str
    contribution: str | None
    contributed: int | None
    pooled: str | None
    writes: int
    exposure: float
    exposed_use: float
    version: int
    weights: str | None
    exploration: float
    served_at: str | None


class _Tenant:
    """One tenant's transaction."""

    def __init__(
        self, database: sqlite3.Connection, tenant_id: str, pupil: Pupil, at: datetime
    ) -> None:
        self._database = database
        self._tenant_id = tenant_id
        self._pupil = pupil
        self._at = at

    def learn(self, trajectories: Sequence[Trajectory]) -> Learnt:
        steps, notebook = self._open([one.trajectory_id for one in trajectories])
        learner = None
        if notebook.pending + len(trajectories) >= self._pupil.step:
            learner = self._learner()
        study = Study(self._pupil, notebook, learner and learner.state, steps)
        for trajectory in trajectories:
            study.read(trajectory)
        self._keep(notebook)
        published = False
        if study.taught is not None and learner is not None:
            published = self._save(study, steps, learner)
            self._forget(notebook)
        return counted(study, steps, published=published)

    def obey(self, order: str, actor: str, why: str) -> Taught:
        steps, notebook = self._open([])
        learner = self._learner()
        study = Study(self._pupil, notebook, learner.state, steps)
        _, pool, own = self._common(learner)
        blended = is_blended(self._pupil, learner.state, pool, own)
        taught = study.obey(order, actor, why, blended=blended)
        self._save(study, steps, learner, order, actor, why)
        return taught

    def blend_again(self) -> None:
        learner = self._learner()
        self._serve(learner, learner.state, learner.version, learner.exploration)

    def _open(self, trajectory_ids: Sequence[str]) -> tuple[int, Notebook]:
        """Return the tenant's steps and what is before it."""
        self._run("open")
        [(steps, places, newest_at)] = self._run("progress")
        rows = self._run("pending") + self._run("known", json.dumps(list(trajectory_ids)))
        notes = (
            Note(name, revision, datetime.fromisoformat(completed_at), *rest)
            for name, revision, completed_at, *rest in rows
        )
        return steps, opened(self._pupil.correctable, places, as_moment(newest_at), notes)

    def _learner(self) -> _Learner:
        return _Learner(*self._run("learner")[0])

    def _common(self, learner: _Learner) -> tuple[int, str | None, str | None]:
        """Return what all know together, as which, and what of it the tenant gave."""
        for number, pool in self._run("common"):
            return number, pool, learner.pooled
        return 0, None, None

    def _keep(self, notebook: Notebook) -> None:
        for name in sorted(notebook.changed):
            note = notebook.changed[name]
            self._run("keep", *note[:2], as_text(note.completed_at), *note[3:])
        if notebook.changed and notebook.newest_at:
            self._run("note_progress", notebook.places, as_text(notebook.newest_at))

    def _save(
        self,
        study: Study,
        steps: int,
        learner: _Learner,
        order: str | None = None,
        actor: str | None = None,
        why: str | None = None,
    ) -> bool:
        """Save what was learned; return whether there is something to publish."""
        taught = study.taught
        assert taught is not None
        changed = taught.contribution != learner.contribution
        contributed = learner.writes + 1 if changed else learner.contributed
        exposure, use = learner.exposure, learner.exposed_use
        for values in study.values:
            exposure += fsum(worth.exposure for worth in values.values())
            use += fsum(worth.use for worth in values.values())
            for memory_id, worth in sorted(values.items()):
                self._run("value", memory_id, worth.exposure, worth.use)
                for (known,) in self._run("questions", memory_id):
                    told = newest(json.loads(known or "[]"), worth.questions)
                    self._run("ask", memory_id, json.dumps(told) if told else None)
        saved = self._run(
            "save",
            *(steps, study.steps, taught.trained, taught.version, taught.exploration),
            *(taught.state, taught.contribution),
            *(None if taught.contribution is None else contributed, exposure, use),
        )
        if not saved:
            raise StoreUnavailableError(f"the policy of {self._tenant_id} was written meanwhile")
        for at, *row in recorded_rows(study, self._at, order, actor, why):
            self._run("record", as_text(at), *row)
        return self._serve(learner, taught.state, taught.version, taught.exploration)

    def _serve(self, learner: _Learner, state: str, version: int, exploration: float) -> bool:
        number, pool, own = self._common(learner)
        weights = self._pupil.serve(state, pool, own)
        text = weights_text(weights)
        if (text, version, exploration) == (learner.weights, learner.version, learner.exploration):
            self._run("serve", text, number, learner.served_at)
            return False
        self._run("serve", text, number, as_text(self._at))
        policy = ServingPolicy(
            tenant_id=self._tenant_id,
            version=version,
            weights=dict(weights),
            exploration_rate=exploration,
            updated_at=self._at,
        )
        message = self._pupil.publication(policy)
        told = (message.topic, message.key, message.value, headers_text(message.headers))
        self._database.execute(_PUT_OUT, (self._tenant_id, *told, as_text(self._at)))
        return True

    def _forget(self, notebook: Notebook) -> None:
        if notebook.correctable_since and notebook.known_since:
            self._run("forget_taught", as_text(notebook.correctable_since))
            self._run("forget_lessons", as_text(notebook.known_since))

    def _run(self, statement: str, *parameters: Any) -> list[Any]:
        return self._database.execute(_SQL[statement], (self._tenant_id, *parameters)).fetchall()

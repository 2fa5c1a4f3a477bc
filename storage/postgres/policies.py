"""What was learned, in PostgreSQL: one transaction a batch, behind the wall of its tenant."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from math import fsum
from typing import Any

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
from storage.statements import statements
from storage.worth import newest

_SQL = statements("storage.postgres", "policies.sql")

_LOCK = 0x6D656D73_706F6F6C
"""An arbitrary but fixed number ("memspool"): of all workers one gathers at a time."""

Transaction = Callable[[], AbstractAsyncContextManager[Any]]


class PostgresPolicies:
    """Keeps what was learned for each tenant."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def learn(
        self, tenant_id: str, trajectories: Sequence[Trajectory], pupil: Pupil, at: datetime
    ) -> Learnt:
        """Keep new lessons of a tenant and learn from those that are enough, in one transaction."""
        async with self._transaction() as connection:
            return await _Tenant(connection, tenant_id, pupil, at).learn(trajectories)

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
            updated_at=served_at,
        )

    async def state(self, tenant_id: str) -> PolicyState | None:
        """Return a tenant's policy as it stands."""
        for row in await self._read("state", tenant_id):
            policy = PolicyState(*row)
            return policy._replace(weights=row[5] and read_weights(row[5]))
        return None

    async def history(self, tenant_id: str, limit: int) -> Sequence[Recorded]:
        """Return what became of a tenant's policy, the newest first."""
        return [Recorded(*row) for row in await self._read("history", tenant_id, limit)]

    async def orders(self, tenant_id: str) -> Sequence[tuple[int, str]]:
        """Return after how many steps operators ordered what, in their order."""
        return [(row[0], row[1]) for row in await self._read("orders", tenant_id)]

    async def control(
        self, tenant_id: str, order: str, pupil: Pupil, at: datetime, *, actor: str, why: str
    ) -> Taught:
        """Carry out what an operator orders, in one transaction, and record who and why."""
        async with self._transaction() as connection:
            return await _Tenant(connection, tenant_id, pupil, at).obey(order, actor, why)

    async def pool(self, pupil: Pupil, at: datetime, most: int) -> int:
        """Gather what tenants give, if that changed, and blend it into what they are served by."""
        async with self._transaction() as connection:
            if not await connection.fetchval(_SQL["gathering"], _LOCK):
                return 0
            if await connection.fetchval(_SQL["contributions_changed"]):
                pool = pupil.gather([row[0] for row in await connection.fetch(_SQL["gather"])])
                weights = weights_text(pupil.serve(None, pool, None))
                await connection.execute(_SQL["put_common"], pool, weights, at)
            stale = sorted(row[0] for row in await connection.fetch(_SQL["stale"], most))
        for tenant_id in stale:
            async with self._transaction() as connection:
                await _Tenant(connection, tenant_id, pupil, at).blend_again()
        return len(stale)

    async def _read(self, statement: str, tenant_id: str, *parameters: Any) -> list[Any]:
        async with self._transaction() as connection:
            await connection.execute(_SQL["enter_tenant"], tenant_id)
            rows: list[Any] = await connection.fetch(_SQL[statement], tenant_id, *parameters)
        return rows


class _Tenant:
    """One tenant's transaction."""

    def __init__(self, connection: Any, tenant_id: str, pupil: Pupil, at: datetime) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._pupil = pupil
        self._at = at

    async def learn(self, trajectories: Sequence[Trajectory]) -> Learnt:
        steps, notebook = await self._take_turn([one.trajectory_id for one in trajectories])
        learner = None
        if notebook.pending + len(trajectories) >= self._pupil.step:
            learner = await self._learner()
        study = Study(self._pupil, notebook, learner and learner["state"], steps)
        for trajectory in trajectories:
            study.read(trajectory)
        await self._keep(notebook)
        published = False
        if study.taught is not None and learner is not None:
            published = await self._save(study, steps, learner)
            await self._forget(notebook)
        return counted(study, steps, published=published)

    async def obey(self, order: str, actor: str, why: str) -> Taught:
        steps, notebook = await self._take_turn([])
        learner = await self._learner()
        study = Study(self._pupil, notebook, learner["state"], steps)
        _, pool, own = await self._common(learner)
        blended = is_blended(self._pupil, learner["state"], pool, own)
        taught = study.obey(order, actor, why, blended=blended)
        await self._save(study, steps, learner, order, actor, why)
        return taught

    async def blend_again(self) -> None:
        await self._connection.execute(_SQL["enter_tenant"], self._tenant_id)
        # What somebody else is writing is blended by them.
        if await self._fetch("lock_if_free"):
            learner = await self._learner()
            await self._serve(learner, learner["state"], learner["version"], learner["exploration"])

    async def _take_turn(self, trajectory_ids: Sequence[str]) -> tuple[int, Notebook]:
        """Wait until nobody else writes for the tenant; return its steps and what is before it."""
        await self._connection.execute(_SQL["enter_tenant"], self._tenant_id)
        await self._fetch("open")
        [(steps, places, newest_at)] = await self._fetch("lock")
        notes = await self._fetch("pending")
        if trajectory_ids:
            notes += await self._fetch("known", list(trajectory_ids))
        book = opened(self._pupil.correctable, places, newest_at, (Note(*row) for row in notes))
        return steps, book

    async def _learner(self) -> Any:
        return (await self._fetch("learner"))[0]

    async def _common(self, learner: Mapping[str, Any]) -> tuple[int, str | None, str | None]:
        """Return what all know together, as which, and what of it the tenant gave."""
        for number, pool in await self._fetch("common"):
            return number, pool, learner["pooled"]
        return 0, None, None

    async def _keep(self, notebook: Notebook) -> None:
        if notebook.changed:
            rows = [(self._tenant_id, *notebook.changed[name]) for name in sorted(notebook.changed)]
            await self._connection.executemany(_SQL["keep"], rows)
            await self._fetch("note_progress", notebook.places, notebook.newest_at)

    async def _save(
        self,
        study: Study,
        steps: int,
        learner: Mapping[str, Any],
        order: str | None = None,
        actor: str | None = None,
        why: str | None = None,
    ) -> bool:
        """Save what was learned; return whether there is something to publish."""
        taught = study.taught
        assert taught is not None
        changed = taught.contribution != learner["contribution"]
        contributed = learner["writes"] + 1 if changed else learner["contributed"]
        exposure, use = learner["exposure"], learner["exposed_use"]
        for values in study.values:
            exposure += fsum(worth.exposure for worth in values.values())
            use += fsum(worth.use for worth in values.values())
            # In one order, so that concurrent requests cannot deadlock.
            told = {}
            for memory_id, known in await self._fetch("questions", sorted(values)):
                worth = values[memory_id]
                questions = newest(known or (), worth.questions) or None
                told[memory_id] = (worth.exposure, worth.use, questions)
            await self._fetch("value", [*told], told)
        saved = await self._fetch(
            "save",
            *(steps, study.steps, taught.trained, taught.version, taught.exploration),
            *(taught.state, taught.contribution),
            *(None if taught.contribution is None else contributed, exposure, use),
        )
        if not saved:
            raise StoreUnavailableError(f"the policy of {self._tenant_id} was written meanwhile")
        rows = recorded_rows(study, self._at, order, actor, why)
        await self._connection.executemany(
            _SQL["record"], [(self._tenant_id, *row) for row in rows]
        )
        return await self._serve(learner, taught.state, taught.version, taught.exploration)

    async def _serve(
        self, learner: Mapping[str, Any], state: str, version: int, exploration: float
    ) -> bool:
        number, pool, own = await self._common(learner)
        weights = self._pupil.serve(state, pool, own)
        text = weights_text(weights)
        before = (learner["weights"], learner["version"], learner["exploration"])
        if (text, version, exploration) == before:
            await self._fetch("serve", text, number, learner["served_at"])
            return False
        await self._fetch("serve", text, number, self._at)
        policy = ServingPolicy(
            tenant_id=self._tenant_id,
            version=version,
            weights=dict(weights),
            exploration_rate=exploration,
            updated_at=self._at,
        )
        message = self._pupil.publication(policy)
        told = (message.topic, message.key, message.value, headers_text(message.headers))
        await self._fetch("put_out", *told, self._at)
        return True

    async def _forget(self, notebook: Notebook) -> None:
        await self._fetch("forget_taught", notebook.correctable_since)
        await self._fetch("forget_lessons", notebook.known_since)

    async def _fetch(self, statement: str, *parameters: Any) -> list[Any]:
        rows: list[Any] = await self._connection.fetch(
            _SQL[statement], self._tenant_id, *parameters
        )
        return rows

"""What the console tells of a tenant and of one search; nothing of any other tenant."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from statistics import fmean, quantiles
from typing import Any

from learning.config import LearningConfig
from memstream.console.heard import Heard
from memstream.console.recent import Seen, mix
from memstream.policy_report import history_report, policy_report
from models import InForce, Trajectory
from storage import Store
from storage.protocol import Filter

LATE = timedelta(seconds=3)
"""So long after its deadline a label has come here, mostly."""

STEP_S = 5.0
"""Of how many seconds the steps are in which that goes on."""

MOST_HISTORY = 200
"""So much of a policy's history is shown."""


async def tenant_view(
    store: Store,
    tenant_id: str,
    searches: Sequence[Seen],
    contexts: Sequence[float],
    settled_until: datetime,
    prior: Mapping[str, float],
    service: InForce,
) -> dict[str, Any]:
    """Return how a tenant is doing: rewards, outcomes, what was learned, what is used up."""
    own = await store.overrides(tenant_id)
    return {
        **await policy_view(store, tenant_id, prior),
        "searches": len(searches),
        "reward": _mean(searches),
        "settled_reward": _mean(
            [one for one in searches if datetime.fromisoformat(one.completed_at) < settled_until]
        ),
        "rewards": [
            {
                "at": one.completed_at,
                "reward": one.reward,
                "outcome": one.outcome,
                "policy_version": one.policy_version,
            }
            for one in searches
        ],
        "outcomes": mix(searches, "outcome"),
        "routes": mix(searches, "route"),
        "tried": sum(one.tried for one in searches),
        "budgets": budgets(searches, contexts, own.in_force(service)),
    }


async def policy_view(store: Store, tenant_id: str, prior: Mapping[str, float]) -> dict[str, Any]:
    """Return a tenant's policy and what became of it."""
    return {
        "tenant_id": tenant_id,
        "policy": await policy_report(store, tenant_id, prior, LearningConfig()),
        "history": history_report(list(await store.policies.history(tenant_id, MOST_HISTORY))),
    }


def budgets(searches: Sequence[Seen], contexts: Sequence[float], own: InForce) -> dict[str, Any]:
    """Return what searches may take, and what they took."""
    return {
        "latency_ms": {
            **_spread([one.duration_ms for one in searches]),
            "most": own.latency_budget_ms,
        },
        "tokens": _spread([float(one.tokens_used) for one in searches]),
        "context_tokens": {
            **_spread(contexts),
            "count": len(contexts),
            "most": own.token_budget,
        },
    }


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    if len(values) < 2:
        only = values[0] if values else None
        return {"p50": only, "p95": only, "max": only}
    cuts = quantiles(values, n=20, method="inclusive")
    return {"p50": cuts[9], "p95": cuts[18], "max": max(values)}


def settled(at: datetime, window: timedelta) -> datetime:
    """Return up to when all searches are labelled: those that came to nothing are labelled last.

    In steps, so that a page on which nothing else changes stays as it is.
    """
    until = (at - window - LATE).timestamp()
    return datetime.fromtimestamp(until - until % STEP_S, UTC)


def _mean(searches: Sequence[Seen]) -> float | None:
    return fmean(one.reward for one in searches) if searches else None


async def trajectory_view(
    store: Store, trajectory: Trajectory, known: Seen, heard: Heard, at: datetime
) -> dict[str, Any]:
    """Return all of a search, with the texts of those of its memories that the tenant still has."""
    among = Filter(at=at, min_confidence=0.0)
    ids = [one.memory_id for one in trajectory.shown]
    texts = {hit.memory_id: hit.content for hit in await store.get(known.tenant_id, ids, among)}
    told = trajectory.model_dump(mode="json", exclude={"shown"})
    return {
        **told,
        "duration_ms": known.duration_ms,
        "labels": [one._asdict() for one in known.labels],
        "heard": heard.of(
            known.tenant_id,
            trajectory.request_id,
            trajectory.session_id,
            trajectory.started_at.isoformat(),
        ),
        "shown": [
            {
                "memory_id": one.memory_id,
                "rank": one.rank,
                "propensity": one.propensity,
                "used": one.memory_id in trajectory.used,
                "content": texts.get(one.memory_id),
            }
            for one in trajectory.shown
        ],
    }

"""What was learned for a tenant, as data: for the command line, and for whoever else asks."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from learning.config import LearningConfig
from learning.standing import standing
from storage import Store
from storage.policies import Recorded

NOTHING: Mapping[str, Any] = {
    "baseline": None,
    "live": None,
    "suspended": False,
    "suspended_until": None,
    "signals": {"lists": 0, "tell": False},
    "staged": {},
    "serving_parts": [],
}


async def policy_report(
    store: Store, tenant_id: str, prior: Mapping[str, float], config: LearningConfig
) -> dict[str, Any]:
    """Return a tenant's policy: what serves, against what it began with, and what waits."""
    policy = await store.policies.state(tenant_id)
    serving = await store.policies.serving(tenant_id)
    shipped = {f"rank/{name}": weight for name, weight in prior.items()}
    stands = standing(policy.state, config) if policy and policy.state else NOTHING
    # Who is suspended is served without what others learned.
    takes = not stands["suspended"] and (policy.blended if policy else serving is not None)
    # Who is nobody yet is served by what all tenants that share have learned together.
    others = await store.policies.serving(f"nobody-{uuid.uuid4()}") if takes else None
    began = {**shipped, **(others.weights if others else {})}
    weights = {**began, **(serving.weights if serving else {})}
    return {
        "tenant_id": tenant_id,
        "version": serving.version if serving else 0,
        "served_at": serving.updated_at.isoformat() if serving else None,
        "exploration_rate": serving.exploration_rate if serving else 0.0,
        "trained": policy.trained if policy else 0,
        "steps": policy.steps if policy else 0,
        "pending": policy.pending if policy else 0,
        "contributes": policy.contributes if policy else False,
        "learns_from_others": takes,
        **stands,
        "weights": {
            name: {
                "weight": weights[name],
                "prior": began.get(name, 0.0),
                "shipped": shipped.get(name, 0.0),
            }
            for name in sorted(weights)
        },
    }


def history_report(entries: list[Recorded]) -> list[dict[str, Any]]:
    """Return what became of a policy, the newest first."""
    return [
        {
            **json.loads(entry.told),
            "at": entry.at.isoformat(),
            "kind": entry.kind,
            "version": entry.version,
            "trained": entry.trained,
            "actor": entry.actor or json.loads(entry.told).get("actor"),
            "why": entry.why,
            "ordered": entry.ordered,
        }
        for entry in entries
    ]

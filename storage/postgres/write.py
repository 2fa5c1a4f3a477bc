"""Writes changes and uses into tenants' tables, each event once."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from storage.counts import Use, tally
from storage.joins import first_of_each
from storage.postgres.rows import memory_row, posting_columns
from storage.postgres.turns import Name, in_turns, names, new_events
from storage.protocol import Change, last_of_each_memory
from storage.statements import statements

_SQL = statements("storage.postgres")


async def unseen(
    connection: Any, tenant_id: str, consumer: str, seen_at: Mapping[str, datetime]
) -> set[str]:
    """Mark events as seen and return those that were not before."""
    events = sorted(seen_at)
    moments = [seen_at[event] for event in events]
    rows = await connection.fetch(_SQL["mark_seen"], tenant_id, consumer, events, moments)
    return {row["event_id"] for row in rows}


async def apply_to_tenant(connection: Any, tenant_id: str, changes: Sequence[Change]) -> int:
    """Apply changes and return how many memories the tenant has then."""
    await connection.execute(_SQL["take_turn"], tenant_id)
    seen_at = {change.item.event_id: change.received_at for change in changes}
    new = await unseen(connection, tenant_id, "items", seen_at)
    last = last_of_each_memory([change for change in changes if change.item.event_id in new])
    gone = [change.item.memory_id for change in last if change.item.op == "delete"]
    written = [change for change in last if change.item.op == "upsert"]
    await connection.execute(
        _SQL["forget_words"], tenant_id, [change.item.memory_id for change in last]
    )
    if gone:
        await connection.execute(_SQL["delete_memories"], tenant_id, gone)
    await connection.executemany(_SQL["upsert_memory"], [memory_row(one) for one in written])
    memories: int = await connection.fetchval(
        _SQL["remember_words"],
        tenant_id,
        [change.item.memory_id for change in written],
        *posting_columns(written),
    )
    return memories


async def count_uses(connection: Any, uses: Sequence[Use]) -> int:
    """Count uses of many tenants; return how many of the memories named these do not have."""
    first = first_of_each(uses, lambda use: (use.usage.tenant_id, use.usage.event_id))
    seen_at = {name: use.received_at for name, use in first.items()}
    used: dict[Name, int] = {}
    tallies = []
    for tenant_id, new in groupby(await new_events(connection, "uses", seen_at), itemgetter(0)):
        counted = tally(first[name] for name in new)
        used |= {(tenant_id, memory_id): events for memory_id, (events, _) in counted.items()}
        if counted:
            tallies.append(json.dumps(counted, default=datetime.isoformat))
    for name in names(await in_turns(connection, "count_uses", sorted(used), tallies)):
        del used[name]
    return sum(used.values())

"""Writes changes and uses into one tenant's tables, each event once."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from storage.counts import Use, tally
from storage.postgres.rows import memory_row, posting_columns
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


async def use_of_tenant(connection: Any, tenant_id: str, uses: Sequence[Use]) -> int:
    """Count uses and return how many of the memories named the tenant does not have."""
    first = {use.usage.event_id: use for use in reversed(uses)}
    seen_at = {event_id: use.received_at for event_id, use in first.items()}
    new = await unseen(connection, tenant_id, "uses", seen_at)
    used = tally(first[event_id] for event_id in new)
    rows = await connection.fetch(
        *(_SQL["use"], tenant_id, list(used)),
        {memory_id: (events, at.isoformat()) for memory_id, (events, at) in used.items()},
    )
    for row in rows:
        del used[row["memory_id"]]
    return sum(events for events, _ in used.values())

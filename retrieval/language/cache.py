"""What was found out for a tenant's query, to be used again for a while."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from cachetools import TLRUCache

T = TypeVar("T")

MAX_ENTRIES: Final = 10_000
DEFAULT_TTL_S: Final = 3600.0

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    """An answer, and how long it may be used."""

    answer: T
    stored_s: float
    ttl_s: float


class AnswerCache(Generic[T]):
    """Keeps answers by tenant and normalised query; when full, forgets the longest unused."""

    def __init__(self, monotonic: Callable[[], float], max_entries: int = MAX_ENTRIES) -> None:
        self._monotonic = monotonic
        self._entries: TLRUCache[_Key, _Entry[T]] = TLRUCache(max_entries, _expiry, monotonic)

    def get(self, tenant_id: str, query: str, ttl_s: float = DEFAULT_TTL_S) -> T | None:
        """Return what is kept, if it is younger than the tenant's TTL, now and when it was put."""
        try:
            entry = self._entries[_key(tenant_id, query)]
        except KeyError:
            return None
        return entry.answer if self._monotonic() - entry.stored_s < ttl_s else None

    def put(self, tenant_id: str, query: str, answer: T, ttl_s: float = DEFAULT_TTL_S) -> None:
        """Keep an answer for so long; 0 keeps none, nor what was kept before."""
        key = _key(tenant_id, query)
        if ttl_s > 0:
            self._entries[key] = _Entry(answer, self._monotonic(), ttl_s)
        else:
            self._entries.pop(key, None)

    def __len__(self) -> int:
        return len(self._entries)


def normalised(query: str) -> str:
    """Return the query trimmed, lower-cased and with single spaces."""
    return " ".join(query.split()).lower()


def _key(tenant_id: str, query: str) -> _Key:
    return tenant_id, normalised(query)


def _expiry(key: _Key, entry: _Entry[T], now_s: float) -> float:
    return now_s + entry.ttl_s

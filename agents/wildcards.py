"""Counts requests that would reach further than they may, if what they name were patterns."""

import json

from agents.metrics import WILDCARDS
from models import ContextRequest, SearchRequest

PATTERNS = ("%", "*")
"""What stands for anything in SQL and elsewhere; an underscore is in too many honest names."""


def count_wildcards(request: SearchRequest | ContextRequest) -> None:
    """Count a request that names a tenant, scope or metadata as if it were a pattern."""
    filters = request.filters if isinstance(request, SearchRequest) else None
    named = (request.tenant_id, request.scope or "", json.dumps(filters))
    if any(pattern in text for text in named for pattern in PATTERNS):
        WILDCARDS.inc()

"""Frozen records of everything memstream reads, writes and learns."""

from models.contexts import ContextAssembled, ContextRequest
from models.errors import ErrorCode, ErrorInfo
from models.memories import GLOBAL_SCOPE, LAYER_PRECEDENCE, Item, Kind, Layer
from models.policies import ServingPolicy
from models.records import Record
from models.searches import ScoredMemory, SearchRequest, SearchResult
from models.signals import ContextUsage, Feedback, QueryRefinement, SessionAbandonment, Signal
from models.tenants import (
    FusionWeights,
    InForce,
    RecallWeights,
    ScopeWeights,
    TenantOverrides,
)
from models.trajectories import (
    Action,
    ComplexitySignals,
    Decision,
    Outcome,
    Shown,
    Trajectory,
)

__all__ = [
    "GLOBAL_SCOPE",
    "LAYER_PRECEDENCE",
    "Action",
    "ComplexitySignals",
    "ContextAssembled",
    "ContextRequest",
    "ContextUsage",
    "Decision",
    "ErrorCode",
    "ErrorInfo",
    "Feedback",
    "FusionWeights",
    "InForce",
    "Item",
    "Kind",
    "Layer",
    "Outcome",
    "QueryRefinement",
    "RecallWeights",
    "Record",
    "ScopeWeights",
    "ScoredMemory",
    "SearchRequest",
    "SearchResult",
    "ServingPolicy",
    "SessionAbandonment",
    "Shown",
    "Signal",
    "TenantOverrides",
    "Trajectory",
]

"""Search and write the memories of a memstream service through Kafka."""

from memstream_client.answers import (
    Answer,
    ContextAssembled,
    ErrorCode,
    ErrorInfo,
    ScoredMemory,
    SearchResult,
)
from memstream_client.caller import Token
from memstream_client.client import MemstreamClient
from memstream_client.errors import (
    BrokerError,
    ForbiddenError,
    InternalError,
    InvalidRequestError,
    MemstreamError,
    RequestError,
    ResultTimeoutError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
    UnreadableResultError,
)
from memstream_client.events import (
    ContextUsage,
    Feedback,
    Item,
    QueryRefinement,
    SessionAbandonment,
    Signal,
)
from memstream_client.records import Fusion, Kind, Layer, Mode, Strategy
from memstream_client.requests import ContextRequest, SearchRequest
from memstream_client.security import Refusal, Security

__all__ = [
    "Answer",
    "BrokerError",
    "ContextAssembled",
    "ContextRequest",
    "ContextUsage",
    "ErrorCode",
    "ErrorInfo",
    "Feedback",
    "ForbiddenError",
    "Fusion",
    "InternalError",
    "InvalidRequestError",
    "Item",
    "Kind",
    "Layer",
    "MemstreamClient",
    "MemstreamError",
    "Mode",
    "QueryRefinement",
    "Refusal",
    "RequestError",
    "ResultTimeoutError",
    "ScoredMemory",
    "SearchRequest",
    "SearchResult",
    "Security",
    "SessionAbandonment",
    "Signal",
    "Strategy",
    "Token",
    "TooLargeError",
    "UnauthorizedError",
    "UnavailableError",
    "UnreadableResultError",
]

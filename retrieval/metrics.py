"""What retrieval counts."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

OUTCOMES: Final = ("ok", "timeout", "failed", "nonsense", "refused")
"""How a call of the language model can end; refused is by the open breaker, and was not made."""

LANGUAGE_MODEL_CALLS = Counter(
    "memstream_language_model_calls", "Calls of the language model, by how they ended", ["outcome"]
)
LANGUAGE_MODEL_SECONDS = Histogram(
    "memstream_language_model_seconds",
    "How long calls of the language model took, those that failed too",
    buckets=(0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 30, 60),
)
BREAKER_OPEN = Gauge(
    "memstream_language_model_breaker_open",
    "1 from when the language model's breaker opens until a call has succeeded again, else 0",
)
BREAKER_OPENINGS = Counter(
    "memstream_language_model_breaker_openings",
    "How often the language model's breaker opened, or stayed open after a failed probe",
)

REASONING_SECONDS = Histogram(
    "memstream_reasoning_seconds",
    "How long reasoning about a complex query took",
    buckets=(0.001, 0.01, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5),
)
DEGRADATIONS = Counter(
    "memstream_degradations", "Answers that had to do without something helpful", ["part"]
)
FALLBACKS = Counter(
    "memstream_fallbacks", "Decompositions that ended before they were done, by what", ["reason"]
)
ROUTES = Counter("memory_rlm_routing_decision", "Searches by the route they took", ["decision"])
COMPLEXITY = Histogram(
    "memory_rlm_complexity_score",
    "How complex queries read",
    buckets=[tenth / 10 for tenth in range(1, 11)],
)
EXECUTION_MS = Histogram(
    "memory_rlm_execution_duration_ms",
    "How long decompositions took, in milliseconds",
    buckets=(10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000),
)
EXECUTION_DEPTH = Histogram(
    "memory_rlm_execution_depth", "How deep decompositions went", buckets=(0, 1, 2, 3)
)
EXECUTION_TOKENS = Histogram(
    "memory_rlm_execution_tokens",
    "Tokens of language models that decompositions cost",
    buckets=(0, 100, 500, 1000, 5000, 10_000, 50_000, 100_000),
)

# A rate over a series that appears with its first failure misses that failure.
for _outcome in OUTCOMES:
    LANGUAGE_MODEL_CALLS.labels(_outcome)
for _route in ("standard", "rlm"):
    ROUTES.labels(_route)

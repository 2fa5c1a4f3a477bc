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

# A rate over a series that appears with its first failure misses that failure.
for _outcome in OUTCOMES:
    LANGUAGE_MODEL_CALLS.labels(_outcome)

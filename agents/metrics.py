"""What the agents count."""

from prometheus_client import Counter, Histogram

MESSAGES = Counter("memstream_messages", "Messages handled", ["topic"])
DEAD_LETTERS = Counter("memstream_dead_letters", "Messages kept as dead letters", ["topic", "code"])
NOT_FOUND = Counter(
    "memstream_memories_not_found",
    "Memories asked for, used or judged by id that the tenant does not have: gone, mistyped, "
    "another's or filtered",
)
REFUSALS = Counter(
    "memstream_refusals", "Messages refused because of their token, or its absence", ["code"]
)
RETRIES = Counter("memstream_retries", "Batches tried again because a part was away", ["topic"])
SEARCH_SECONDS = Histogram(
    "memstream_search_seconds",
    "From taking a batch of requests to having published its results",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)

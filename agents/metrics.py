"""What the agents count."""

from prometheus_client import Counter, Gauge, Histogram

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
DUPLICATES = Counter("memstream_join_duplicates", "Events that the join had seen before")
LABELS = Counter(
    "memstream_labels", "Trajectories published, first and corrected ones", ["revision"]
)
LABEL_SECONDS = Histogram(
    "memstream_label_seconds",
    "From the completion of a search to its first label",
    buckets=(0.1, 0.5, 1, 5, 15, 60, 300, 600, 900, 1800, 3600, 86_400),
)
OPEN_TRAJECTORIES = Gauge("memstream_open_trajectories", "Searches whose outcome is open")
PARKED_SIGNALS = Gauge("memstream_parked_signals", "Signals that wait for their search")
OUTBOX_MESSAGES = Gauge("memstream_outbox_messages", "Messages of the join to be published")
OUTBOX_SECONDS = Gauge("memstream_outbox_age_seconds", "How long the oldest of these waits already")
READ_SECONDS = Gauge(
    "memstream_join_behind_seconds",
    "How long ago everything had been read that there was: deadlines count up to then",
)

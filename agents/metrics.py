"""What the agents count."""

from prometheus_client import Counter, Gauge, Histogram

MESSAGES = Counter("memstream_messages", "Messages handled", ["topic"])
DEAD_LETTERS = Counter("memstream_dead_letters", "Messages kept as dead letters", ["topic", "code"])
ANSWERS = Counter(
    "memstream_answers",
    "Answers published, by the topic they usually go to and how they went: ok, or an error's code",
    ["topic", "code"],
)
NOT_FOUND = Counter(
    "memstream_memories_not_found",
    "Memories asked for, used or judged by id that the tenant does not have: gone, mistyped, "
    "another's or filtered",
)
WILDCARDS = Counter(
    "memstream_wildcards",
    "Requests with % or * in their tenant, scope or filters: they match nothing but themselves",
)
REFUSALS = Counter(
    "memstream_refusals",
    "Messages refused because of who sent them, or where the answer was to go",
    ["code"],
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
OUTCOMES = Counter(
    "memstream_outcomes",
    "Trajectories published, by what came of the search; a corrected one counts again",
    ["tenant", "outcome"],
)
LABEL_SECONDS = Histogram(
    "memstream_label_seconds",
    "From the completion of a search to its first label",
    buckets=(0.1, 0.5, 1, 5, 15, 60, 300, 600, 900, 1800, 3600, 86_400),
)
OPEN_TRAJECTORIES = Gauge("memstream_open_trajectories", "Searches whose outcome is open")
PARKED = Counter("memstream_signals_parked", "Signals that came before their search, and waited")
PARKED_SIGNALS = Gauge("memstream_parked_signals", "Signals that wait for their search")
OUTBOX_MESSAGES = Gauge("memstream_outbox_messages", "Messages of the join to be published")
OUTBOX_SECONDS = Gauge("memstream_outbox_age_seconds", "How long the oldest of these waits already")
LESSONS = Counter(
    "memstream_lessons",
    "Labelled searches: new to learning, known before, or too late to be learned from",
    ["came"],
)
REWARD = Histogram(
    "memory_rlm_training_reward",
    "Rewards of the searches that learning learned from",
    ["tenant"],
    buckets=[tenth / 5 for tenth in range(-5, 6)],
)
EXPLORATION_RATE = Gauge(
    "memory_rlm_training_exploration_rate",
    "How often a tenant's policy tries something else to learn from it",
    ["tenant"],
)
POLICY_VERSION = Gauge("memstream_policy_version", "The policy that serves a tenant", ["tenant"])
POLICY_EVENTS = Counter(
    "memstream_policy_events",
    "What became of policies: promoted, rolled back, …",
    ["tenant", "kind"],
)
PART_UP = Gauge(
    "memstream_part_up", "1 if the broker, or the store, answered when last asked, else 0", ["part"]
)
OUTBOX_REFUSED = Gauge(
    "memstream_outbox_refused_messages", "Messages of the join that the broker does not take; kept"
)
TOO_LARGE = Counter(
    "memstream_too_large",
    "Messages of ours larger than the broker takes for their topic",
    ["topic"],
)
READ_SECONDS = Gauge(
    "memstream_join_behind_seconds",
    "How long ago everything had been read that there was: deadlines count up to then",
)
CONSUMER_LAG = Gauge(
    "memstream_consumer_lag",
    "Messages that the group has not read; every worker tells the same of all partitions",
    ["topic"],
)

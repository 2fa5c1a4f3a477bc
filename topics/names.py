"""The topics: what each is called, carries, is keyed by, and who writes it."""

from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from models import (
    ContextAssembled,
    ContextRequest,
    ContextUsage,
    Decision,
    Feedback,
    Item,
    QueryRefinement,
    Record,
    SearchRequest,
    SearchResult,
    ServingPolicy,
    SessionAbandonment,
    Trajectory,
)

DEFAULT_PREFIX: Final = "memory."

# The embedded broker gives every topic 4 partitions and cannot be told otherwise; the same number
# elsewhere keeps a session on the same partition wherever it runs.
PARTITIONS: Final = 4

Writer = Literal["services", "context assemblers", "memstream"]
KeyRule = Literal["tenant/session", "tenant", "original"]
Cleanup = Literal["delete", "compact"]


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """What is agreed about one topic."""

    suffix: str
    carries: type[Record] | None
    writer: Writer
    key: KeyRule = "tenant/session"
    cleanup: Cleanup = "delete"
    partitioned: bool = True
    kept: bool = False
    """Created to be kept for ever: what is in it is nowhere else."""
    internal: bool = False
    """Between memstream's own agents: nobody else may rely on it, and it is in no document."""

    @property
    def config(self) -> dict[str, str]:
        """What the topic is created with, whatever the broker's own defaults are."""
        return {"cleanup.policy": self.cleanup} | ({"retention.ms": "-1"} if self.kept else {})

    def partitions(self, setting: int = PARTITIONS) -> int:
        """Count of partitions to create the topic with, given the configured one."""
        return setting if self.partitioned else 1


class Topic(Enum):
    """Every topic: those of the contract, and those between memstream's own agents."""

    SEARCH_REQUESTS = TopicSpec("search.requests", SearchRequest, "services")
    SEARCH_RESULTS = TopicSpec("search.results", SearchResult, "memstream")
    CONTEXT_REQUESTS = TopicSpec("context.requests", ContextRequest, "services")
    CONTEXT_ASSEMBLED = TopicSpec("context.assembled", ContextAssembled, "memstream")
    ITEMS = TopicSpec("items", Item, "services")
    CONTEXT_USAGE = TopicSpec("context.usage", ContextUsage, "context assemblers")
    QUERY_REFINEMENTS = TopicSpec("query.refinements", QueryRefinement, "services")
    SESSION_ABANDONMENTS = TopicSpec("session.abandonments", SessionAbandonment, "services")
    FEEDBACK = TopicSpec("feedback", Feedback, "services")
    TRAJECTORIES = TopicSpec("trajectories", Trajectory, "memstream", key="tenant", kept=True)
    # Only the latest policy of a tenant matters, so older ones may be compacted away. Every worker
    # reads all of it, so more partitions would divide no work.
    POLICIES = TopicSpec(
        "policies", ServingPolicy, "memstream", key="tenant", cleanup="compact", partitioned=False
    )
    # Whatever bytes could not be read, under the key they came with; in one partition, so that they
    # are listed and replayed in the order in which they failed.
    DEAD_LETTERS = TopicSpec(
        "dead-letters", None, "memstream", key="original", partitioned=False, kept=True
    )
    # Requests to take apart, as they came: a slow one must not hold up the others of its partition.
    DECOMPOSITIONS = TopicSpec("internal.decompositions", None, "memstream", internal=True)
    # How each search was carried out, for the join with what came of it.
    DECISIONS = TopicSpec("internal.decisions", Decision, "memstream", internal=True)


CONTRACT: Final = tuple(topic for topic in Topic if not topic.value.internal)
"""The topics that other programs may rely on."""


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The full names of the topics under one prefix."""

    prefix: str = DEFAULT_PREFIX

    def name(self, topic: Topic) -> str:
        """Full name of a topic, such as memory.search.requests."""
        return self.prefix + topic.value.suffix

    def topic(self, name: str) -> Topic | None:
        """Find the topic of a full name, if it is one of ours."""
        return next((topic for topic in Topic if self.name(topic) == name), None)


def topic_sizes(names: TopicNames, partitions: int) -> dict[str, int]:
    """Return each topic's name and how many partitions it should have."""
    return {names.name(topic): topic.value.partitions(partitions) for topic in Topic}

"""A demonstration's tenants: what each remembers, what it asks, and what answers it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memstream_client import Item


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and which memories answer it; only the simulated user ever sees those."""

    text: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class DemoTenant:
    """A tenant with a habit of asking."""

    name: str
    habit: str
    layer: str
    memories: Mapping[str, str]
    """Contents by id. Each answers some question and stands in the way of others, so that none is
    better than another: how to look for them is all there is to learn."""
    questions: tuple[Question, ...]

    def items(self) -> Iterator[Item]:
        """Yield the memories as events."""
        for memory_id, content in self.memories.items():
            yield Item.model_validate(
                {
                    "event_id": f"demo-{memory_id}",
                    "tenant_id": self.name,
                    "memory_id": memory_id,
                    "content": content,
                    "layer": self.layer,
                    "metadata": {"demo": True},
                }
            )

"""Three invented tenants: what they remember, and what they ask."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from models import Item


@dataclass(frozen=True, slots=True)
class DemoTenant:
    """A tenant's memories, each with a question that it answers."""

    name: str
    layer: str
    memories: tuple[tuple[str, str], ...]

    def items(self) -> Iterator[Item]:
        """Yield the memories as events; their ids are fixed, so a second demo changes nothing."""
        for number, (content, _) in enumerate(self.memories):
            yield Item.model_validate(
                {
                    "event_id": f"demo-{self.name}-{number}",
                    "tenant_id": self.name,
                    "memory_id": f"{self.name}-{number}",
                    "content": content,
                    "layer": self.layer,
                    "metadata": {"demo": True},
                }
            )


def demo_tenants() -> tuple[DemoTenant, ...]:
    """Return a platform team, a clinic and a travel agent."""
    return (_platform(), _clinic(), _travel())


def _platform() -> DemoTenant:
    services = ("billing", "login", "search", "mail", "export", "audit")
    facts = (
        ("The {} service stores its data in PostgreSQL", "which database does {} use?"),
        ("Errors in the {} service are retried three times", "how does {} handle failures?"),
        ("The {} service is deployed every Tuesday morning", "when is {} released?"),
        ("Alerts of the {} service go to the on-call engineer", "who is told if {} breaks?"),
    )
    return DemoTenant("platform", "team", _filled(facts, services))


def _clinic() -> DemoTenant:
    people = ("Mrs Adler", "Mr Baptiste", "Dr Chen", "Ms Duarte", "Mr Eze", "Mrs Fischer")
    facts = (
        ("{} experiences nausea after dairy", "what makes {} feel unwell?"),
        ("{} takes the blue tablets before breakfast", "what medicine is {} on?"),
        ("{} prefers appointments late in the afternoon", "when should {} be booked?"),
        ("{} is accompanied by a daughter who speaks French", "who comes along with {}?"),
    )
    return DemoTenant("clinic", "user", _filled(facts, people))


def _travel() -> DemoTenant:
    places = ("Lisbon", "Kyoto", "Tromsø", "Valparaíso", "Ghent", "Hanoi")
    facts = (
        ("The quiet hotel in {} is behind the botanical garden", "where can one sleep in {}?"),
        ("Trains to {} have to be booked a week ahead", "how do I get to {}?"),
        ("In {} the small restaurants close on Mondays", "when can't I eat out in {}?"),
        ("The best month for {} is May, before the crowds", "what is the right season for {}?"),
    )
    return DemoTenant("travel", "org", _filled(facts, places))


def _filled(
    facts: tuple[tuple[str, str], ...], names: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    return tuple(
        (fact.format(name), question.format(name))
        for name, (fact, question) in product(names, facts)
    )

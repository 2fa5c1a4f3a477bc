"""What is searched: memories of many tenants in sessions, and questions whose answer is known."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.search import words
from bench.search.telling import Said, Teller
from memstream.evaluation.dataset import read_dataset
from models import Item

SEED = 11
MEASURED = (0.01, 0.10, 0.20)
"""The shares of all memories that the tenants have in which is searched."""
OTHERS = 30
CAST = 60
"""How many people a tenant's memories are about."""
TURNS = 20
CHATTER = 0.15
"""The share of turns in a dialogue that say nothing."""
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the memories that answer it."""

    tenant_id: str
    text: str
    gold: frozenset[str]


@dataclass(frozen=True)
class Corpus:
    """Memories and questions; all questions of one tenant stand together."""

    name: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]

    def tenants(self) -> dict[str, int]:
        """Return the tenants in which is searched and how many memories each has."""
        asked = dict.fromkeys(question.tenant_id for question in self.questions)
        return {name: sum(item.tenant_id == name for item in self.items) for name in asked}

    def of(self, tenant_id: str) -> list[Question]:
        """Return the questions of a tenant."""
        return [question for question in self.questions if question.tenant_id == tenant_id]


def generated(memories: int, questions: int) -> Corpus:
    """Invent a corpus with that many memories, and questions for each measured tenant."""
    teller = Teller(SEED)
    sizes = {f"tenant-{share:.0%}": round(memories * share) for share in MEASURED}
    rest = memories - sum(sizes.values())
    for number in range(OTHERS):
        sizes[f"other-{number:02}"] = rest // OTHERS + (number < rest % OTHERS)
    items: list[Item] = []
    asked: list[Question] = []
    for tenant_id, size in sizes.items():
        told = list(_tenant(teller, tenant_id, size))
        items += [item for item, _, _ in told]
        if tenant_id.startswith("tenant-"):
            answers = [one for one in told if one[2] >= 0]
            for item, said, scene in teller.chance.sample(answers, min(questions, len(answers))):
                gold = frozenset({item.memory_id})
                asked.append(Question(tenant_id, teller.ask(said, scene), gold))
    return Corpus("generated", tuple(items), tuple(asked))


def from_dataset(folder: Path) -> Corpus:
    """Read a dataset folder."""
    dataset = read_dataset(folder)
    asked = [Question(query.tenant, query.query, query.gold) for query in dataset.queries]
    return Corpus(dataset.name, tuple(dataset.items()), tuple(asked))


def _tenant(teller: Teller, tenant_id: str, size: int) -> Iterator[tuple[Item, Said, int]]:
    cast = list(dict.fromkeys(teller.name() for _ in range(CAST)))
    moment = BEGIN
    for number in range(size):
        position = number % TURNS
        if position == 0:
            pair = teller.chance.sample(cast, 2)
            dialogue = teller.chance.random() < 0.6
            city = teller.pick(words.CITIES)[0]
            moment += timedelta(hours=teller.chance.randint(1, 40))
        speaker, friend = pair if position % 2 == 0 else pair[::-1]
        said: Said = {}
        scene = -1
        if dialogue and teller.chance.random() < CHATTER:
            content = teller.chat(speaker, friend, city)
        else:
            content, said, scene = teller.say(speaker, friend, dialogue=dialogue, city=city)
        item = Item(
            event_id=f"{tenant_id}/{number}",
            tenant_id=tenant_id,
            memory_id=f"{tenant_id}-{number}",
            content=content,
            session_id=f"s{number // TURNS}",
            position=position,
            created_at=moment + timedelta(minutes=position),
        )
        yield item, said, scene

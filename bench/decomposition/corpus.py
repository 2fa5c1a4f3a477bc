"""Memories of teams, simple questions about them, and questions worth taking apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.search import words
from bench.search.corpus import Corpus, Question, from_dataset, generated
from bench.search.telling import Teller
from models import InForce, Item
from retrieval.routing import Router

TENANT = "tenant-20%"
"""Of those that are invented, the one with the most memories."""
SHARE = 0.20
TEAMS = ("api", "web", "data", "mobile", "billing", "search")
SEED = 17
COMPLEX = (
    "Compare what {one} and {other} said about {subject} across all Platform Engineering teams",
    "Summarize the history of {subject} in every team since last year",
    "What did {one} do in {city} and then {other} in {city2}, across all sessions?",
    "trace the evolution of {subject} across the teams over time",
    "difference between {one} and {other} in how they deal with {fault} in all projects",
)


@dataclass(frozen=True)
class Questions:
    """Memories, and questions of one kind about them."""

    name: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]


def simple(memories: int, questions: int) -> Questions:
    """Invent memories of one tenant, each of a team, and simple questions."""
    corpus = generated(round(memories / SHARE), 2 * questions)
    items = (item for item in corpus.items if item.tenant_id == TENANT)
    # By chance some of the invented questions read as complex.
    router, own = Router(), InForce()
    asked = [one for one in corpus.of(TENANT) if router.route(one.text, own).route == "standard"]
    return Questions("invented, simple", tuple(_in_teams(items)), tuple(asked[:questions]))


def hard(asked: Questions, count: int) -> Questions:
    """Invent questions worth taking apart about the same memories."""
    teller = Teller(SEED)
    questions = tuple(_hard(teller, COMPLEX[n % len(COMPLEX)]) for n in range(count))
    return replace(asked, name="invented, complex", questions=questions)


def of_dataset(folder: Path, count: int) -> Questions:
    """Read a dataset; of its questions so many, spread evenly over all."""
    corpus = from_dataset(folder)
    return Questions(corpus.name, corpus.items, tuple(_spread(corpus, count)))


def _spread(corpus: Corpus, count: int) -> Sequence[Question]:
    step = max(len(corpus.questions) / count, 1.0)
    places = range(min(count, len(corpus.questions)))
    return [corpus.questions[int(place * step)] for place in places]


def _in_teams(items: Iterator[Item]) -> Iterator[Item]:
    for item in items:
        # A whole session belongs to one team.
        team = TEAMS[int((item.session_id or "s0")[1:]) % len(TEAMS)]
        entities = {"org": "Platform Engineering", "team": team}
        yield item.model_copy(update={"entities": entities})


def _hard(teller: Teller, text: str) -> Question:
    drawn = {
        "one": teller.name(),
        "other": teller.name(),
        "subject": teller.pick(words.SUBJECTS)[0],
        "fault": f"what {teller.pick(words.FAULTS)[0]}",
        "city": teller.pick(words.CITIES)[0],
        "city2": teller.pick(words.CITIES)[0],
    }
    return Question(TENANT, text.format(**drawn), frozenset())

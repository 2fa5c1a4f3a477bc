"""What is found of made-up conversations and articles: enough, and the same on every store."""

import random
from datetime import UTC, datetime, timedelta
from statistics import fmean

import numpy as np
import pytest

from models import SearchRequest
from storage import Change, Embedding
from tests.integration.storage.corpus import change, searching

PEOPLE = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gina", "Hugo")
DID = {
    "adopted a green parrot": "Which bird did {} adopt?",
    "broke an ankle while skiing": "How did {} break an ankle?",
    "sold the old bicycle": "What old thing did {} sell?",
    "learned to bake rye bread": "Which bread can {} bake?",
    "planted tulips behind the house": "Which flowers did {} plant?",
    "lost a passport in Lisbon": "Where was the passport of {} lost?",
}
AS_TOLD = tuple(DID.values())
IN_OTHER_WORDS = (
    *("Which pet does {} have?", "What injury did {} suffer?", "Which vehicle did {} get rid of?"),
    *("What can {} make in the kitchen?", "What grows in the garden of {}?"),
    "Which document went missing for {}?",
)
"""The same questions; all that they share with what answers them is a name."""
SMALL_TALK = (
    *("That sounds great!", "Oh really, since when?", "Tell me more about it.", "See you soon!"),
    *("I have been so busy at work.", "It rained all day here.", "Let us meet on Sunday."),
)
FIRST = datetime(2026, 1, 5, tzinfo=UTC)
RECALL = 0.95
"""Of ten results; those of the stores may differ by a hundredth."""


def corpus(*, sessions, told):
    """Return changes and (query, gold): conversations, and articles of which one names another."""
    asks = dict(zip(DID, told, strict=True))
    chance = random.Random(7)
    changes, questions = [], []
    for number, (person, did) in enumerate((p, d) for p in PEOPLE for d in DID):
        day = FIRST + timedelta(days=number)
        other = chance.choice([one for one in PEOPLE if one != person])
        turns = [
            f"{other}: Hey {person}! What is new?",
            f"{person}: Guess what, I {did} last week.",
            *(f"{chance.choice((person, other))}: {said}" for said in chance.sample(SMALL_TALK, 3)),
        ]
        for place, text in enumerate(turns):
            inside = {"session_id": f"s{number}", "position": place} if sessions else {}
            when = {"created_at": day} if sessions else {}
            changes.append(change(f"t{number}-{place}", text, **inside, **when))
        questions.append((asks[did].format(person), {f"t{number}-1"}))
    for number in range(12):
        changes += [
            change(f"film{number}", f"Film {number}: A drama directed by Noor Vale{number}x."),
            change(f"noor{number}", f"Noor Vale{number}x: Was born in Oslo and likes tea."),
        ]
        asked = f"Where was the director of Film {number} born?"
        questions.append((asked, {f"film{number}", f"noor{number}"}))
    return changes, questions


class Embedded:
    """MiniLM, which is asked only once about each text: it says the same each time."""

    def __init__(self, minilm, known):
        self._minilm = minilm
        self._known = known
        self.name = minilm.name
        self.dimensions = minilm.dimensions

    async def embed(self, texts):
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, await self._minilm.embed(new), strict=True))
        return np.array([self._known[text] for text in texts])


@pytest.fixture(scope="module")
def known():
    return {}


@pytest.fixture
def embedder(minilm, known):
    return Embedded(minilm, known)


async def recall(store, embedder, questions, **fields):
    """Return the recall of ten results, and the ids found for each question."""
    search, found = searching(store, embedder), []
    for query, _ in questions:
        given = {"request_id": "r", "tenant_id": "acme", "session_id": "s", "query": query}
        answer = await search.answer(SearchRequest.model_validate(given | fields))
        found.append([one.memory_id for one in answer.results])
    shares = [
        len(gold.intersection(ids)) / len(gold)
        for (_, gold), ids in zip(questions, found, strict=True)
    ]
    return fmean(shares), found


@pytest.mark.requirement("SE-4", "SE-11")
@pytest.mark.parametrize("told", [AS_TOLD, IN_OTHER_WORDS], ids=["as told", "in other words"])
@pytest.mark.parametrize("sessions", [True, False])
async def test_the_learned_order_finds_enough_and_the_same_on_every_store(
    stores, embedder, sessions, told
):
    changes, questions = corpus(sessions=sessions, told=told)
    vectors = await embedder.embed([one.item.content for one in changes])
    written = [
        Change(one.item, one.received_at, Embedding(embedder.name, vector))
        for one, vector in zip(changes, vectors, strict=True)
    ]
    found = {}
    for name, store in stores.items():
        await store.apply(written)
        found[name], _ = await recall(store, embedder, questions)
        fused, _ = await recall(store, embedder, questions, fusion="rrf")
        assert found[name] >= max(RECALL, fused), name
    assert max(found.values()) - min(found.values()) <= 0.01

"""Three invented tenants, each with a habit that equal weights do not suit; made from a seed."""

import random
from typing import Final

from memstream.demo.tenants import DemoTenant, Question

_HALLS: Final = ("north", "south", "east", "west", "lower")
_DONE: Final = (
    ("was the seal replaced on {} in the {} hall?", "got a new seal today"),
    ("has {} been given back to its vendor, {} hall?", "returned, vendor agreed"),
    ("is the invoice for {} paid, {} hall?", "invoice settled in full"),
    ("did {} in the {} hall stand the pressure test?", "held its pressure overnight"),
    ("which shelf is {} kept on in the {} hall?", "moved to the upper shelf"),
    ("who signed for {} in the {} hall?", "signed by the shift lead"),
    ("when does {} in the {} hall get its calibration?", "calibration planned in March"),
    ("is {} from the {} hall on a truck?", "loaded, the truck leaves at six"),
    ("does {} in the {} hall need another label?", "label printed again"),
    ("was there water in {} from the {} hall?", "water drained from the casing"),
)
"""What is asked of a part, and what is noted of parts. Nobody there knows what was noted: whatever
they ask and wherever they think the part is, they want the note with its number."""

_NOTES: Final = (
    ("{} is out of breath after walking fast", "does {} have trouble with stamina?"),
    ("{} has trouble with the landlord over the deposit", "is {} in a dispute about renting?"),
    ("{} is renting out the boat in summer", "does {} earn something on the side?"),
    ("{} sleeps on the left side since the operation", "how does {} rest after surgery?"),
    ("{} gave the rest of the cake to the neighbours", "who received sweets from {}?"),
    ("{} received a parking fine on Monday", "was {} punished for leaving the car?"),
    ("{} is leaving the choir after ten years", "will {} quit singing with the group?"),
    ("{} runs a group that repairs bicycles", "what does {} mend in spare hours?"),
    ("{} keeps a spare key under the flower pot", "how to enter the home of {} without ringing?"),
    ("{} hears a ringing in one ear", "what disturbs {} when it is dark and quiet?"),
    ("{} prefers dark bread with salted butter", "what does {} like for breakfast?"),
    ("{} skips breakfast before a blood test", "when must {} fast for the doctor?"),
)
"""A note, and a question that it answers in other words: each has a word of the note after it."""

_PEOPLE: Final = (
    *("Adler", "Baptiste", "Chen", "Duarte", "Eze", "Fischer", "Garcia", "Haddad", "Ivanova"),
    *("Jansen", "Kowalski", "Larsen", "Moreau", "Nakamura", "Okafor", "Petrov", "Quispe", "Rossi"),
    *("Sato", "Tanaka", "Usman", "Vargas", "Weber", "Yilmaz", "Zhang"),
)
_STARTS: Final = (
    *("Al", "Bri", "Cor", "Dar", "El", "Fen", "Gil", "Hol", "Ister", "Jun"),
    *("Kel", "Lor", "Mir", "Nes", "Or", "Pel", "Quen", "Ras", "Sel", "Tam"),
)
_ENDS: Final = ("mar", "nova", "dane", "quill", "rax", "sund", "tor", "vane", "wick", "zan")
_CITIES: Final = ("Lisbon", "Kyoto", "Ghent", "Hanoi", "Quito", "Turin", "Oslo", "Accra")


def demo_tenants(seed: int) -> tuple[DemoTenant, ...]:
    """Return a depot, a clinic and a platform team, the same for the same seed."""
    return (
        depot(random.Random(f"{seed}/depot")),  # noqa: S311 -- invented, not secret
        clinic(),
        platform(random.Random(f"{seed}/platform")),  # noqa: S311
    )


def depot(chance: random.Random) -> DemoTenant:
    """Asks by part numbers: several notes sound like the question, one has the number."""
    numbers = chance.sample(range(1000, 9999), 300)
    memories, questions = {}, []
    for place, number in enumerate(numbers):
        part = f"{chance.choice('BDGKLMPRTX')}{chance.choice('AEHJNQSVWZ')}{number}"
        note, hall = place % len(_DONE), chance.choice(_HALLS)
        memories[f"depot-{place}"] = f"{part} {_DONE[note][1]}, {hall} hall"
        other = (note + 1 + chance.randrange(len(_DONE) - 1)) % len(_DONE)
        elsewhere = chance.choice([one for one in _HALLS if one != hall])
        text = _DONE[other][0].format(part, elsewhere)
        questions.append(_question(text, f"depot-{place}"))
    return DemoTenant("depot", "asks by exact numbers", "team", memories, tuple(questions))


def clinic() -> DemoTenant:
    """Asks in other words: the note that answers shares none, the next one does."""
    memories, questions = {}, []
    for person in _PEOPLE:
        for place, (note, question) in enumerate(_NOTES):
            name = f"clinic-{person.lower()}-{place}"
            memories[name] = note.format(person)
            questions.append(_question(question.format(person), name))
    return DemoTenant("clinic", "asks in other words", "user", memories, tuple(questions))


def platform(chance: random.Random) -> DemoTenant:
    """Asks for what two memories tell together: the first names the second."""
    names = [start + end for start in _STARTS for end in _ENDS]
    chance.shuffle(names)
    teams, leads, services = names[:16], names[16:32], names[32:]
    memories: dict[str, str] = {}
    questions: list[Question] = []
    for team, lead in zip(teams, leads, strict=True):
        memories[f"team-{team}"] = f"{team}: headed by {lead}, a team of {chance.randint(3, 12)}"
        memories[f"lead-{lead}"] = f"{lead}: works from {chance.choice(_CITIES)}"
        asked = f"from where works the head of {team}?"
        questions.append(_question(asked, f"team-{team}", f"lead-{lead}"))
    for service in services:
        team = chance.choice(teams)
        memories[f"service-{service}"] = f"{service}: kept running by {team}"
        asked = f"who heads the team behind {service}?"
        questions.append(_question(asked, f"service-{service}", f"team-{team}"))
    return DemoTenant("platform", "asks for two facts at once", "org", memories, tuple(questions))


def _question(text: str, *gold: str) -> Question:
    return Question(text, frozenset(gold))

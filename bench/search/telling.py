"""Fills scenes with words: what a memory says, and what a question about it says instead."""

import random
import re
from functools import cache

from bench.search import words
from bench.search.scenes import SCENES, SMALL_TALK, TAILS

REWORDED = 0.75
"""How often a question uses the other word, where there is one."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SLOTS = {
    "city": words.CITIES,
    "city2": words.CITIES,
    "venue": words.VENUES,
    "thing": words.THINGS,
    "colour": words.COLOURS,
    "food": words.FOODS,
    "food2": words.FOODS,
    "event": words.EVENTS,
    "job": words.JOBS,
    "pet": words.PETS,
    "ailment": words.AILMENTS,
    "hobby": words.HOBBIES,
    "subject": words.SUBJECTS,
    "relative": words.RELATIVES,
    "tool": words.TOOLS,
    "fault": words.FAULTS,
    "plant": words.PLANTS,
    "feeling": words.FEELINGS,
    "weather": words.WEATHER,
    "petname": words.FIRST,
}

Said = dict[str, tuple[str, str]]
"""For each slot, how it is said and how it may be asked for."""


@cache
def entries(text: str) -> tuple[tuple[tuple[str, str], ...], tuple[float, ...]]:
    """Return a list of words.py as pairs, and the cumulated weights of Zipf's law."""
    pairs = [entry.strip().partition("/") for entry in " ".join(text.split()).split(",")]
    weights, total = [], 0.0
    for rank in range(len(pairs)):
        total += 1 / (rank + 3)
        weights.append(total)
    return tuple((said, other or said) for said, _, other in pairs), tuple(weights)


class Teller:
    """One stream of chance, from which everything about a corpus is drawn."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def pick(self, text: str) -> tuple[str, str]:
        """Draw an entry; the first ones of a list are the most likely."""
        pairs, weights = entries(text)
        return self.chance.choices(pairs, cum_weights=weights)[0]

    def name(self) -> str:
        """Draw a person."""
        return f"{self.pick(words.FIRST)[0]} {self.pick(words.LAST)[0]}"

    def say(self, speaker: str, friend: str, *, dialogue: bool, city: str) -> tuple[str, Said, int]:
        """Return one memory with what fills its slots and the number of its scene."""
        scene = self.chance.randrange(len(SCENES))
        said = self._filled(speaker, friend, dialogue=dialogue, city=city)
        text = self.chance.choice(SCENES[scene][0])
        spoken = _sentence(text.format(**{slot: pair[0] for slot, pair in said.items()}))
        if self.chance.random() < 0.5:
            tail = self.chance.choice(TAILS)
            spoken += " " + tail.format(**{slot: pair[0] for slot, pair in said.items()})
        if dialogue:
            spoken = f"{speaker.split()[0]}: {spoken}"
        return spoken, said, scene

    def chat(self, speaker: str, friend: str, city: str) -> str:
        """Return a turn that says nothing worth asking for."""
        said = self._filled(speaker, friend, dialogue=True, city=city)
        text = self.chance.choice(SMALL_TALK)
        return f"{speaker.split()[0]}: " + text.format(**{slot: p[0] for slot, p in said.items()})

    def ask(self, said: Said, scene: int) -> str:
        """Return a question about a memory, in partly other words."""
        words_used = {
            slot: pair[self.chance.random() < REWORDED] if pair[0] != pair[1] else pair[0]
            for slot, pair in said.items()
        }
        return _sentence(self.chance.choice(SCENES[scene][1]).format(**words_used), end="")

    def _filled(self, speaker: str, friend: str, *, dialogue: bool, city: str) -> Said:
        said = {slot: self.pick(text) for slot, text in SLOTS.items()}
        if self.chance.random() < 0.5:
            said["city"] = (city, city)
        month, day = self.chance.choice(entries(words.MONTHS)[0])[0], self.chance.randint(1, 28)
        part = ("early", "mid", "late")[(day - 1) // 10]
        number, weekday = self._number(), self.chance.choice(WEEKDAYS)
        project = f"{self.pick(words.PROJECT_STYLES)[0]} {self.pick(words.PROJECT_NAMES)[0]}"
        book = f"“{self.pick(words.BOOK_STARTS)[0]} {self.pick(words.BOOK_ENDS)[0]}”"
        first = speaker.split()[0]
        i, me, my = ("I", "me", "my") if dialogue else (speaker, speaker, f"{first}'s")
        return said | {
            "i": (i, first),
            "i2": (me, first),
            "my": (my, my),
            "who": (first, speaker),
            "friend": (friend, friend.split()[0]),
            "month": (month, month),
            "day": (f"{day} {month}", f"{part} {month}"),
            "number": (number, number),
            "weekday": (weekday, weekday),
            "project": (project, project),
            "book": (book, book),
        }

    def _number(self) -> str:
        return str(self.chance.choice((self.chance.randint(2, 60), self.chance.randint(20, 900))))


def _sentence(text: str, end: str = ".") -> str:
    text = re.sub(r"\b([Aa]) (?=[aeio])", r"\1n ", text)
    return text[0].upper() + text[1:] + end

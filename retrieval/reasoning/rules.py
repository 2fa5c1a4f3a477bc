"""Reasoning without a language model: what a query names, and what it only says around that."""

import re
from datetime import datetime
from typing import Final

from retrieval.plan import named_layers
from retrieval.reasoning.periods import period
from retrieval.reasoning.reasoned import Reasoned
from storage import words

_QUOTED: Final = re.compile(r"[\"“]([^\"”]{2,80})[\"”]")
# Capitalised words in a row, small words between them allowed: "Journal of Mathematical Physics".
_CAPITALISED: Final = re.compile(
    r"\b[A-Z][\w'&.-]*(?:\s+(?:(?:of|the|and|de|la|van|von|for)\s+)?[A-Z0-9][\w'&.-]*)*"
)
# What says how to answer, not what about.
_INSTRUCTION: Final = re.compile(
    r"""^\s*(?:please\s+)?(?:can\s+you\s+)?(?:
        show\s+me|tell\s+me(?:\s+about)?|find|list|give\s+me|what\s+do\s+we\s+know\s+about|
        summari[sz]e|trace(?:\s+the)?\s+(?:evolution|history)\s+of|trace|
        compare|contrast|what(?:'s|\s+is|\s+are)\s+the\s+differences?\s+between
    )\s+(?:all\s+|every\s+|the\s+)*""",
    re.IGNORECASE | re.VERBOSE,
)


def names(query: str) -> tuple[str, ...]:
    """Return what is quoted or capitalised, the first word of the query only with a second."""
    found = [match[1] for match in _QUOTED.finditer(query)]
    for match in _CAPITALISED.finditer(_QUOTED.sub(" ", query)):
        name = match[0].rstrip(".'-&")
        opens = not query[: query.find(name)].strip()
        alone = " " not in name
        if words.asked(name).terms and not (opens and alone):
            found.append(_without_opening(name) if opens else name)
    return tuple(dict.fromkeys(one for one in found if one))


def by_rules(query: str, at: datetime) -> Reasoned:
    """Return what the wording of a query gives away."""
    subject = _INSTRUCTION.sub("", query).strip(" ?.!") or query
    found = names(query)
    layers = named_layers(query)
    age = period(query, at)
    trace = [f"about {subject!r}"] if subject != query else []
    trace += [f"names {', '.join(found)}"] if found else []
    trace += [f"speaks of {', '.join(layers)}"] if layers else []
    trace += [f"asks for the last {age.days} days"] if age else []
    return Reasoned(
        meanings=(subject,),
        keywords=(" ".join([subject, *found]),),
        entities=found,
        layers=layers,
        max_age=age,
        trace=tuple(trace),
    )


def _without_opening(name: str) -> str:
    """Return a name at the start of a query without the question word that is capitalised too."""
    first, _, rest = name.partition(" ")
    return name if words.asked(first).terms and not _is_stop_word(first) else rest


def _is_stop_word(word: str) -> bool:
    # A stop word is only looked for when there is nothing else.
    return len(words.asked(f"{word} zzz").terms) == 1

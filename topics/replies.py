"""Which topics answers may go to, when a request names one."""

import re
from collections.abc import Iterable

from topics.names import TopicNames

_LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")


def may_reply_on(topic: str, allowed: Iterable[str], names: TopicNames) -> bool:
    """Tell whether a topic is among those allowed: names, or beginnings of names with a * after.

    Never one of memstream's own or of Kafka's, whatever is allowed: an answer must not be taken
    for a memory, a decision or a label.
    """
    return (
        _LEGAL.fullmatch(topic) is not None
        and topic not in (".", "..")
        and not topic.startswith("__")
        and names.topic(topic) is None
        and any(_fits(topic, pattern) for pattern in allowed)
    )


def _fits(topic: str, pattern: str) -> bool:
    return topic.startswith(pattern[:-1]) if pattern.endswith("*") else topic == pattern

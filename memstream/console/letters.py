"""The newest dead letters, in bounded memory, and sending some of them again."""

from collections import deque
from collections.abc import Collection, Mapping
from typing import Any

from memstream.broker import Broker
from memstream.kept import Choice, replay
from topics import TopicNames
from topics.dead_letters import DeadLetter

MOST = 500
"""So many letters, the newest."""

SHOWN_BYTES = 8192
"""So much of a payload is shown; it may have been anything, and of any size."""


class Letters:
    """Keeps the newest dead letters as they are shown."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._letters: deque[dict[str, Any]] = deque(maxlen=MOST)

    def begin(self, _: Mapping[Any, int]) -> None:
        """Forget all."""
        self._letters.clear()

    def take(self, message: Any, _: int) -> None:
        """Take a message of the topic in."""
        letter = DeadLetter.read(message.offset, message.key, message.value, message.headers)
        self._letters.append(_told(letter))

    def found(
        self, tenant_id: str | None, code: str | None, topic: str | None, limit: int
    ) -> list[dict[str, Any]]:
        """Return those that are meant, the newest first; topics with or without their prefix."""
        meant = [
            one
            for one in reversed(self._letters)
            if tenant_id in (None, one["tenant_id"])
            and code in (None, one["code"])
            and topic in (None, one["topic"], one["topic"].removeprefix(self._names.prefix))
        ]
        return meant[:limit]


async def send_again(
    broker: Broker, names: TopicNames, offsets: Collection[int], token: str | None
) -> dict[str, Any]:
    """Send letters to where they came from; return how many were, and why others were not."""
    refused: list[dict[str, Any]] = []

    def tell(letter: DeadLetter, why: str | None) -> None:
        if why is not None:
            refused.append({"offset": letter.offset, "why": why})

    sent = await replay(broker, names, Choice(offsets=offsets), tell, token=token)
    return {"sent": sent, "refused": refused}


def _told(letter: DeadLetter) -> dict[str, Any]:
    value = letter.value or b""
    return {
        **letter.facts(),
        "key": (letter.key or b"").decode(errors="replace"),
        "payload": value[:SHOWN_BYTES].decode(errors="replace"),
        "cut": len(value) > SHOWN_BYTES,
    }

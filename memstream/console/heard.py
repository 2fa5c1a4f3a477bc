"""What was heard of searches after they were answered: the newest signals, in bounded memory."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memstream.settings import Settings
from models import ContextUsage, Feedback, QueryRefinement, SessionAbandonment, Signal
from topics import DecodeError, Headers, RefusedError, Topic, TopicNames, decode
from topics.auth import Tokens, allow_signal
from topics.jwks import KeyFile

MOST_SEARCHES = 10_000
"""Of so many searches, or sessions that were abandoned as a whole, those heard of last."""

MOST_EACH = 20
"""So many signals of each, the first."""

SHOWN_CHARACTERS = 200
"""So much of a query is enough to know it again."""

SHOWN_MEMORIES = 20
"""So many of the memories that were used are named."""

KINDS: Final[Mapping[Topic, type[Signal]]] = {
    Topic.CONTEXT_USAGE: ContextUsage,
    Topic.FEEDBACK: Feedback,
    Topic.QUERY_REFINEMENTS: QueryRefinement,
    Topic.SESSION_ABANDONMENTS: SessionAbandonment,
}

Admit = Callable[[Signal, Headers, datetime], None]
"""Raises RefusedError for a signal that its token did not allow when it was sent."""


class Heard:
    """Keeps what was told of each search, as it was told: whether it counted, its labels say."""

    def __init__(self, names: TopicNames, admit: Admit) -> None:
        self._kinds = {names.name(topic): (topic, model) for topic, model in KINDS.items()}
        self._admit = admit
        self._known: OrderedDict[tuple[str, str, str], dict[str, dict[str, Any]]] = OrderedDict()

    def begin(self, _: Mapping[Any, int]) -> None:
        """Forget all."""
        self._known.clear()

    def take(self, message: Any, _: int) -> None:
        """Take a signal in; what the join would not take is left out."""
        topic, model = self._kinds[message.topic]
        at = datetime.fromtimestamp(message.timestamp / 1000, UTC)
        try:
            headers = Headers.parse(message.headers)
            signal = decode(model, message.value, headers)
            self._admit(signal, headers, at)
        except (DecodeError, RefusedError):
            return
        request_id: str | None = getattr(signal, "request_id", None)
        about = ("session", signal.session_id) if request_id is None else ("request", request_id)
        name = (signal.tenant_id, *about)
        signals = self._known.pop(name, {})
        if len(signals) < MOST_EACH:
            signals.setdefault(signal.event_id, _told(topic, signal, at))
        self._known[name] = signals
        if len(self._known) > MOST_SEARCHES:
            self._known.popitem(last=False)

    def of(self, tenant_id: str, request_id: str, session_id: str, since: str) -> list[Any]:
        """Return what was told of a search, and of its whole session since a moment, in order."""
        own = self._known.get((tenant_id, "request", request_id), {}).values()
        session = self._known.get((tenant_id, "session", session_id), {}).values()
        told = [*own, *(one for one in session if one["at"] >= since)]
        return sorted(told, key=lambda one: one["at"])


def admission(settings: Settings) -> Admit:
    """Return what lets signals through as the agents did when they came."""
    if settings.auth == "off":
        return lambda *_: None
    moment: list[datetime] = []
    tokens = Tokens(KeyFile(settings.jwt_keys or Path()), lambda: moment[-1])

    def admit(signal: Signal, headers: Headers, at: datetime) -> None:
        # By the clock of then: a token that has expired since was good when it was sent.
        moment[:] = [at]
        allow_signal(tokens.claims(headers), signal)

    return admit


def _told(topic: Topic, signal: Signal, received_at: datetime) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": topic.value.suffix,
        "at": (signal.occurred_at or received_at).astimezone(UTC).isoformat(),
    }
    match signal:
        case ContextUsage():
            told["memory_ids"] = list(signal.memory_ids[:SHOWN_MEMORIES])
            told["memories"] = len(signal.memory_ids)
            told["quality_score"] = signal.quality_score
        case Feedback():
            told |= {"memory_id": signal.memory_id, "quality_score": signal.quality_score}
        case QueryRefinement():
            told["new_query"] = signal.new_query[:SHOWN_CHARACTERS]
        case SessionAbandonment():
            told["whole_session"] = signal.request_id is None
    return told

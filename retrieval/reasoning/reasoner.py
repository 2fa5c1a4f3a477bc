"""Reasons about complex queries: by rules, and by a language model where there is one."""

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final

import structlog
from pydantic import BaseModel, ConfigDict, Field

from models import InForce
from models.memories import Layer
from retrieval.language import AnswerCache, LanguageModel, LanguageModelError, ask
from retrieval.metrics import DEGRADATIONS, REASONING_SECONDS
from retrieval.reasoning.reasoned import Reasoned
from retrieval.reasoning.rules import by_rules

log = structlog.get_logger(__name__)

TIMEOUT_S: Final = 3.0
MAX_TOKENS: Final = 400
MOST: Final = 4
"""So many queries and parts of an answer are used."""

_SYSTEM: Final = (
    "You plan searches of a memory. Reply with one JSON object and nothing else: "
    '{"semantic": [queries by meaning], "keyword": [queries by words], "parts": [questions whose '
    'answers together answer it], "layers": [of agent, user, session, project, team, org, company, '
    'or empty], "max_age_days": number or null, "why": one sentence}.'
)


class _Plan(BaseModel):
    """What a language model says; whatever else it says is not listened to."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    semantic: list[Annotated[str, Field(min_length=1, max_length=2000)]] = []
    keyword: list[Annotated[str, Field(min_length=1, max_length=2000)]] = []
    parts: list[Annotated[str, Field(min_length=1, max_length=2000)]] = []
    layers: list[Layer] = []
    max_age_days: Annotated[float, Field(gt=0, le=36_500)] | None = None
    why: Annotated[str, Field(max_length=10_000)] = ""


class Reasoner:
    """Finds out what to look for; never fails, and never takes longer than its timeout."""

    def __init__(
        self,
        model: LanguageModel | None,
        name: str,
        cache: AnswerCache[Reasoned],
        monotonic: Callable[[], float],
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._model = model
        self._name = name
        self._cache = cache
        self._monotonic = monotonic
        self._timeout_s = timeout_s

    async def reason(
        self, tenant_id: str, query: str, at: datetime, own: InForce, left_s: float
    ) -> Reasoned:
        """Return how to look for it, by rules alone if there is no better in time."""
        started = self._monotonic()
        rules = by_rules(query, at)
        if self._model is None:
            return rules
        ttl = own.reasoning_cache_ttl_s
        known = self._cache.get(tenant_id, query, ttl)
        if known is not None:
            return dataclasses.replace(known, tokens=0, trace=("as before", *known.trace))
        try:
            reasoned = await self._by_model(self._model, query, rules, left_s)
        except LanguageModelError as error:
            DEGRADATIONS.labels(part="reasoning").inc()
            log.warning("reasoning failed, searching without it", reason=error.outcome)
            # What an endpoint answers may repeat what it was asked.
            log.debug("what the language model says", reason=str(error))
            trace = (*rules.trace, f"no help from the model: {type(error).__name__}")
            tokens = getattr(error, "tokens", 0)
            return dataclasses.replace(rules, trace=trace, tokens=tokens, is_degraded=True)
        finally:
            REASONING_SECONDS.observe(self._monotonic() - started)
        self._cache.put(tenant_id, query, reasoned, ttl)
        return reasoned

    async def _by_model(
        self, model: LanguageModel, query: str, rules: Reasoned, left_s: float
    ) -> Reasoned:
        timeout_s = min(self._timeout_s, left_s)
        said, tokens = await ask(
            model, self._name, _SYSTEM, query, _Plan, timeout_s=timeout_s, max_tokens=MAX_TOKENS
        )
        meanings = _distinct([*rules.meanings, *said.semantic])
        keywords = _distinct([*rules.keywords, *said.keyword])
        length = min(max(len(meanings), len(keywords)), MOST)
        age = said.max_age_days
        return Reasoned(
            meanings=_filled(meanings, length),
            keywords=_filled(keywords, length),
            entities=rules.entities,
            layers=tuple(dict.fromkeys(said.layers)) or rules.layers,
            max_age=rules.max_age if age is None else timedelta(days=age),
            parts=_distinct(said.parts)[:MOST],
            trace=(*rules.trace, *([said.why] if said.why else [])),
            tokens=tokens,
        )


def _distinct(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _filled(texts: tuple[str, ...], length: int) -> tuple[str, ...]:
    """Return so many, the first again where there are not enough."""
    return (texts + texts[:1] * length)[:length]

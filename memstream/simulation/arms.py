"""The ways of searching that a simulation compares, and what comes of them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import fmean
from typing import Any, Self

import numpy as np

from learning.outcomes import Aftermath, outcome
from learning.rewards import RewardWeights, reward
from memstream.clock import now
from memstream.evaluation.dataset import DatasetQuery, EvaluatedRoute
from memstream.parts import Models
from memstream.settings import Settings
from memstream.simulation.users import Mind, Reaction
from memstream.wiring import build_answering
from models import SearchRequest
from retrieval.answered import Answered
from retrieval.embedding import Embedder
from retrieval.embedding.protocol import Vectors
from retrieval.policies import Learned, Policies
from retrieval.routing import Routing
from retrieval.search import Search
from storage import Store


class RememberingEmbedder:
    """Embeds each text once: the same questions are asked over and over."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        """The vector space."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """The length of each vector."""
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known |= dict(zip(new, await self._embedder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts])

    async def close(self) -> None:
        """Let go of the embedder behind it."""
        await self._embedder.close()


def remembering(models: Models) -> Models:
    """Return the models with an embedder that embeds each text once."""
    if models.embedder is None:
        return models
    return models._replace(embedder=RememberingEmbedder(models.embedder))


@dataclass(frozen=True, slots=True)
class Asked:
    """The question of a round."""

    number: int
    query: DatasetQuery
    mind: Mind
    """Who asks."""

    @property
    def name(self) -> str:
        """Which question it is: ids are a tenant's own."""
        return f"{self.query.tenant}/{self.query.id}"

    def request(self, seed: int, k: int) -> SearchRequest:
        """Return it as it is sent."""
        name = f"{seed}-{self.number}"
        return SearchRequest(
            request_id=name,
            tenant_id=self.query.tenant,
            # Every question is a session of its own: users do not meet.
            session_id=name,
            query=self.query.query,
            limit=k,
        )


@dataclass(frozen=True, slots=True)
class Result:
    """What a search showed and took."""

    shown: Sequence[str]
    tokens: int
    route: str

    @classmethod
    def of(cls, answered: Answered) -> Self:
        """Return what there is to see of an answer."""
        shown = [one.hit.memory_id for one in answered.shown]
        return cls(shown, answered.recorder.tokens, answered.routing.route)


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a question."""

    reaction: Reaction
    """What the user told."""
    reward: float
    """What it was worth to the user, whatever was told."""
    recall: float
    tokens: int
    route: str
    question: str
    """Which question it was: the same one comes again."""


class Arm:
    """One way of searching."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        models: Models,
        prior: Mapping[str, float],
        learned: Learned | None = None,
        route: EvaluatedRoute = "auto",
    ) -> None:
        self.policies = Policies(learned, time.monotonic, prior)
        self._asked_at: datetime = now()
        self._rewards = RewardWeights(settings.reward_success, settings.reward_efficiency)
        self._route = route
        self._asks_a_model = models.language_model is not None
        search = Search(
            *(store, models.embedder, lambda: self._asked_at),
            service=settings.service(),
            policies=self.policies,
        )
        self._answering = build_answering(settings, search, store, models.language_model)

    async def answer(self, query: DatasetQuery, request: SearchRequest) -> Answered:
        """Answer a question at the moment at which the dataset says it was asked.

        That is what retrieval takes for now. Questions come in any order, so no other clock may
        go by it.
        """
        self._asked_at = query.asked_at or now()
        routing = await self.route(request)
        if self._route != "auto":
            routing = replace(routing, route=self._route)
        return await self._answering.answer(request, routing)

    async def route(self, request: SearchRequest) -> Routing:
        """Return what speaks for each route, and which would be taken."""
        return await self._answering.route(request)

    async def recall(self, queries: Sequence[DatasetQuery], k: int) -> float:
        """Return how much of what answers these is found, each asked once and nothing learned."""
        found = []
        for query in queries:
            request = SearchRequest(
                request_id=query.id,
                tenant_id=query.tenant,
                session_id="kept apart",
                query=query.query,
                limit=k,
            )
            shown = (await self.answer(query, request)).shown
            found.append(len(query.gold & {one.hit.memory_id for one in shown}) / len(query.gold))
        return fmean(found)

    def came(self, asked: Asked, result: Result) -> Came:
        """Return what the user of a round makes of a result."""
        query, shown = asked.query, result.shown
        known = Aftermath()
        meant = asked.mind.meant(query.query, shown, query.gold)
        for signal in meant.signals(query.tenant, "session", "request"):
            known = known.after(signal, self._asked_at)
        label = outcome(known, query.query, None, expired=True)
        if label is None:  # pragma: no cover -- an expired search always has an outcome
            raise AssertionError(known)
        return Came(
            reaction=asked.mind.react(query.query, shown, query.gold),
            reward=reward(label, result.tokens, self._rewards),
            recall=len(query.gold & set(shown)) / len(query.gold),
            tokens=result.tokens,
            route=result.route,
            question=asked.name,
        )


class FixedArm(Arm):
    """A way that never changes: the same question has the same answer, so it is asked once.

    Unless a language model has a say: it may answer otherwise, or cost nothing the second time.
    """

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self._answers: dict[str, Result] = {}

    async def ask(self, asked: Asked, seed: int, k: int) -> Came:
        """Return what comes of a question."""
        result = self._answers.get(asked.name)
        if result is None:
            result = Result.of(await self.answer(asked.query, asked.request(seed, k)))
            if not self._asks_a_model:
                self._answers[asked.name] = result
        return self.came(asked, result)

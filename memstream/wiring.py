"""Puts the agents together from the parts of a deployment."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from agents.dead_letters import DeadLetters
from agents.decompose import SlowLane
from agents.delivery import Handler, OneByOne, Publisher
from agents.desk import Desk, Outgoing
from agents.feedback import FeedbackAgent
from agents.guard import Guard
from agents.items import ItemsAgent
from agents.outcomes import DecisionsAgent, Outcomes, SignalsAgent
from agents.pooling import Pooling
from agents.replies import Exists, ReplyTopics
from agents.search import FastLane
from agents.service import ContextService, SearchService, Service
from agents.serving import ToldPolicies
from agents.tenant_labels import TenantLabels
from agents.training import TrainingAgent
from agents.usage import UsageAgent
from learning.config import LearningConfig
from learning.labelling import Labeller, Windows
from learning.pupil import Pupil, Watch
from learning.rewards import RewardWeights
from memstream.clock import now
from memstream.settings import Settings
from models import (
    ContextAssembled,
    ContextRequest,
    QueryRefinement,
    SearchRequest,
    SearchResult,
    SessionAbandonment,
)
from retrieval.answering import Answering
from retrieval.decomposition import open_decomposition
from retrieval.decomposition.sub_calls import SubCalls
from retrieval.embedding import Embedder
from retrieval.ingest import Ingest
from retrieval.language import AnswerCache, LanguageModel
from retrieval.policies import Policies
from retrieval.ranking import EQUAL, PRIOR
from retrieval.reasoning import Reasoner
from retrieval.routing import Router
from retrieval.search import Search
from storage import Store
from topics import Topic, TopicNames

STAGES = (
    (Topic.SEARCH_REQUESTS, Topic.CONTEXT_REQUESTS),
    (Topic.DECOMPOSITIONS,),
    (
        *(Topic.DECISIONS, Topic.CONTEXT_USAGE, Topic.FEEDBACK),
        *(Topic.QUERY_REFINEMENTS, Topic.SESSION_ABANDONMENTS),
    ),
)
"""What has to be read for a deadline to count, and in which order: a request that still waits may
be the next of a session, or the search that a signal waits for."""


@dataclass(frozen=True)
class Parts:
    """What agents work with."""

    store: Store
    embedder: Embedder | None
    language_model: LanguageModel | None
    publisher: Publisher
    names: TopicNames
    guard: Guard
    exists: Exists


def build_answering(
    settings: Settings, search: Search, store: Store, model: LanguageModel | None
) -> Answering:
    """Return what answers requests by the route each is worth."""
    reasoner = Reasoner(
        model,
        settings.root_model or "",
        AnswerCache(time.monotonic),
        time.monotonic,
        settings.reasoning_timeout_s,
    )
    sub_calls = (
        None
        if model is None
        else SubCalls(model, settings.sub_call_model or "", settings.sub_call_timeout_s)
    )
    decomposition = open_decomposition(search, store, reasoner, sub_calls)
    return Answering(search, Router(), decomposition)


def build_outcomes(settings: Settings, store: Store, names: TopicNames) -> Outcomes:
    """Return what joins searches with what happened after them."""
    windows = Windows(
        timedelta(seconds=settings.outcome_window_s),
        timedelta(seconds=settings.correction_window_s),
    )
    weights = RewardWeights(settings.reward_success, settings.reward_efficiency)
    remembered = timedelta(seconds=settings.remembered_s())
    labels = TenantLabels(settings.metrics_tenants)
    labeller = Labeller(windows, weights, names, now)
    return Outcomes(store.joins, labeller, now, remembered, labels)


def prior_of(settings: Settings) -> Mapping[str, float]:
    """Return the ranking that every tenant starts with."""
    return EQUAL if settings.prior == "equal" else PRIOR


def build_pupil(
    settings: Settings,
    names: TopicNames,
    config: LearningConfig,
    watch: Watch | None = None,
    prior: Mapping[str, float] | None = None,
) -> Pupil:
    """Return what learns for tenants, from the ranking that every tenant starts with."""
    correctable = timedelta(seconds=settings.outcome_window_s + settings.correction_window_s)
    return Pupil(prior or prior_of(settings), config, names, correctable, watch)


def build_pooling(parts: Parts, pupil: Pupil, outcomes: Outcomes) -> Pooling:
    """Return what lets tenants learn from each other."""
    return Pooling(parts.store.policies, pupil, outcomes.news, now)


def handlers(
    settings: Settings, parts: Parts, outcomes: Outcomes, pupil: Pupil
) -> tuple[Mapping[Topic, Handler], Mapping[Topic, OneByOne]]:
    """Return the handlers of batches, and those of single messages, by topic."""
    search = Search(
        *(parts.store, parts.embedder, now),
        service=settings.service(),
        policies=Policies(
            ToldPolicies(parts.store.policies, outcomes.labels, time.monotonic),
            time.monotonic,
            prior_of(settings),
        ),
    )
    answering = build_answering(settings, search, parts.store, parts.language_model)
    names, guard = parts.names, parts.guard
    letters = DeadLetters(parts.publisher, names, now)
    replies = ReplyTopics(search.tenants, parts.exists, guard, names)
    remembered = timedelta(seconds=settings.remembered_s())
    outgoing = Outgoing(parts.publisher, names, letters, replies, now, remembered)
    searches = SearchService(
        Desk(SearchRequest, SearchResult, guard.admit_request, Topic.SEARCH_RESULTS, outgoing),
        answering,
        outgoing,
    )
    contexts = ContextService(
        Desk(
            ContextRequest,
            ContextAssembled,
            guard.admit_request,
            Topic.CONTEXT_ASSEMBLED,
            outgoing,
        ),
        answering,
        outgoing,
        guard,
    )
    slow: dict[str, Service[Any]] = {
        names.name(Topic.SEARCH_REQUESTS): searches,
        names.name(Topic.CONTEXT_REQUESTS): contexts,
    }
    batched: dict[Topic, Handler] = {
        Topic.ITEMS: ItemsAgent(Ingest(parts.store, parts.embedder), letters, guard),
        Topic.SEARCH_REQUESTS: FastLane(searches, outgoing),
        Topic.CONTEXT_REQUESTS: FastLane(contexts, outgoing),
        Topic.CONTEXT_USAGE: UsageAgent(parts.store, outcomes, letters, guard),
        Topic.FEEDBACK: FeedbackAgent(parts.store, outcomes, letters, guard),
        Topic.DECISIONS: DecisionsAgent(outcomes, letters),
        Topic.QUERY_REFINEMENTS: SignalsAgent(QueryRefinement, outcomes, letters, guard),
        Topic.SESSION_ABANDONMENTS: SignalsAgent(SessionAbandonment, outcomes, letters, guard),
        Topic.TRAJECTORIES: TrainingAgent(
            parts.store.policies,
            pupil,
            letters,
            outcomes.news,
            outcomes.labels,
            now,
        ),
    }
    return batched, {Topic.DECOMPOSITIONS: SlowLane(slow, outgoing)}

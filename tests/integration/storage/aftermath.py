"""Searches and what happened after them, and an oracle that labels them the slow way."""

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from learning.labelling import Labeller, Windows
from learning.rewards import RewardWeights
from models import (
    ComplexitySignals,
    ContextUsage,
    Decision,
    Feedback,
    QueryRefinement,
    SessionAbandonment,
)
from storage.joins import Heard, Origin
from topics import TopicNames

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
WINDOW, CORRECTION = timedelta(seconds=100), timedelta(seconds=1000)
MUCH_LATER = NOON + timedelta(days=1)
LABELLER = Labeller(Windows(WINDOW, CORRECTION), RewardWeights(), TopicNames(), lambda: MUCH_LATER)

# Which of these are rewordings of which is plain to see, and told to the oracle.
CAT, PET, RAIN, GET = "the cat's name", "name of her cat", "weather in Rome", ""
REWORDED = {(CAT, PET), (PET, CAT)}

SIGNALS = {
    "context.usage": ContextUsage,
    "feedback": Feedback,
    "query.refinements": QueryRefinement,
    "session.abandonments": SessionAbandonment,
}


def second(number):
    return NOON + timedelta(seconds=number)


def decision(request_id="r", *, tenant="acme", session="s", at=0, took=1, query=CAT, **fields):
    given = {
        "trajectory_id": f"t-{request_id}",
        "request_id": request_id,
        "tenant_id": tenant,
        "session_id": session,
        "query": query,
        "complexity_score": 0.1,
        "signals": ComplexitySignals(multi_layer=0, aggregation=0, comparison=0, structure=0),
        "route": "standard",
        "actions": (),
        "shown": (),
        "tokens_used": 0,
        "max_depth": 0,
        "result_count": 0,
        "policy_version": 0,
        "started_at": second(at),
        "completed_at": second(at + took),
        "succeeded": True,
        "seed": 1,
    } | fields
    return Decision(**given)


def signal(topic, event_id="e", *, tenant="acme", session="s", heard=10, at=None, **fields):
    given = {"event_id": event_id, "tenant_id": tenant, "session_id": session} | fields
    model = SIGNALS[topic]
    if "request_id" in model.model_fields and model is not SessionAbandonment:
        given.setdefault("request_id", "r")
    defaults = {
        ContextUsage: {"memory_ids": ("m",)},
        Feedback: {"quality_score": 0.5},
        QueryRefinement: {"new_query": "other words"},
    }
    given = defaults.get(model, {}) | given
    if at is not None:
        given["occurred_at"] = second(at)
    origin = Origin(
        f"memory.{topic}", 3, 7, b"key", event_id.encode(), (("trace", b"\xff"), ("none", None))
    )
    return Heard(model(**given), second(heard), origin)


async def decide(store, *decisions, at=NOON):
    decided = [LABELLER.decided(one, NOON) for one in decisions]
    return await store.joins.decide(decided, LABELLER, at)


async def hear(store, *signals, at=NOON):
    return await store.joins.hear(signals, LABELLER, at)


async def settle(store, until, at=MUCH_LATER, most=1000):
    return await store.joins.settle(second(until), LABELLER, at, most)


async def published(store, most=10_000):
    """Return the trajectories and the dead letters of the outbox, which is then empty."""
    told = []

    async def publish(messages):
        told.extend(messages)
        return ()

    while await store.joins.relay(publish, most, NOON):
        pass
    trajectories = [json.loads(one.value) for one in told if one.topic == "memory.trajectories"]
    letters = [one for one in told if one.topic == "memory.dead-letters"]
    assert len(trajectories) + len(letters) == len(told)
    return trajectories, letters


def labels(trajectories):
    """Return request, revision and outcome of each, without what is not there."""
    return [
        (one["request_id"], one["revision"], *(v for v in one["outcome"].values() if v is not None))
        for one in trajectories
    ]


def asked(search):
    """When a search was asked for, if that is told, and no later than it began."""
    return min(search.asked_at or search.started_at, search.started_at)


@dataclass
class Oracle:
    """Labels a log of events, each of which it looks at once for every search."""

    searches: dict = field(default_factory=dict)
    signals: dict = field(default_factory=dict)

    def read(self, event):
        if isinstance(event, Decision):
            self.searches.setdefault((event.tenant_id, event.request_id), event)
        else:
            named = (event.signal.tenant_id, event.kind, event.signal.event_id)
            self.signals.setdefault(named, event)

    def about(self, search):
        deadline = search.completed_at + WINDOW
        for one in self.signals.values():
            if one.signal.tenant_id != search.tenant_id or one.received_at > deadline + CORRECTION:
                continue
            same_session = one.signal.session_id == search.session_id
            open_then = same_session and asked(search) <= one.at <= deadline
            if one.request_id == search.request_id or (one.request_id is None and open_then):
                yield one

    def label(self, search):
        about = {}
        for one in sorted(self.about(search), key=lambda one: (one.at, one.signal.event_id)):
            about.setdefault(one.kind, []).append(one.signal)
        uses = [one.quality_score for one in about.get("usage", []) if one.memory_ids]
        later = sorted(
            (asked(one), one.request_id, one.query)
            for one in self.searches.values()
            if (one.tenant_id, one.session_id) == (search.tenant_id, search.session_id)
            and (asked(one), one.request_id) > (asked(search), search.request_id)
            and asked(one) <= search.completed_at + WINDOW
        )
        if "feedback" in about:
            return ("result_used", about["feedback"][-1].quality_score)
        if uses:
            return ("result_used", max(uses))
        if "refinement" in about:
            return ("query_refined", about["refinement"][0].new_query)
        if later and (search.query, later[0][2]) in REWORDED:
            return ("query_refined", later[0][2])
        return ("result_ignored",) if "abandonment" in about or later else ("no_signal",)

    def reward(self, search):
        """What the label is worth: 1.0 · success + 0.3 · efficiency, from −1 to 1."""
        kind, *quality = self.label(search)
        worth = {"query_refined": 0.3, "result_ignored": -0.5, "no_signal": 0.0}
        success = quality[0] if kind == "result_used" else worth[kind]
        return max(-1.0, min(1.0, success + 0.3 * (1 - min(search.tokens_used / 100_000, 1))))

    def used(self, search):
        """The memories that were used of its result, in the order of their ids."""
        uses = [one.signal.memory_ids for one in self.about(search) if one.kind == "usage"]
        return sorted({memory_id for ids in uses for memory_id in ids})

    def dead(self):
        """Count the signals without effect, by why."""
        return Counter(self.why_dead().values())

    def why_dead(self):
        """Return why each signal without effect has none."""
        matched = {id(one) for search in self.searches.values() for one in self.about(search)}
        return {
            key: "late" if (one.signal.tenant_id, one.request_id) in self.searches else "dangling"
            for key, one in self.signals.items()
            if id(one) not in matched
        }

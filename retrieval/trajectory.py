"""Records what a search did, step by step."""

import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from models import Action
from retrieval.choosing import Chosen
from topics.traces import side_by_side

_NAMESPACE: Final = uuid.UUID("6a1f6c52-4a86-5a1c-9a3c-6d5f0c1b7e11")
_SEED_BYTES: Final = 6
"""Seeds below 2^48: whole numbers that every reader of JSON keeps exactly."""


def trajectory_id(tenant_id: str, request_id: str) -> str:
    """Return the id of a request's trajectory: the same however often it is delivered."""
    return str(uuid.uuid5(_NAMESPACE, f"{len(tenant_id)}:{tenant_id}{request_id}"))


def seed_of(tenant_id: str, request_id: str) -> int:
    """Return what a request's choices are drawn from: the same however often it is delivered."""
    name = f"{len(tenant_id)}:{tenant_id}{request_id}".encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:_SEED_BYTES])


@dataclass
class Step:
    """An action under way; what it gave is filled in as it is known."""

    kind: str
    params: dict[str, JsonValue]
    depth: int
    propensity: float
    started_at: datetime
    duration_ms: float = 0.0
    tokens: int = 0
    result_count: int = 0

    def counts(self) -> dict[str, int]:
        """Return what traces tell of it: neither what was looked for nor what was found."""
        return {
            "memstream.depth": self.depth,
            "memstream.tokens": self.tokens,
            "memstream.results": self.result_count,
        }

    def done(self) -> Action:
        """Return the action as it is told."""
        return Action(
            kind=self.kind,
            params=self.params,
            depth=self.depth,
            started_at=self.started_at,
            duration_ms=self.duration_ms,
            tokens=self.tokens,
            result_count=self.result_count,
            propensity=self.propensity,
        )


@dataclass
class Recorder:
    """The steps of one search, in the order in which they began."""

    clock: Callable[[], datetime]
    monotonic: Callable[[], float]
    steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(
        self,
        kind: str,
        params: Mapping[str, JsonValue],
        *,
        depth: int = 0,
        propensity: float = 1.0,
    ) -> Iterator[Step]:
        """Record an action that lasts as long as the block; one that fails says with what."""
        step = self.begin(kind, params, depth=depth, propensity=propensity)
        with self.lasting([step]):
            yield step

    def begin(
        self,
        kind: str,
        params: Mapping[str, JsonValue],
        *,
        depth: int = 0,
        propensity: float = 1.0,
    ) -> Step:
        """Record an action; how long it lasts is told by ``lasting``."""
        step = Step(kind, dict(params), depth, propensity, self.clock())
        self.steps.append(step)
        return step

    def chose(self, chosen: Chosen | None) -> None:
        """Record a choice if there was one, and anything but one was ever possible."""
        if chosen is not None and chosen.is_open:
            self.begin("Choose", {"choice": chosen.told()}, propensity=chosen.propensity)

    @contextmanager
    def lasting(self, steps: Sequence[Step]) -> Iterator[None]:
        """Have actions that are carried out together last as long as the block."""
        started = self.monotonic()
        with side_by_side([step.kind for step in steps]) as spans:
            try:
                yield
            except BaseException as error:
                for step in steps:
                    step.params["failed"] = type(error).__name__
                raise
            finally:
                for step in steps:
                    step.duration_ms = 1000 * (self.monotonic() - started)
                for step, span in zip(steps, spans, strict=False):
                    span.set(step.counts())

    @property
    def tokens(self) -> int:
        """What all steps cost so far."""
        return sum(step.tokens for step in self.steps)

    @property
    def max_depth(self) -> int:
        """How deep it went."""
        return max((step.depth for step in self.steps), default=0)

"""An answer, with all there is to tell of how it came about."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from models import Decision, SearchRequest, SearchResult, Shown
from retrieval.fusion import Scored
from retrieval.routing import Routing
from retrieval.trajectory import Recorder, seed_of, trajectory_id


@dataclass
class Answered:
    """An answer, and what is needed to tell how it came about."""

    request: SearchRequest
    routing: Routing
    result: SearchResult
    shown: Sequence[Scored]
    recorder: Recorder
    started_at: datetime
    policy_version: int
    fallback: str | None = None
    placed: Sequence[float] | None = None
    """The probability of each memory's place; None if no other was possible."""

    def decision(self, asked_at: datetime | None = None) -> Decision:
        """Return how the search was carried out; made once the answer is out, it delays nobody.

        It tells when it was asked for, if that is known.
        """
        request = self.request
        return Decision(
            trajectory_id=trajectory_id(request.tenant_id, request.request_id),
            request_id=request.request_id,
            tenant_id=request.tenant_id,
            session_id=request.session_id,
            query=request.query,
            complexity_score=self.routing.score,
            signals=self.routing.signals,
            route=self.routing.route,
            actions=tuple(step.done() for step in self.recorder.steps),
            shown=tuple(
                Shown(
                    memory_id=one.hit.memory_id,
                    rank=rank,
                    propensity=self.placed[rank - 1] if self.placed else 1.0,
                    features=one.weighed.by_name() if one.weighed else {},
                )
                for rank, one in enumerate(self.shown, start=1)
            ),
            succeeded=self.result.status == "ok",
            tokens_used=self.recorder.tokens,
            max_depth=self.recorder.max_depth,
            result_count=len(self.shown),
            fallback=self.fallback,
            policy_version=self.policy_version,
            seed=seed_of(request.tenant_id, request.request_id),
            started_at=self.started_at,
            completed_at=self.result.completed_at,
            asked_at=asked_at,
        )

"""The breaker: the rule it opens by, one probe at a time, and what does not count."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.language import CircuitBreaker, LanguageModelFailedError, LanguageModelOpenError
from retrieval.metrics import BREAKER_OPEN, BREAKER_OPENINGS
from tests.unit.retrieval.language.clock import Clock

SLICE_S = 5.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(clock)


def end(breaker: CircuitBreaker, *, failed: bool = False, times: int = 1) -> None:
    """Make calls that end at once."""
    for _ in range(times):
        with suppress(LanguageModelFailedError), breaker.call():
            if failed:
                raise LanguageModelFailedError


def opened(breaker: CircuitBreaker) -> CircuitBreaker:
    end(breaker, failed=True, times=20)
    assert breaker.state == "open"
    return breaker


@pytest.mark.requirement("RR-8")
def test_a_share_of_five_per_cent_is_borne_and_more_is_not(breaker: CircuitBreaker) -> None:
    end(breaker, times=95)
    end(breaker, failed=True, times=5)
    assert breaker.state == "closed"
    end(breaker, failed=True)
    assert breaker.state == "open"


@pytest.mark.requirement("RR-8")
def test_a_few_calls_do_not_open_it(breaker: CircuitBreaker) -> None:
    end(breaker, failed=True, times=19)
    assert breaker.state == "closed"
    end(breaker, failed=True)
    assert breaker.state == "open"


@pytest.mark.requirement("RR-8")
def test_failures_of_more_than_five_minutes_ago_are_forgotten(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    end(breaker, failed=True, times=19)
    clock.seconds += 300
    end(breaker, times=20)
    assert breaker.state == "closed"


@pytest.mark.requirement("RR-8")
def test_failures_of_less_than_five_minutes_ago_are_not(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    end(breaker, failed=True, times=19)
    clock.seconds += 300 - SLICE_S
    end(breaker)
    assert breaker.state == "open"


@pytest.mark.requirement("RR-8")
def test_while_open_calls_are_refused_at_once(breaker: CircuitBreaker, clock: Clock) -> None:
    opened(breaker)
    for _ in range(3):
        with pytest.raises(LanguageModelOpenError), breaker.call():
            pytest.fail("called")
    clock.seconds += 29.9
    assert breaker.state == "open"
    clock.seconds += 0.1
    assert breaker.state == "half-open"


@pytest.mark.requirement("RR-8")
def test_a_probe_that_succeeds_closes_it_and_the_past_is_forgotten(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    opened(breaker)
    clock.seconds += 30
    end(breaker)
    assert breaker.state == "closed"
    end(breaker, failed=True, times=19)
    assert breaker.state == "closed"


@pytest.mark.requirement("RR-8")
def test_a_probe_that_fails_opens_it_again_for_the_whole_pause(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    opened(breaker)
    clock.seconds += 100
    end(breaker, failed=True)
    assert breaker.state == "open"
    clock.seconds += 29.9
    assert breaker.state == "open"
    clock.seconds += 0.1
    assert breaker.state == "half-open"


class Gate:
    """A call that lasts until it is told how to end."""

    def __init__(self, breaker: CircuitBreaker) -> None:
        self.answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._run(breaker))

    async def _run(self, breaker: CircuitBreaker) -> None:
        with breaker.call():
            await self.answer

    async def end(self, error: Exception | None = None) -> None:
        if error is None:
            self.answer.set_result(None)
        else:
            self.answer.set_exception(error)
        with suppress(LanguageModelFailedError):
            await self.task

    async def cancel(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


async def begin(breaker: CircuitBreaker, count: int = 1) -> list[Gate]:
    gates = [Gate(breaker) for _ in range(count)]
    await asyncio.sleep(0)  # each runs until it waits
    return gates


@pytest.mark.requirement("RR-8")
async def test_only_one_of_many_at_once_is_the_probe(breaker: CircuitBreaker, clock: Clock) -> None:
    opened(breaker)
    clock.seconds += 30
    gates = await begin(breaker, 50)
    waiting = [gate for gate in gates if not gate.task.done()]
    assert len(waiting) == 1
    refused = [gate for gate in gates if gate.task.done()]
    assert {type(gate.task.exception()) for gate in refused} == {LanguageModelOpenError}
    await waiting[0].end()
    assert breaker.state == "closed"


@pytest.mark.requirement("RR-8")
async def test_a_cancelled_probe_lets_the_next_call_try(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    opened(breaker)
    clock.seconds += 30
    (probe,) = await begin(breaker)
    await probe.cancel()
    assert breaker.state == "half-open"
    (probe,) = await begin(breaker)
    assert not probe.task.done()
    await probe.end()
    assert breaker.state == "closed"


@pytest.mark.requirement("RR-8")
async def test_cancelled_calls_do_not_count(breaker: CircuitBreaker) -> None:
    for gate in await begin(breaker, 100):
        await gate.cancel()
    end(breaker, failed=True, times=19)
    assert breaker.state == "closed"


@pytest.mark.requirement("RR-8")
async def test_a_call_from_before_decides_nothing_afterwards(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    early = await begin(breaker, 60)
    opened(breaker)
    await early.pop().end()
    assert breaker.state == "open"
    clock.seconds += 30
    (probe,) = await begin(breaker)
    await early.pop().end()
    await early.pop().end(LanguageModelFailedError())
    await early.pop().cancel()
    with pytest.raises(LanguageModelOpenError), breaker.call():
        pytest.fail("a second probe")
    await probe.end()
    for gate in early:
        await gate.end(LanguageModelFailedError())
    assert breaker.state == "closed"


@pytest.mark.requirement("OB-5")
def test_openings_can_be_seen(breaker: CircuitBreaker, clock: Clock) -> None:
    before = BREAKER_OPENINGS._value.get()
    assert BREAKER_OPEN._value.get() == 0
    opened(breaker)
    assert BREAKER_OPEN._value.get() == 1
    clock.seconds += 30
    end(breaker, failed=True)
    assert BREAKER_OPENINGS._value.get() == before + 2
    clock.seconds += 30
    end(breaker)
    assert BREAKER_OPEN._value.get() == 0


@dataclass
class Oracle:
    """The rule, written down without a thought for memory."""

    ended: list[tuple[float, bool]] = field(default_factory=list)
    opened_s: float | None = None

    def state(self, now: float) -> str:
        if self.opened_s is None:
            return "closed"
        return "open" if now - self.opened_s < 30 else "half-open"

    def call(self, now: float, failed: bool) -> bool:
        """Return whether the call is let through, and take note of how it ends."""
        state = self.state(now)
        if state == "half-open":
            self.ended = []
            self.opened_s = now if failed else None
        if state == "closed":
            self.ended.append((now, failed))
            last = [bad for at, bad in self.ended if at // SLICE_S > now // SLICE_S - 60]
            if len(last) >= 20 and sum(last) * 20 > len(last):
                self.opened_s = now
        return state != "open"


# Runs of calls, each run a while after the one before; whole seconds are exact in any sum.
RUNS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 4, 5, 29, 30, 60, 295, 299, 300, 301, 1000]),
        st.booleans(),
        st.integers(1, 40),
    ),
    max_size=40,
)


@pytest.mark.requirement("RR-8")
@given(RUNS)
def test_it_does_as_the_rule_says(runs: list[tuple[int, bool, int]]) -> None:
    clock, oracle = Clock(), Oracle()
    breaker = CircuitBreaker(clock)
    for seconds, failed, times in runs:
        clock.seconds += seconds
        for _ in range(times):
            admitted = True
            try:
                end(breaker, failed=failed)
            except LanguageModelOpenError:
                admitted = False
            assert admitted == oracle.call(clock.seconds, failed)
            assert breaker.state == oracle.state(clock.seconds)


def test_memory_does_not_grow_with_calls(breaker: CircuitBreaker, clock: Clock) -> None:
    for _ in range(10_000):
        clock.seconds += 0.7
        end(breaker)
    window = breaker._window
    assert len(window._slices) <= 60
    assert 295 / 0.7 - 1 <= window.calls <= 300 / 0.7 + 1

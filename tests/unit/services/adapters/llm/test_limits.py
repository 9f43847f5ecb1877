"""Requests a minute, calls at once and the circuit breaker, on a clock that tests move."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from services.adapters.llm.limits import CircuitBreaker, Pacer, ProviderGate, RequestPace
from services.domain.errors import ModelError
from tests.fakes.clocks import SteppedClock


async def test_no_sixty_seconds_see_more_requests_than_allowed() -> None:
    clock = SteppedClock()
    pacer = Pacer(5, clock)
    sent: list[float] = []

    async def send() -> None:
        await pacer.admit()
        sent.append(clock.monotonic())

    for _ in range(3):
        await asyncio.gather(*(send() for _ in range(7)))
        clock.seconds += 13
    assert len(sent) == 21
    for start in sent:
        assert sum(start <= at < start + 60 for at in sent) <= 5


async def test_without_a_limit_nothing_waits() -> None:
    clock = SteppedClock()
    pacer = Pacer(None, clock)
    for _ in range(1000):
        await pacer.admit()
    assert clock.seconds == 0


def a_breaker(clock: SteppedClock) -> CircuitBreaker:
    return CircuitBreaker("openai", 3, 30.0, clock)


def test_the_breaker_opens_after_failures_in_a_row_and_says_for_how_long() -> None:
    clock = SteppedClock()
    breaker = a_breaker(clock)
    for _ in range(3):
        breaker.check()
        breaker.failed()
    with pytest.raises(ModelError, match="try again in 30 s") as caught:
        breaker.check()
    assert caught.value.retryable
    assert caught.value.retry_after_s == 30


def test_a_success_between_failures_keeps_the_breaker_closed() -> None:
    breaker = a_breaker(SteppedClock())
    for _ in range(10):
        breaker.failed()
        breaker.failed()
        breaker.succeeded()
        breaker.check()


def test_after_the_rest_one_call_tries_alone_and_its_failure_opens_the_breaker_again() -> None:
    clock = SteppedClock()
    breaker = a_breaker(clock)
    for _ in range(3):
        breaker.failed()
    clock.seconds = 31
    breaker.check()
    with pytest.raises(ModelError):
        breaker.check()
    breaker.failed()
    with pytest.raises(ModelError, match="30 s"):
        breaker.check()
    clock.seconds = 62
    breaker.check()
    breaker.succeeded()
    breaker.check()


async def test_a_cancelled_trial_call_lets_the_next_one_try() -> None:
    clock = SteppedClock()
    breaker = a_breaker(clock)
    gate = ProviderGate(breaker, 4)
    for _ in range(3):
        breaker.failed()
    clock.seconds = 31
    with pytest.raises(asyncio.CancelledError):
        async with gate.call("local"):
            raise asyncio.CancelledError
    async with gate.call("local"):
        pass
    breaker.check()


async def test_a_refused_key_says_nothing_against_the_provider() -> None:
    breaker = a_breaker(SteppedClock())
    gate = ProviderGate(breaker, 1)
    for _ in range(5):
        with pytest.raises(ModelError, match="wrong key"):
            async with gate.call("local"):
                raise ModelError("wrong key", retryable=False)
    breaker.check()


async def test_calls_that_waited_for_a_slot_see_a_breaker_that_opened_meanwhile() -> None:
    gate = ProviderGate(a_breaker(SteppedClock()), 1)
    entered = 0

    async def call() -> None:
        nonlocal entered
        async with gate.call("local"):
            entered += 1
            await asyncio.sleep(0)
            raise ModelError("down")

    outcomes = await asyncio.gather(*(call() for _ in range(10)), return_exceptions=True)
    assert entered == 3
    assert all(isinstance(outcome, ModelError) for outcome in outcomes)


async def test_a_team_over_its_own_rate_keeps_no_other_waiting() -> None:
    clock = SteppedClock()
    pace = RequestPace(100, 2, clock)
    for _ in range(2):
        await pace.admit("busy")
        await pace.admit("calm")
    assert clock.seconds == 0
    await pace.admit("busy")
    assert clock.seconds == 60


async def test_a_team_within_its_rate_still_shares_the_providers() -> None:
    clock = SteppedClock()
    pace = RequestPace(3, 2, clock)
    for team in ("one", "two", "three"):
        await pace.admit(team)
    assert clock.seconds == 0
    await pace.admit("four")
    assert clock.seconds == 60


async def test_a_team_has_only_its_own_slots_and_leaves_the_others_free() -> None:
    gate = ProviderGate(a_breaker(SteppedClock()), 3, team_concurrency=2)
    release, inside = asyncio.Event(), Counter[str]()

    async def call(team: str) -> None:
        async with gate.call(team):
            inside[team] += 1
            await release.wait()

    calls = [asyncio.create_task(call(team)) for team in ("busy", "busy", "busy", "busy", "calm")]
    for _ in range(10):
        await asyncio.sleep(0)
    assert inside == {"busy": 2, "calm": 1}
    release.set()
    await asyncio.gather(*calls)
    assert inside == {"busy": 4, "calm": 1}

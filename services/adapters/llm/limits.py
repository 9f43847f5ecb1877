"""How hard we, and each team through us, lean on a provider: calls at once, requests a minute, a rest when it fails."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from services.domain.errors import ModelError
from services.ports.runtime import Clock

_WINDOW_S = 60.0


class Pacer:
    """Admits at most so many requests in any sixty seconds, first come first served."""

    def __init__(self, per_minute: int | None, clock: Clock) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._sent: deque[float] = deque(maxlen=per_minute)
        self._turn = asyncio.Lock()

    async def admit(self) -> None:
        """Wait until one more request may be sent."""
        if self._per_minute is None:
            return
        async with self._turn:
            if len(self._sent) == self._per_minute:
                wait_s = self._sent[0] + _WINDOW_S - self._clock.monotonic()
                if wait_s > 0:
                    await self._clock.sleep(wait_s)
            self._sent.append(self._clock.monotonic())


class RequestPace:
    """The requests a minute of a provider, and of each team in them."""

    def __init__(self, per_minute: int | None, team_per_minute: int | None, clock: Clock) -> None:
        self._all = Pacer(per_minute, clock)
        self._team_per_minute = team_per_minute
        self._clock = clock
        self._teams: dict[str, Pacer] = {}

    async def admit(self, team_id: str) -> None:
        """Wait until the team may send one more request; nobody else waits for a team that is over its own rate."""
        if self._team_per_minute is not None:
            team = self._teams.setdefault(team_id, Pacer(self._team_per_minute, self._clock))
            await team.admit()
        await self._all.admit()


class CircuitBreaker:
    """Leaves a provider alone after failures in a row, then lets one call try before all others."""

    def __init__(self, provider: str, failures: int, cooldown_s: float, clock: Clock) -> None:
        self._provider = provider
        self._limit = failures
        self._cooldown_s = cooldown_s
        self._clock = clock
        self._failures = 0
        self._closed_again_at = 0.0
        self._probing = False

    def check(self) -> None:
        """Raises `ModelError` while the provider is left alone."""
        if self._failures < self._limit:
            return
        wait_s = self._closed_again_at - self._clock.monotonic()
        if wait_s > 0 or self._probing:
            raise ModelError(
                f"{self._provider} failed {self._failures} times in a row and is left alone for now; "
                f"try again in {max(wait_s, 1.0):.0f} s, or choose another model",
                retry_after_s=max(wait_s, 1.0),
            )
        self._probing = True

    def succeeded(self) -> None:
        """The provider answered (be it with a refusal)."""
        self._failures = 0
        self._probing = False

    def failed(self) -> None:
        """The provider could not be reached or broke down."""
        self._failures += 1
        self._probing = False
        self._closed_again_at = self._clock.monotonic() + self._cooldown_s

    def abandoned(self) -> None:
        """The call was given up by us and says nothing about the provider."""
        self._probing = False


class ProviderGate:
    """Everything a call passes on its way to one provider."""

    def __init__(self, breaker: CircuitBreaker, concurrency: int, team_concurrency: int | None = None) -> None:
        self._breaker = breaker
        self._slots = asyncio.Semaphore(concurrency)
        self._team_concurrency = team_concurrency
        self._teams: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def call(self, team_id: str) -> AsyncIterator[None]:
        """Hold a slot of the team's and one of the provider's during a call; its outcome moves the breaker.

        A team waits for its own slot first, so that it keeps none of the provider's from others meanwhile. Raises
        `ModelError` while the breaker is open."""
        async with self._of(team_id), self._slots:
            self._breaker.check()
            try:
                yield
            except ModelError as error:
                if error.retryable:
                    self._breaker.failed()
                else:
                    self._breaker.succeeded()
                raise
            except BaseException:
                self._breaker.abandoned()
                raise
            self._breaker.succeeded()

    def _of(self, team_id: str) -> AbstractAsyncContextManager[None]:
        if self._team_concurrency is None:
            return nullcontext()
        return self._teams.setdefault(team_id, asyncio.Semaphore(self._team_concurrency))

"""Rate limits: token buckets, in the memory of one process or wherever `Buckets` keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from services.domain.access import Principal
from services.domain.errors import LimitError
from services.ports.runtime import Clock

BURST_S = 15.0
"""A bucket holds what flows into it in so long: a page that loads asks many things at once."""
MAX_BUCKETS = 10_000
BAD_TOKENS_PER_MINUTE = 30
"""From one address, before it is told to wait."""


@dataclass(frozen=True, kw_only=True)
class BucketRequest:
    """One request, as a bucket counts it."""

    bucket: str
    """Its name."""
    per_minute: int
    """What flows into it."""
    who: str
    """Whose it is, for people: `you`."""


@dataclass(frozen=True, kw_only=True)
class Shortage:
    """A bucket with too little in it."""

    take: BucketRequest
    wait_s: float
    """Seconds until there is enough."""


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What came of taking one from each of some buckets."""

    left: tuple[float, ...] = ()
    """What each bucket holds after it, in their order; empty where nothing was taken."""
    short: Shortage | None = None
    """The first bucket with too little, where nothing was taken."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What a limit leaves its caller now."""

    policy: str
    """The limit's name: `caller` or `team`."""
    remaining: int
    """Requests that may be sent at once."""
    reset_s: float
    """Seconds until the bucket is full again."""


class Buckets(Protocol):
    """Where the buckets are."""

    async def take(self, wanted: Sequence[BucketRequest]) -> Taken:
        """One from each bucket, or from none where one has too little."""


class LocalBuckets:
    """The buckets of one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        """Name to what is left in a bucket, and since when it has been filling."""

    async def take(self, wanted: Sequence[BucketRequest]) -> Taken:
        """One from each bucket, or from none where one has too little."""
        now = self._clock.monotonic()
        left = {take.bucket: self._left(take, now) for take in wanted}
        for take in wanted:
            if left[take.bucket] < 1:
                return Taken(short=Shortage(take=take, wait_s=(1 - left[take.bucket]) * 60 / take.per_minute))
        if len(self._buckets) >= MAX_BUCKETS:
            self._forget_full(now)
        self._buckets.update({bucket: (found - 1, now) for bucket, found in left.items()})
        return Taken(left=tuple(left[take.bucket] - 1 for take in wanted))

    def _left(self, take: BucketRequest, now: float) -> float:
        rate, size = take.per_minute / 60, _size(take)
        left, since = self._buckets.get(take.bucket, (size, now))
        return min(size, left + (now - since) * rate)

    def _forget_full(self, now: float) -> None:
        """Buckets that nothing was taken from for long are full again: a new one is the same."""
        self._buckets = {name: found for name, found in self._buckets.items() if now - found[1] < BURST_S}


class RateLimiter:
    """Requests a minute, for each token or person and for each team. The one user of a machine is not counted."""

    def __init__(self, buckets: Buckets, *, per_caller: int | None, per_team: int | None) -> None:
        """None for no limit."""
        self._buckets = buckets
        self._per_caller = per_caller
        self._per_team = per_team

    @property
    def policies(self) -> dict[str, int]:
        """Requests a minute by the limit's name, of the limits that there are."""
        named = {"caller": self._per_caller, "team": self._per_team}
        return {name: quota for name, quota in named.items() if quota is not None}

    async def refused(self, address: str) -> None:
        """Count a token that opened nothing. Raises `LimitError` where an address has sent too many; who has a good
        token is not kept waiting, from wherever it comes."""
        bad = BucketRequest(bucket=f"refused/{address}", per_minute=BAD_TOKENS_PER_MINUTE, who="one address")
        taken = await self._buckets.take([bad])
        if taken.short is not None:
            raise LimitError("too many requests with a bad token from this address", retry_after_s=taken.short.wait_s)

    async def check(self, caller: Principal) -> tuple[Allowance, ...]:
        """Count a request; what is left by each limit. Raises `LimitError` where there have been too many."""
        if caller.user is None and caller.token_id is None:
            return ()
        who = caller.token_id or (caller.user.id if caller.user else "")
        wanted = []
        if self._per_caller is not None:
            wanted.append(BucketRequest(bucket=f"caller/{who}", per_minute=self._per_caller, who="you"))
        if self._per_team is not None and not caller.is_node:  # else a fleet's heartbeats would be a team's requests
            team = caller.team_id
            wanted.append(BucketRequest(bucket=f"team/{team}", per_minute=self._per_team, who=f"team {team}"))
        taken = await self._buckets.take(wanted) if wanted else Taken()
        if (short := taken.short) is not None:
            told = f"too many requests: {short.take.who} may send {short.take.per_minute} a minute"
            raise LimitError(told, retry_after_s=short.wait_s, policy=_policy(short.take))
        return tuple(
            Allowance(policy=_policy(take), remaining=int(left), reset_s=(_size(take) - left) * 60 / take.per_minute)
            for take, left in zip(wanted, taken.left, strict=True)
        )


def _size(take: BucketRequest) -> float:
    """What a bucket holds when it is full."""
    return max(1.0, take.per_minute / 60 * BURST_S)


def _policy(take: BucketRequest) -> str:
    return take.bucket.partition("/")[0]

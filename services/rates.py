"""Rate limits: token buckets in the memory of one process."""

from __future__ import annotations

from services.domain.access import Principal
from services.domain.errors import LimitError
from services.ports import Clock

BURST_S = 15.0
"""A bucket holds what flows into it in so long: a page that loads asks many things at once."""
MAX_BUCKETS = 10_000


class RateLimiter:
    """Requests a minute, for each token or person and for each team. The one user of a machine is not counted."""

    def __init__(self, clock: Clock, *, per_caller: int | None, per_team: int | None) -> None:
        """None for no limit."""
        self._clock = clock
        self._per_caller = per_caller
        self._per_team = per_team
        self._buckets: dict[str, tuple[float, float]] = {}
        """Name to what is left in a bucket, and since when it has been filling."""

    def check(self, caller: Principal) -> None:
        """Count a request. Raises `LimitError` where there have been too many."""
        if caller.user is None and caller.token_id is None:
            return
        who = caller.token_id or (caller.user.id if caller.user else "")
        self._take(f"caller/{who}", self._per_caller, "you may send")
        self._take(f"team/{caller.team_id}", self._per_team, f"team {caller.team_id} may send")

    def _take(self, name: str, per_minute: int | None, who: str) -> None:
        if per_minute is None:
            return
        now, rate = self._clock.monotonic(), per_minute / 60
        size = max(1.0, rate * BURST_S)
        left, since = self._buckets.get(name, (size, now))
        left = min(size, left + (now - since) * rate)
        if left < 1:
            self._buckets[name] = (left, now)
            raise LimitError(f"too many requests: {who} {per_minute} a minute", retry_after_s=(1 - left) / rate)
        if len(self._buckets) >= MAX_BUCKETS and name not in self._buckets:
            self._forget_full(now)
        self._buckets[name] = (left - 1, now)

    def _forget_full(self, now: float) -> None:
        """Buckets that nothing was taken from for long are full again: a new one is the same."""
        self._buckets = {name: found for name, found in self._buckets.items() if now - found[1] < BURST_S}

"""The books of one call: what was sent for it, so that repeats by anybody stay within its limits."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a call failed, in words for a person, and what may be done about it."""

    message: str
    retryable: bool = True
    """Whether the same call may succeed later with nothing changed."""
    resend: bool = False
    """Whether this very call may be sent again at once (a stream broke off)."""
    retry_after_s: float | None = None


class CallFailedError(Exception):
    """Carries a `Failure` out of a protocol; never leaves this package."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.message)


@dataclass(kw_only=True)
class CallLedger:
    """One call's HTTP requests. The SDKs repeat by themselves; the transport counts and stops them here."""

    max_attempts: int
    max_lost: int
    team_id: str
    """Whose call it is."""
    attempts: int = 0
    """HTTP requests sent."""
    lost: int = 0
    """Requests that ended without a complete answer although the provider may have done, and billed, the work."""
    streaming: bool = False
    """Whether the current request's reply has begun."""
    blocked: Failure | None = None
    """Why the transport refused to send a request, when it did."""

    @property
    def may_send(self) -> bool:
        """Whether one more HTTP request is within the call's limits."""
        return self.attempts < self.max_attempts and self.lost <= self.max_lost

    @property
    def most_billed(self) -> int:
        """Requests that may be billed when the call ends here and now: those that were lost, and the one under way."""
        return min(self.lost + (self.attempts > self.lost), self.max_lost + 1)

    def lose(self) -> None:
        """Count a lost request; never more than the call's ceiling has room for."""
        self.lost = min(self.lost + 1, self.max_lost + 1)


current_call: ContextVar[CallLedger] = ContextVar("current_call")
"""Set around one call; the transport runs in the same context."""

"""Every error the program raises on purpose, as one tree.

    KernelwrightError
    ├── UserError             the request is wrong: say what to change (exit code 2, HTTP 4xx)
    │   ├── ProblemError      the problem file cannot be used: file, line, remedy
    │   ├── ConfigurationError  a setting, flag or name is unknown or contradictory
    │   ├── NotFoundError     no such row for this team
    │   │   └── DeletedError  there was one, and somebody deleted it
    │   ├── ConflictError     the row is not in a state that permits the request
    │   ├── AuthenticationError  nobody known is calling (HTTP 401)
    │   ├── ForbiddenError    the caller is known and may not do this (HTTP 403)
    │   └── LimitError        a rate limit or quota is used up: later (HTTP 429)
    ├── CandidateError        the candidate is at fault: becomes a failed gate, never an exit code
    ├── ReplyError            a chat model's answer cannot be used: repaired once, then a failed step
    └── InfrastructureError   the machine is at fault: retried, never charged to a candidate
        ├── SandboxError      a sandbox could not be started or died by itself
        ├── ToolchainError    a compiler, profiler or driver is missing or broken
        ├── DeviceLostError   the worker's device is gone: it hands its order back and ends
        ├── StorageError      the database or artefact store cannot be reached, or the disk is full
        ├── QueueError        the message broker cannot be reached
        ├── ModelError        a chat model's service cannot be reached or refuses us
        └── LeaseLostError    another orchestrator holds the job now: stop writing

The three branches below `KernelwrightError` that name a culprit (user, candidate, machine) are never mixed up: a
verdict `rejected` comes only from `CandidateError`, a verdict `infrastructure_error` only from `InfrastructureError`.
Beside the tree stands `CallInterruptedError`, a cancellation that knows what it has cost.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from services.domain.texts import visible

if TYPE_CHECKING:
    from services.domain.usage import Usage


class KernelwrightError(Exception):
    """Base of everything raised on purpose; `str(error)` is one clear line for a person."""


class UserError(KernelwrightError):
    """The request is wrong; the message says what to change."""


class ProblemError(UserError):
    """The problem file cannot be used.

    Attributes: `path` the file as the user named it, `line` 1-based or None, `reason` what is wrong, `remedy` what to
    do about it. Reason and path may quote the file: invisible characters in them are written as escapes.
    """

    def __init__(self, reason: str, *, remedy: str, path: str = "problem.py", line: int | None = None) -> None:
        self.path = visible(path)
        self.line = line
        self.reason = visible(reason)
        self.remedy = remedy
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {self.reason}. {remedy}")


class ConfigurationError(UserError):
    """A setting, flag or name is unknown or contradicts another."""


class NotFoundError(UserError):
    """No such row for this team (another team's row is not found either)."""


class DeletedError(NotFoundError):
    """The row was there and was deleted, with everything that came from it."""


class ConflictError(UserError):
    """The row exists but is not in a state that permits the request."""


class AuthenticationError(UserError):
    """Nobody known is calling: the token or session is missing, wrong, expired or revoked."""


class ForbiddenError(UserError):
    """The caller is known, and its role or scopes do not permit this."""


class LimitError(UserError):
    """A rate limit or quota is used up.

    Attributes: `retry_after_s` seconds after which the same request may succeed, `policy` the name of the rate limit,
    None for a quota.
    """

    def __init__(self, message: str, *, retry_after_s: float, policy: str | None = None) -> None:
        self.retry_after_s = retry_after_s
        self.policy = policy
        super().__init__(message)


class CandidateError(KernelwrightError):
    """The candidate is at fault."""


class ReplyError(KernelwrightError):
    """A chat model's answer does not fit its schema or holds no usable source."""


class InfrastructureError(KernelwrightError):
    """The machine is at fault; the work is retried and nobody is charged for it.

    Attributes: `remedy` what a person can do about it, where whoever raised it knows; the message says it too.
    """

    def __init__(self, message: str = "", *, remedy: str | None = None) -> None:
        self.remedy = remedy
        super().__init__(message)


class SandboxError(InfrastructureError):
    """A sandbox could not be started, or died without its content being the cause."""


class ToolchainError(InfrastructureError):
    """A compiler, profiler or driver is missing or broken."""


class DeviceLostError(InfrastructureError):
    """The worker's device is gone: no order can be done there until somebody has repaired it."""


class StorageError(InfrastructureError):
    """The database or the artefact store cannot be reached, or the disk is full."""


class QueueError(InfrastructureError):
    """The message broker cannot be reached."""


class ModelError(InfrastructureError):
    """A chat model's service cannot be reached or refuses the call.

    Attributes: `retryable` whether the same call may succeed later with nothing changed, `retry_after_s` how long the
    service asks to wait (None when it does not say), `usage` what the failed call used or may have used (None when
    nothing was billed); it counts against the job's budget like any other usage.
    """

    def __init__(
        self, message: str, *, retryable: bool = True, retry_after_s: float | None = None, usage: Usage | None = None
    ) -> None:
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.usage = usage
        super().__init__(message)


class CallInterruptedError(asyncio.CancelledError):
    """A chat model's call was cancelled by its caller; what it had used, or may have used, by then is in `usage`."""

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        super().__init__("a chat model's call was interrupted")


class LeaseLostError(InfrastructureError):
    """Another orchestrator holds the job's lease; stop writing at once."""

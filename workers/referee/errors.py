"""What can go wrong between referee, worker and runner, and whose fault it is."""

from __future__ import annotations

from enum import StrEnum

from services.domain.errors import CandidateError, InfrastructureError


class FaultKind(StrEnum):
    """How a candidate failed to answer."""

    RAISED = "raised"
    CRASHED = "crashed"
    HUNG = "hung"
    FORGED = "forged"
    MEMORY = "memory"


class RunnerFault(CandidateError):  # noqa: N818 - a fault, found in a reply
    """The candidate's process did not do what it was asked; `str` is the evidence in one line."""

    def __init__(self, kind: FaultKind, detail: str) -> None:
        self.kind = kind
        self.of_baseline = False
        """Whether it was the baselines' process instead, which runs the reference."""
        super().__init__(detail)

    def at(self, where: str, advice: str = "") -> RunnerFault:
        """The same fault, with where it came to pass; with advice, where the candidate's author can use some."""
        fault = RunnerFault(self.kind, f"{where}: {self}{'' if self.kind is FaultKind.FORGED else advice}")
        fault.of_baseline = self.of_baseline
        return fault


class WorkerRefusal(InfrastructureError):  # noqa: N818 - an answer of the worker
    """The worker could not do what the referee asked of it (start a runner, build a candidate)."""


class Refused(Exception):  # noqa: N818 - it is an outcome
    """The problem cannot be used."""

    def __init__(self, reason: str, remedy: str, line: int | None = None) -> None:
        self.reason = reason
        self.remedy = remedy
        self.line = line
        super().__init__(reason)

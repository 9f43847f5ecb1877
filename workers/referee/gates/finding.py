"""What gates find."""

from __future__ import annotations

from dataclasses import dataclass

from services.domain.gates import GateName, GateStatus
from workers.referee.errors import FaultKind, RunnerFault


@dataclass(frozen=True, kw_only=True)
class GateFinding:
    """What a gate found."""

    status: GateStatus
    detail: str
    gate: GateName | None = None
    """Another gate that the evidence belongs to, where it is not the one that found it."""


def passed(detail: str) -> GateFinding:
    """Nothing against the candidate."""
    return GateFinding(status=GateStatus.PASSED, detail=detail)


def failed(detail: str, gate: GateName | None = None) -> GateFinding:
    """Evidence."""
    return GateFinding(status=GateStatus.FAILED, detail=detail, gate=gate)


def suspicious(detail: str) -> GateFinding:
    """A hint."""
    return GateFinding(status=GateStatus.SUSPICIOUS, detail=detail)


def blamed_gate(fault: RunnerFault, current: GateName) -> GateName:
    """The gate a fault belongs to: forgeries are a matter of integrity wherever they happen."""
    return GateName.INTEGRITY if fault.kind is FaultKind.FORGED else current

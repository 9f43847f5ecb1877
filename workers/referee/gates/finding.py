"""What gates find."""

from __future__ import annotations

import dataclasses
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

    def at(self, where: str) -> GateFinding:
        """The same finding, with where it was made."""
        return dataclasses.replace(self, detail=f"{where}: {self.detail}")

    def advised(self, advice: str) -> GateFinding:
        """The same finding with advice, where it is no evidence of a deception."""
        return self if self.gate is not None else dataclasses.replace(self, detail=self.detail + advice)


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

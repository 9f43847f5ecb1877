"""The report of an evaluation that the machine, not the candidate, prevented."""

from __future__ import annotations

import platform

from services.domain.evaluations import Environment, EvaluationReport, EvaluationRequest, PhasesS, Verdict
from services.domain.gates import GateName, GateResult, GateStatus
from services.domain.measurements import Baselines, Speedup


def infrastructure_report(request: EvaluationRequest, reason: str) -> EvaluationReport:
    """Verdict `infrastructure_error`; the reason is the detail of a first gate that was skipped."""
    skipped = GateResult(name=GateName.SCREEN, status=GateStatus.SKIPPED, detail=reason, seconds=0.0)
    return EvaluationReport(
        verdict=Verdict.INFRASTRUCTURE_ERROR,
        failed_gate=None,
        gates=(skipped,),
        latency=None,
        baselines=Baselines(),
        speedup=Speedup(),
        shapes=(),
        roofline=None,
        profile=None,
        tuned=None,
        environment=Environment(
            device=request.device,
            driver=None,
            torch=None,
            triton=None,
            toolkit=None,
            cpu=platform.machine(),
            referee_version="none",
            tf32=False,
            isolation="none",
        ),
        phases_s=PhasesS(),
    )

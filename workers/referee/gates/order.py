"""The gates in order: the seven of a full evaluation, and what stands in their places in others."""

from __future__ import annotations

from services.domain.evaluations import EvaluationRequest
from services.domain.gates import GateName
from workers.referee.gates.compile import CompileGate
from workers.referee.gates.correctness import CorrectnessGate
from workers.referee.gates.generalization import GeneralizationGate
from workers.referee.gates.integrity import IntegrityGate
from workers.referee.gates.interpreted import (
    BriefCorrectnessGate,
    BriefGeneralizationGate,
    NotTimedGate,
    PatientLoadGate,
    UntimedIntegrityGate,
)
from workers.referee.gates.load import LoadGate
from workers.referee.gates.quick import QuickCorrectnessGate, QuickTimingGate, UnexaminedGate
from workers.referee.gates.screen import ScreenGate
from workers.referee.gates.timing import TimingGate
from workers.referee.trial import Gate

FULL: tuple[Gate, ...] = (
    ScreenGate(),
    CompileGate(),
    LoadGate(),
    CorrectnessGate(),
    IntegrityGate(),
    GeneralizationGate(),
    TimingGate(),
)
QUICK: tuple[Gate, ...] = (
    ScreenGate(),
    CompileGate(),
    LoadGate(),
    QuickCorrectnessGate(),
    UnexaminedGate(GateName.INTEGRITY),
    UnexaminedGate(GateName.GENERALIZATION),
    QuickTimingGate(),
)
INTERPRETED: tuple[Gate, ...] = (
    ScreenGate(),
    CompileGate(),
    PatientLoadGate(),
    BriefCorrectnessGate(),
    UntimedIntegrityGate(),
    BriefGeneralizationGate(),
    NotTimedGate(),
)
"""For Triton candidates where there is no GPU."""


def gates_of(request: EvaluationRequest, *, interpreted: bool) -> tuple[Gate, ...]:
    """The gates of an evaluation; `interpreted`: a Triton candidate runs where there is no GPU."""
    if interpreted:
        return INTERPRETED
    return FULL if request.every_gate else QUICK

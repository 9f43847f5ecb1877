"""What a worker requests of its referee, and the replies. What the referee asks meanwhile is in `questions.py`.

The worker trusts no reply: problem code runs in the referee's process.
"""

from __future__ import annotations

from dataclasses import dataclass

from services.domain.devices import DeviceSheet
from services.domain.evaluations import Environment, EvaluationReport, EvaluationRequest
from services.domain.measurements import Baselines
from services.domain.models import ModelProfile
from services.domain.problems import Problem, ProblemAnalysis
from services.domain.validations import CompilerDraft, ProblemRefusal
from workers.ipc.messages import Messages


@dataclass(frozen=True, kw_only=True)
class PrepareProblem:
    """Load the problem; check and analyse it unless the worker knows the analysis from an earlier referee."""

    problem: Problem
    device: DeviceSheet
    baselines: Baselines
    baselines_age_s: float
    memory_bytes: int | None = None
    """What inputs may use in all; None to ask the device."""
    analysis: ProblemAnalysis | None


@dataclass(frozen=True, kw_only=True)
class MeasureBaselines:
    """Measure baselines, by name."""

    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DraftCandidate:
    """Give the compiler's own code as a candidate."""


@dataclass(frozen=True, kw_only=True)
class ProfileModel:
    """Say where the loaded model's time goes."""


@dataclass(frozen=True, kw_only=True)
class EvaluateCandidate:
    """Judge a candidate."""

    request: EvaluationRequest
    environment: Environment
    baselines_max_age_s: float


RefereeRequest = PrepareProblem | MeasureBaselines | DraftCandidate | ProfileModel | EvaluateCandidate
REQUESTS: Messages[RefereeRequest] = Messages(
    "op",
    {
        "prepare": PrepareProblem,
        "baselines": MeasureBaselines,
        "draft": DraftCandidate,
        "model": ProfileModel,
        "evaluate": EvaluateCandidate,
    },
)


class RefereeReply:
    """What a referee may reply."""


@dataclass(frozen=True, kw_only=True)
class ProblemPrepared(RefereeReply):
    """Reply to `PrepareProblem`."""

    analysis: ProblemAnalysis
    notes: tuple[str, ...] = ()
    """What to know of the problem's list of shapes."""


@dataclass(frozen=True, kw_only=True)
class BaselinesMeasured(RefereeReply):
    """Reply to `MeasureBaselines`."""

    baselines: Baselines
    notes: tuple[str, ...] = ()
    """Which are absent, and why: because they are wrong, or because they failed."""


@dataclass(frozen=True, kw_only=True)
class CandidateDrafted(RefereeReply):
    """Reply to `DraftCandidate`."""

    draft: CompilerDraft


@dataclass(frozen=True, kw_only=True)
class ModelProfiled(RefereeReply):
    """Reply to `ProfileModel`."""

    profile: ModelProfile


@dataclass(frozen=True, kw_only=True)
class CandidateEvaluated(RefereeReply):
    """Reply to `EvaluateCandidate`."""

    report: EvaluationReport
    baselines: Baselines
    """As they are known now: the referee may have measured them again."""


@dataclass(frozen=True, kw_only=True)
class RequestRefused(RefereeReply):
    """Reply to any request: the problem's file is at fault."""

    refusal: ProblemRefusal


@dataclass(frozen=True, kw_only=True)
class RequestFailed(RefereeReply):
    """Reply to any request: the machine is at fault."""

    reason: str


REPLIES: Messages[RefereeReply] = Messages(
    "reply",
    {
        "prepared": ProblemPrepared,
        "baselines": BaselinesMeasured,
        "draft": CandidateDrafted,
        "model": ModelProfiled,
        "evaluated": CandidateEvaluated,
        "refused": RequestRefused,
        "failed": RequestFailed,
    },
)

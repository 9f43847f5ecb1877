"""Builders of domain values with sensible defaults, for tests and benchmarks."""

from __future__ import annotations

from datetime import UTC, datetime

from services.domain.candidates import Candidate, Origin, candidate_id, evaluation_id
from services.domain.devices import DeviceSheet
from services.domain.evaluations import Environment, EvaluationReport, EvaluationRequest, PhasesS, Verdict
from services.domain.experiences import Experience, ExperienceKind
from services.domain.gates import GateName, GateResult, GateStatus
from services.domain.jobs import LOCAL_TEAM, Budget, Job, JobSpec, JobStatus, Stage
from services.domain.measurements import Baselines, Latency, Speedup, gain_of
from services.domain.problems import Operator, Problem, ProblemAnalysis, TensorSpec, ValueRef
from services.domain.profiles import Profile, Roofline
from services.domain.referees import REFEREE_VERSION
from services.domain.steps import Step

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)

PROBLEM_SOURCE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(1024, 1024)]


def get_init_inputs():
    return []
"""


def a_problem(source: str = PROBLEM_SOURCE, *, name: str = "relu") -> Problem:
    """A ReLU over 1024 × 1024 floats."""
    return Problem(name=name, source=source, path=f"{name}.py")


def an_analysis(*, family: str = "pointwise", floor_us: float = 80.0) -> ProblemAnalysis:
    """What validation finds in `a_problem`."""
    given = TensorSpec(name="x", shape=(1024, 1024), dtype="float32")
    result = TensorSpec(name="relu", shape=(1024, 1024), dtype="float32")
    relu = Operator(target="aten.relu.default", arguments=(ValueRef(ref="x"),), outputs=(result,))
    return ProblemAnalysis(
        family=family,
        inputs=(given,),
        parameters=(),
        operators=(relu,),
        outputs=("relu",),
        bytes_moved=8 << 20,
        flops=1 << 20,
        floor_us=floor_us,
    )


def a_device(name: str = "cpu") -> DeviceSheet:
    """A small CPU."""
    return DeviceSheet(
        name=name,
        model="Test CPU",
        units=2,
        copy_bandwidth_gb_s=20.0,
        cache_bandwidth_gb_s=100.0,
        cache_bytes=32 << 20,
        peak_gflop_s=100.0,
        launch_us=1.0,
        instruction_set=("avx2", "fma"),
        toolchain="g++ 12.2, torch 2.13.0",
    )


def a_latency(median_us: float) -> Latency:
    """A narrow distribution around a median."""
    return Latency(
        median_us=median_us,
        mean_us=median_us,
        p10_us=median_us * 0.95,
        p90_us=median_us * 1.05,
        ci95_us=(median_us * 0.98, median_us * 1.02),
        samples=100,
    )


COUNTERS = {f"counter_{number}": float(number) for number in range(12)}
"""More than a Profiler may pass on: it has something to choose from."""


def a_report(
    verdict: Verdict = Verdict.ACCEPTED,
    *,
    median_us: float = 100.0,
    eager_us: float = 200.0,
    failed_gate: GateName | None = None,
    detail: str = "",
    bottleneck: str = "memory",
    seconds: float = 1.0,
) -> EvaluationReport:
    """A report that is consistent with its verdict: figures only for candidates that ran to their timing."""
    if verdict is Verdict.REJECTED and failed_gate is None:
        failed_gate = GateName.CORRECTNESS
    timed = verdict in (Verdict.ACCEPTED, Verdict.SUSPICIOUS)
    ratio = eager_us / median_us
    speedup = Speedup(eager=ratio, best_baseline=ratio, ci95=(ratio * 0.97, ratio * 1.03)) if timed else Speedup()
    return EvaluationReport(
        verdict=verdict,
        failed_gate=failed_gate,
        gates=_gates(verdict, failed_gate, detail),
        latency=a_latency(median_us) if timed else None,
        baselines=Baselines(eager=a_latency(eager_us)),
        speedup=speedup,
        shapes=(),
        roofline=Roofline(bytes=8 << 20, flops=1 << 20, floor_us=80.0, fraction=80.0 / median_us, bound="memory")
        if timed
        else None,
        profile=Profile(source="perf", metrics=COUNTERS, bottleneck=bottleneck, reason="bytes over time")
        if timed
        else None,
        tuned=None,
        environment=_environment(),
        phases_s=PhasesS(total=seconds),
        gain=gain_of(speedup),
    )


def _gates(verdict: Verdict, failed_gate: GateName | None, detail: str) -> tuple[GateResult, ...]:
    if verdict is Verdict.INFRASTRUCTURE_ERROR:
        return ()
    gates = []
    for name in GateName:
        if name is failed_gate:
            gates.append(GateResult(name=name, status=GateStatus.FAILED, detail=detail or "it failed", seconds=0.1))
            break
        doubted = verdict is Verdict.SUSPICIOUS and name is GateName.INTEGRITY
        status = GateStatus.SUSPICIOUS if doubted else GateStatus.PASSED
        gates.append(GateResult(name=name, status=status, detail=detail if doubted else "", seconds=0.1))
    return tuple(gates)


def _environment() -> Environment:
    return Environment(
        device="cpu",
        driver=None,
        torch="2.13.0",
        triton=None,
        toolkit="g++ 12.2",
        cpu="Test CPU",
        referee_version=REFEREE_VERSION,
        tf32=False,
        isolation="limits",
    )


def a_job(
    job_id: str = "job-1",
    *,
    spec: JobSpec | None = None,
    budget: Budget | None = None,
    team_id: str = LOCAL_TEAM,
    status: JobStatus = JobStatus.QUEUED,
    created_at: datetime = MOMENT,
) -> Job:
    """A queued job on `a_problem` with the model `scripted`."""
    spec = spec or JobSpec(problem=a_problem(), model="scripted", budget=budget or Budget(rounds=3))
    return Job(id=job_id, team_id=team_id, spec=spec, status=status, created_at=created_at, updated_at=created_at)


def a_candidate(
    job_id: str = "job-1", step: int = 0, *, source: str = "class ModelNew: ...\n", team_id: str = LOCAL_TEAM
) -> Candidate:
    """A draft of a step."""
    return Candidate(
        id=candidate_id(job_id, step),
        job_id=job_id,
        team_id=team_id,
        step=step,
        parent_id=None,
        origin=Origin.DRAFT,
        backend="cpp",
        source=source,
        summary="a draft",
        created_at=MOMENT,
    )


def an_evaluation_request(candidate: Candidate) -> EvaluationRequest:
    """The request to evaluate a candidate."""
    return EvaluationRequest(
        evaluation_id=evaluation_id(candidate.id),
        job_id=candidate.job_id,
        team_id=candidate.team_id,
        candidate_id=candidate.id,
        problem=a_problem(),
        source=candidate.source,
        device="cpu",
        backend=candidate.backend,
    )


def a_step(
    job_id: str = "job-1",
    index: int = 0,
    *,
    team_id: str = LOCAL_TEAM,
    verdict: Verdict | None = Verdict.ACCEPTED,
) -> Step:
    """A step that made a candidate."""
    candidate = candidate_id(job_id, index)
    return Step(
        job_id=job_id,
        team_id=team_id,
        index=index,
        stage=Stage.DRAFT,
        start_point=None,
        plan=None,
        calls=(),
        candidate_id=candidate,
        evaluation_id=evaluation_id(candidate),
        verdict=verdict,
        experiences_used=(),
        reward=1.0,
        failure=None,
        started_at=MOMENT,
        finished_at=MOMENT,
    )


def an_experience(
    experience_id: str = "exp-1", *, team_id: str = LOCAL_TEAM, text: str = "vectorise the inner loop"
) -> Experience:
    """A best practice for pointwise problems in C++."""
    return Experience(
        id=experience_id,
        team_id=team_id,
        kind=ExperienceKind.BEST_PRACTICE,
        stage=Stage.DRAFT,
        family="pointwise",
        backend="cpp",
        device="cpu",
        toolchain="g++ 12.2",
        title=text,
        text=text,
        code=None,
        created_at=MOMENT,
    )

"""The kernel that a job may start from: which language it is in, and its place as the first candidate."""

from __future__ import annotations

import ast
from datetime import datetime

from agents.roles.coder import Draft
from services.domain.candidates import Candidate, Origin, candidate_id, evaluation_id
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.experiences import Experience
from services.domain.jobs import EVALUATE_ONLY, Job
from services.domain.measurements import SeedFigures
from services.domain.python_source import parsed

SUMMARY = "the kernel that was submitted"
_MAKERS = {"compile_cpp": "cpp", "compile_cuda": "cuda"}
_MODULES = {"triton": "triton", "cutlass": "cuda", "cupy": "cuda", "pycuda": "cuda"}
_DETAIL = 600


def seed_of(job: Job, at: datetime) -> Candidate:
    """The job's seed as its first candidate, under the id that step 0 gives it."""
    return Candidate(
        id=candidate_id(job.id, 0),
        job_id=job.id,
        team_id=job.team_id,
        step=0,
        parent_id=None,
        origin=Origin.SEED,
        backend=job.spec.backend,
        source=job.spec.seed_candidate or "",
        summary=SUMMARY,
        created_at=at,
    )


def adopted_draft(proven: Experience) -> Draft:
    """A kernel that another job of the team proved, as this job's candidate: it is measured here before it counts."""
    speedup = "" if proven.speedup is None else f" at {proven.speedup:.2f}× the best baseline"
    return Draft(source=proven.code or "", summary=f"proven in {proven.job_id}{speedup}, measured again here")


def must_prove(job: Job) -> bool:
    """Whether a job is about nothing unless its seed is right; one of another backend is there to be brought over."""
    seed = job.spec.seed_candidate
    if seed is None or EVALUATE_ONLY in job.spec.tags:
        return False
    return backend_of(seed) in (None, job.spec.backend)


def backend_of(source: str) -> str | None:
    """The backend that a kernel's module is written for, as far as reading tells."""
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if name in _MAKERS:
            return _MAKERS[name]
        if isinstance(node, ast.Call) and name == "load_inline":
            return "cuda" if any(keyword.arg == "cuda_sources" for keyword in node.keywords) else "cpp"
        for module in _imported(node):
            if module in _MODULES:
                return _MODULES[module]
    return None


def evaluation_of(
    job: Job,
    candidate: Candidate,
    timeout_s: float,
    *,
    thorough: bool = False,
    times_held_out: bool = False,
    seed: SeedFigures | None = None,
    least_profiled_speedup: float | None = None,
) -> EvaluationRequest:
    """How a job has a candidate judged."""
    spec = job.spec
    return EvaluationRequest(
        evaluation_id=evaluation_id(candidate.id),
        job_id=candidate.job_id,
        team_id=candidate.team_id,
        candidate_id=candidate.id,
        problem=spec.problem,
        source=candidate.source,
        device=spec.device,
        backend=spec.backend,
        baselines=spec.baselines,
        timeout_s=timeout_s,
        thorough=thorough,
        times_held_out=times_held_out,
        seed=seed,
        least_profiled_speedup=least_profiled_speedup,
    )


def seed_fault(report: EvaluationReport) -> str:
    """Why a rejected seed cannot be started from, with what to do."""
    gate = report.gate(report.failed_gate) if report.failed_gate is not None else None
    name = "none" if gate is None else gate.name.value
    detail = "" if gate is None else " ".join(gate.detail.split())[:_DETAIL]
    return (
        f"the seed candidate was rejected by the gate {name}: {detail.rstrip('.')}. Repair it (kernelwright evaluate "
        "shows the whole report), or submit the problem without it"
    )


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    return [(node.module or "").split(".")[0]] if isinstance(node, ast.ImportFrom) else []

"""Why a kernel is as fast as it is: the diagnosis from what was sampled while it ran."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

from services.domain.evaluations import EvaluationReport
from services.ports.devices import KernelBackend
from workers.backends.cpp import CppBackend
from workers.evaluation.work import Work
from workers.profilers.cpu_diagnosis import CpuEvidence, diagnose_cpu
from workers.profilers.hot_spots import HotSpots


def with_cause(report: EvaluationReport, backend: KernelBackend, work: Work, *, threads: int) -> EvaluationReport:
    """The report with the diagnosis from samples, where there are some: counters alone seldom name a cause."""
    seen, roof, profile = work.attribution, report.roofline, report.profile
    if seen is None or roof is None or profile is None:
        return report
    started = time.monotonic()
    spots: HotSpots | None = None
    missed: dict[int, str] = {}
    built = work.built(report.tuned.parameters if report.tuned is not None else {})
    if built is not None and isinstance(backend, CppBackend) and seen.places:
        spots, missed = backend.hot_spots(built, seen.places)
    evidence = CpuEvidence(
        by_owner=seen.by_owner,
        by_thread=seen.by_thread,
        threads=threads,
        functions=seen.functions,
        faults_per_call=_faults_per_call(work.faults),
        spots=spots,
        missed=missed,
    )
    spent = time.monotonic() - started
    phases = dataclasses.replace(
        report.phases_s, profile=report.phases_s.profile + spent, total=report.phases_s.total + spent
    )
    return dataclasses.replace(report, profile=diagnose_cpu(roof, evidence, profile.metrics), phases_s=phases)


def _faults_per_call(counted: Sequence[tuple[int, int]]) -> float:
    """Between the last two times that the referee asked."""
    if len(counted) < 2:
        return 0.0
    (calls, faults), (later_calls, later_faults) = counted[-2:]
    return max(0.0, (later_faults - faults) / max(1, later_calls - calls))

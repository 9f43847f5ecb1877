"""A workbench that judges each kernel once: reports of the real evaluator by problem and C++ text, kept in a file.

Replaying makes a search repeatable: two runs that try the same kernel see the same figure. A recorded latency is made
comparable across a machine's moods: the problem's fastest baseline, as validation measured it once, over the speedup of
the interleaved pair.
"""

from __future__ import annotations

import gzip
import json
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from agents.playbook.planner import kernels
from services.domain.candidates import content_hash
from services.domain.codec import from_data, to_data
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.jobs import LOCAL_TEAM
from services.domain.measurements import Baselines
from services.domain.problems import Problem
from services.domain.validations import ValidationReport, ValidationRequest
from services.ports.work import Workbench


class MissingError(Exception):
    """A kernel that the table does not hold, while nothing may be measured."""


class TableWorkbench:
    """Implements the `Workbench` port from a table; `make` opens the real workbench when something is missing."""

    def __init__(self, path: Path, make: Callable[[], Workbench] | None) -> None:
        """`make` None: replay only."""
        self._path = path
        self._make = make
        self._real: Workbench | None = None
        self._table: dict[str, Any] = _read(path)
        self.measured = 0
        """Evaluations that were run for real."""
        self.replayed = 0

    def validate(self, request: ValidationRequest, cancelled: Callable[[], bool] = lambda: False) -> ValidationReport:
        """The recorded validation, or a real one."""
        key = content_hash(request.problem.source)
        if key not in self._table:
            asked = replace(request, job_id=_job(key))
            self._keep(key, self._workbench(request.problem.name).validate(asked, cancelled))
        return from_data(ValidationReport, self._table[key])

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool]) -> EvaluationReport:
        """The recorded report, or a real one."""
        problem = content_hash(request.problem.source)
        key = f"{problem}/{kernel_hash(request.source)}"
        if key in self._table:
            self.replayed += 1
        else:
            asked = replace(request, job_id=_job(problem), evaluation_id=f"eval-{content_hash(key)[:20]}")
            report = self._workbench(request.problem.name).evaluate(asked, cancelled)
            if report.verdict is Verdict.INFRASTRUCTURE_ERROR:
                return report
            self.measured += 1
            self._keep(key, report)
        validation = from_data(ValidationReport, self._table[problem])
        return comparable(from_data(EvaluationReport, self._table[key]), validation.baselines)

    def settle(self, problem: Problem, source: str, times: int) -> float | None:
        """Median microseconds of an accepted kernel over its first measurement and `times` further, thorough ones that
        are made where the table lacks them; None where no measurement accepted it."""
        key = f"{content_hash(problem.source)}/{kernel_hash(source)}"
        validation = from_data(ValidationReport, self._table[content_hash(problem.source)])
        reports = [from_data(EvaluationReport, self._table[key])]
        for number in range(1, times + 1):
            again = f"{key}/again-{number}"
            if again not in self._table:
                report = self._measured(problem, source, again)
                if report.verdict is Verdict.INFRASTRUCTURE_ERROR:
                    continue
                self._keep(again, report)
            reports.append(from_data(EvaluationReport, self._table[again]))
        figures = [comparable(report, validation.baselines) for report in reports if report.accepted]
        known = [report.latency.median_us for report in figures if report.latency is not None]
        return statistics.median(known) if known else None

    def _measured(self, problem: Problem, source: str, key: str) -> EvaluationReport:
        self.measured += 1
        name = content_hash(key)[:20]
        request = EvaluationRequest(
            evaluation_id=f"eval-{name}", job_id=_job(content_hash(problem.source)), team_id=LOCAL_TEAM,
            candidate_id=f"cand-{name}", problem=problem, source=source, device="cpu", backend="cpp", thorough=True,
        )  # fmt: skip
        return self._workbench(problem.name).evaluate(request, lambda: False)

    def close_job(self, job_id: str) -> None:
        """Referees stay warm for the next job on the same problem."""

    def close(self) -> None:
        """Free the real workbench."""
        if self._real is not None:
            self._real.close()

    def _workbench(self, name: str) -> Workbench:
        if self._make is None:
            raise MissingError(f"{self._path} lacks a kernel of {name}: run again with --record")
        if self._real is None:
            self._real = self._make()
        return self._real

    def _keep(self, key: str, value: ValidationReport | EvaluationReport) -> None:
        self._table[key] = to_data(value)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self._table, separators=(",", ":"), sort_keys=True)
        draft = self._path.with_suffix(".part")
        draft.write_bytes(gzip.compress(text.encode(), mtime=0))
        draft.replace(self._path)


def kernel_hash(source: str) -> str:
    """Content hash of a candidate's C++: candidates of one kernel differ in their docstrings."""
    return content_hash(kernels(source) or source)


def comparable(report: EvaluationReport, baselines: Baselines) -> EvaluationReport:
    """The report with its latency in the validation's terms: fastest baseline over the interleaved speedup."""
    known = [item.median_us for item in (baselines.eager, baselines.compile) if item is not None]
    if report.latency is None or not report.speedup.best_baseline or not known:
        return report
    median_us = min(known) / report.speedup.best_baseline
    return replace(report, latency=replace(report.latency, median_us=median_us))


def _job(problem: str) -> str:
    return f"table-{problem[:12]}"


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    table: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return table

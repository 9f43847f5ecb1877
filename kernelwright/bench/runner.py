"""Problem by problem: a job, its end, its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kernelwright.bench.jobs import BenchJobs
from kernelwright.bench.results import Results
from kernelwright.bench.rows import BenchRow, refused_row, row_of
from kernelwright.bench.terms import BenchTerms, KeptTerms
from kernelwright.suites.suite import SuiteProblem
from services.domain.candidates import content_hash
from services.domain.errors import ConflictError, ProblemError
from services.domain.jobs import JobStatus
from services.domain.problems import Problem
from services.ports.runtime import Clock


class Watcher(Protocol):
    """Who is told how the bench goes."""

    def started(self, place: str, item: SuiteProblem, job_id: str) -> None:
        """A problem's job runs; `place` is `[3/20]`."""

    def finished(self, place: str, row: BenchRow) -> None:
        """A problem has its row."""


@dataclass(frozen=True, kw_only=True)
class BenchLimits:
    """How far one call goes."""

    device_seconds: float | None = None
    """Device time after which no further problem is begun."""
    retry_failed: bool = False
    """Whether jobs that the machine failed (or somebody cancelled) are tried again."""


@dataclass(frozen=True, kw_only=True)
class BenchEnd:
    """Where one call stopped."""

    remaining: tuple[str, ...]
    """Problems without a row."""
    device_s: float
    """Spent in this call."""


class Bench:
    """Runs the problems of a selection that have no row yet."""

    def __init__(self, jobs: BenchJobs, results: Results, kept: KeptTerms, clock: Clock, watcher: Watcher) -> None:
        self._jobs = jobs
        self._results = results
        self._kept = kept
        self._clock = clock
        self._watcher = watcher

    async def run(self, problems: Sequence[SuiteProblem], limits: BenchLimits) -> BenchEnd:
        """To the end of the problems, or of the device time. Raises `UserError`, `InfrastructureError`."""
        attempts = pending(problems, self._results.rows(), retry_failed=limits.retry_failed)
        wrong = {
            item.key: error for item, _ in attempts if (error := item.refusal or self._fault(item.problem)) is not None
        }
        places = {item.key: f"[{place}/{len(problems)}]" for place, item in enumerate(problems, start=1)}
        spent, done = 0.0, 0
        for item, attempt in attempts:
            if limits.device_seconds is not None and spent >= limits.device_seconds:
                break
            error = wrong.get(item.key)
            if error is not None:
                row = refused_row(item, error, device=self._terms.device, at=self._clock.now())
            else:
                row = await self._solved(item, attempt, places[item.key])
            self._results.keep(row)
            self._watcher.finished(places[item.key], row)
            spent, done = spent + row.device_s.total, done + 1
        return BenchEnd(remaining=tuple(item.key for item, _ in attempts[done:]), device_s=spent)

    @property
    def _terms(self) -> BenchTerms:
        return self._kept.terms

    def _fault(self, problem: Problem) -> ProblemError | None:
        try:
            self._jobs.check(problem)
        except ProblemError as error:
            return error
        return None

    async def _solved(self, item: SuiteProblem, attempt: int, place: str) -> BenchRow:
        job_id = await self._jobs.submit(item.problem, _job_name(self._kept.run, item, attempt))
        self._watcher.started(place, item, job_id)
        facts = await self._jobs.finish(job_id, self._results.kernels(item.key))
        return row_of(
            item,
            facts,
            device=self._terms.device,
            model=self._terms.model,
            attempt=attempt,
            kernel_path=self._results.within(facts.kernel),
        )


def pending(
    problems: Sequence[SuiteProblem], rows: Sequence[BenchRow], *, retry_failed: bool
) -> list[tuple[SuiteProblem, int]]:
    """The problems that have no row yet, each with the number of its attempt; with `retry_failed` also those whose job
    ended without a result. Raises `ConflictError` for a problem whose text is not the one that its row is of."""
    known = {row.key: row for row in rows}
    found: list[tuple[SuiteProblem, int]] = []
    for item in problems:
        row = known.get(item.key)
        if row is None:
            found.append((item, 1))
            continue
        if row.source_hash != item.source_hash:
            raise ConflictError(
                f"{item.problem.path}: has changed since its row was written: name another folder with --out"
            )
        if retry_failed and row.status in (JobStatus.FAILED, JobStatus.CANCELLED):
            found.append((item, row.attempt + 1))
    return found


def _job_name(run: str, item: SuiteProblem, attempt: int) -> str:
    return f"bench-{content_hash(f'{run}/{item.key}/{item.problem.path}/{attempt}')[:40]}"

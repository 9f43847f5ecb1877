"""Jobs of a bench on a server."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from kernelwright.bench.results import replace_text
from kernelwright.bench.rows import JobFacts
from kernelwright.bench.terms import BenchTerms
from services.client import Client
from services.domain import codec
from services.domain.digests import CandidateDigest
from services.domain.errors import InfrastructureError
from services.domain.evaluations import EvaluationReport
from services.domain.events import Event, EventKind
from services.domain.jobs import JobStatus
from services.domain.problems import Problem
from services.domain.usage import Usage
from services.ports.runtime import Clock
from services.problems.lint import lint_problem

POLL_S = 1.0
GIVE_UP_S = 300.0
"""How long a server may be away before waiting for a job ends; a second call goes on."""
_TOLD = frozenset({EventKind.JOB_STATUS, EventKind.JOB_VALIDATED, EventKind.JOB_FINISHED})


class ServerJobs:
    """Has jobs run by a server, one at a time."""

    def __init__(self, client: Client, terms: BenchTerms, clock: Clock) -> None:
        self._client = client
        self._terms = terms
        self._clock = clock

    def check(self, problem: Problem) -> None:
        """Raise `ProblemError`; the server checks the terms with the first job."""
        lint_problem(self._terms.applied(problem))

    async def submit(self, problem: Problem, name: str) -> str:
        """Submit the problem's job. Raises `UserError`, `InfrastructureError`."""
        return str(self._client.submit(self._body(problem), idempotency_key=name)["id"])

    async def finish(self, job_id: str, folder: Path) -> JobFacts:
        """Wait for a job's end. Raises `UserError`, and `InfrastructureError` when the server stays away."""
        job = await self._ended(job_id)
        analysis = job["analysis"] or {"family": None, "operators": []}
        candidates = self._client.candidates(job_id)
        report, kernel = self._judged(job, candidates, folder)
        result = self._client.result(job_id)
        return JobFacts(
            job_id=job_id,
            status=JobStatus(job["status"]),
            message=job["message"],
            family=analysis["family"],
            operators=tuple(analysis["operators"]),
            started_at=_time(job["started_at"]),
            finished_at=_time(job["finished_at"]) or self._clock.now(),
            events=self._events(job_id),
            candidates=tuple(codec.from_data(CandidateDigest, each) for each in candidates),
            best_candidate_id=job["best_candidate_id"],
            report=report,
            rounds=result["rounds"],
            usage=codec.from_data(Usage, result["usage"]),
            kernel=kernel,
        )

    async def _ended(self, job_id: str) -> dict[str, Any]:
        """The job once it has ended; a server that is away for a while is waited for."""
        answered = self._clock.monotonic()
        while True:
            try:
                job = self._client.job(job_id)
                answered = self._clock.monotonic()
                if JobStatus(job["status"]).is_final:
                    return job
            except InfrastructureError:
                if self._clock.monotonic() - answered > GIVE_UP_S:
                    raise
            await self._clock.sleep(POLL_S)

    def _judged(
        self, job: dict[str, Any], candidates: list[dict[str, Any]], folder: Path
    ) -> tuple[EvaluationReport | None, Path | None]:
        """The report of the best candidate, whose kernel is saved, or else of the last one."""
        best = job["best_candidate_id"]
        judged = best or next((each["id"] for each in reversed(candidates) if each["verdict"] is not None), None)
        if judged is None:
            return None, None
        found = self._client.candidate(judged)
        report = codec.from_data(EvaluationReport, found["report"]) if found["report"] else None
        if best is None:
            return report, None
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(folder / "kernel.py", found["source"])
        self._client.save_bundle(job["id"], folder / "bundle.zip")
        return report, folder / "kernel.py"

    def _events(self, job_id: str) -> tuple[Event, ...]:
        """Those that rows are made of."""
        sent = [event.data for event in self._client.events(job_id) if event.kind in _TOLD]
        return tuple(codec.from_data(Event, document) for document in sent)

    def _body(self, problem: Problem) -> dict[str, Any]:
        terms = self._terms
        return {
            "problem": codec.to_data(terms.applied(problem)),
            "backend": terms.backend,
            "device": terms.device,
            "model": terms.model,
            "strategy": terms.strategy,
            "beam": terms.beam,
            "agents": terms.agents.value,
            "verify_first": terms.verify_first,
            "budget": codec.to_data(terms.budget),
            "baselines": list(terms.baselines),
            "compiler_draft": terms.compiler_draft,
        }


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)

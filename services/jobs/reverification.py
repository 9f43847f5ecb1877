"""Judging accepted results again under today's referee, and taking back those that do not hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from services.domain.candidates import content_hash
from services.domain.errors import NotFoundError
from services.domain.evaluations import Environment, EvaluationReport, EvaluationRequest, Verdict
from services.domain.verdicts import StoredVerdict, Verification, outdated
from services.ports.jobs import VerdictStore
from services.ports.memory import MemoryRecords
from services.team_memory.reward import evidence

PAGE = 50
ACTOR = "reverify"
Judge = Callable[[EvaluationRequest], EvaluationReport]
"""Judges a candidate on this machine; blocks."""
Today = Callable[[str, str], Environment | None]
"""What a report of a device and a backend would be made under now; None where this machine cannot judge it."""


@dataclass(frozen=True, kw_only=True)
class Outdated:
    """An accepted result that today's referee has not seen."""

    stored: StoredVerdict
    why: str


class Reverification:
    """Finds accepted results of an older referee or toolchain, judges them again and acts on what is found."""

    def __init__(self, verdicts: VerdictStore, records: MemoryRecords, today: Today) -> None:
        self._verdicts = verdicts
        self._records = records
        self._today = today

    async def outdated(
        self, team_id: str, *, everything: bool = False, job_id: str | None = None
    ) -> tuple[list[Outdated], int]:
        """What to judge again, one problem after the other, and how many results this machine cannot judge.

        `everything` takes results of today's referee too, `job_id` those of one job only."""
        found: list[Outdated] = []
        elsewhere = 0
        async for stored in self._accepted(team_id):
            if job_id not in (None, stored.request.job_id):
                continue
            today = self._today(stored.request.device, stored.request.backend)
            if today is None:
                elsewhere += 1
                continue
            why = outdated(stored.verified, today) or ("asked for" if everything else None)
            if why is not None:
                found.append(Outdated(stored=stored, why=why))
        return sorted(found, key=_by_problem), elsewhere

    async def verify(self, stored: StoredVerdict, judge: Judge) -> Verification:
        """Judge one result again. One that does not hold is marked, and what memory learned from it is retracted.

        Where the machine fails, nothing is changed."""
        report = await asyncio.to_thread(judge, _again(stored.request))
        verification = _verification(stored, report)
        if not verification.is_verdict:
            return verification
        if not await self._verdicts.verified(stored, report, ACTOR) or verification.holds:
            return verification
        reason = f"judged again by referee {report.environment.referee_version}: {verification.evidence}"[:1000]
        try:
            names = await self._records.retract(stored.request.team_id, stored.request.evaluation_id, reason, ACTOR)
        except NotFoundError:  # it taught nothing
            names = ()
        return replace(verification, retracted=names)

    async def _accepted(self, team_id: str) -> AsyncIterator[StoredVerdict]:
        after: str | None = None
        while page := await self._verdicts.accepted(team_id, after=after, limit=PAGE):
            for stored in page:
                yield stored
            after = page[-1].request.evaluation_id


def _by_problem(item: Outdated) -> tuple[str, str]:
    return content_hash(item.stored.request.problem.source), item.stored.request.evaluation_id


def _again(request: EvaluationRequest) -> EvaluationRequest:
    """The same question under a job of its own: candidates of one problem share a referee."""
    return replace(request, job_id=f"reverify-{content_hash(request.problem.source)[:12]}", profile=False)


def _verification(stored: StoredVerdict, report: EvaluationReport) -> Verification:
    request = stored.request
    return Verification(
        evaluation_id=request.evaluation_id,
        candidate_id=request.candidate_id,
        job_id=request.job_id,
        problem=request.problem.name,
        before=stored.verified,
        now=report.environment,
        verdict=report.verdict,
        evidence=_evidence(report),
    )


def _evidence(report: EvaluationReport) -> str:
    if report.accepted:
        return ""
    if report.verdict is Verdict.INFRASTRUCTURE_ERROR:
        return next((gate.detail for gate in report.gates if gate.detail and gate.seconds == 0.0), "the machine failed")
    return evidence(report)

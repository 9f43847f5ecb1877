"""Training data from recorded jobs: multi-turn trajectories with rewards, from verdicts that hold today.

A step counts while its verdict still stands: it was accepted or rejected, judging again has not refuted it, and nobody
retracted what it taught. From an accepted step that fell on, the rest of its job is left out, because later prompts
show its kernel. Steps whose prompts quote another team's memory are left out, and whatever looks like a secret is cut
out of every text. Rewards are recomputed over the remaining steps.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from services.domain.candidates import Candidate, EvaluatedCandidate
from services.domain.chat import AgentRole
from services.domain.codec import to_data
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.events import JsonValue
from services.domain.experiences import ExperienceKind, experience_id
from services.domain.jobs import FINAL_STATUSES, Job, JobFilter, TrainingFormat
from services.domain.steps import ModelCall, Step
from services.jobs.service import JobService
from services.memory.exchange import redact
from services.ports.memory import MemoryRecords
from services.team_memory.reward import reward

PAGE = 100
_VERSION = 1
Document = dict[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class TrainingTurn:
    """A step whose verdict holds."""

    step: Step
    candidate: Candidate
    report: EvaluationReport
    reward: float | None

    @property
    def call(self) -> ModelCall | None:
        """The Coder's call that made the candidate; None where the kernel came with the job."""
        usable = [call for call in self.step.calls if call.role is AgentRole.CODER and call.error is None]
        return usable[-1] if usable else None


class TrajectoryService:
    """The training data of one team."""

    def __init__(self, jobs: JobService, records: MemoryRecords) -> None:
        self._jobs = jobs
        self._records = records

    async def export(self, team_id: str, form: TrainingFormat, *, job_id: str | None = None) -> AsyncIterator[str]:
        """JSON lines, each ended by a newline, of all ended jobs (oldest last) or of one. Raises `NotFoundError`."""
        if job_id is not None:
            await self._jobs.get(team_id, job_id)
        return self._lines(team_id, form, job_id)

    async def _lines(self, team_id: str, form: TrainingFormat, job_id: str | None) -> AsyncIterator[str]:
        retracted = frozenset(await self._records.retracted(team_id))
        async for job in self._ended(team_id, job_id):
            turns = await self._turns(team_id, job, retracted)
            for document in _WRITERS[form](job, turns):
                yield json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"

    async def _ended(self, team_id: str, job_id: str | None) -> AsyncIterator[Job]:
        if job_id is not None:
            job = await self._jobs.get(team_id, job_id)
            if job.status.is_final:
                yield job
            return
        wanted, cursor = JobFilter(statuses=FINAL_STATUSES), None
        while True:
            page = await self._jobs.list(team_id, wanted=wanted, limit=PAGE, cursor=cursor)
            for job in page.jobs:
                yield job
            cursor = page.next_cursor
            if cursor is None:
                return

    async def _turns(self, team_id: str, job: Job, retracted: frozenset[str]) -> tuple[TrainingTurn, ...]:
        """The job's steps that hold, in order, with rewards over them alone."""
        steps = await _steps(self._jobs, team_id, job)
        known = {item.candidate.id: item for item in await self._jobs.candidates(team_id, job.id)}
        used = {name for step in steps for name in step.experiences_used}
        owners = await self._records.owners(sorted(used)) if used else {}
        turns: list[TrainingTurn] = []
        best_us: float | None = None
        for step in steps:
            entry = known.get(step.candidate_id or "")
            if _fell(step, entry, retracted):
                break
            if entry is None or entry.report is None or not _stands(step, entry.report):
                continue
            if any(owners.get(name) != team_id for name in step.experiences_used):
                continue
            earned = reward(step.stage, entry.report, best_us)
            turns.append(TrainingTurn(step=step, candidate=entry.candidate, report=entry.report, reward=earned))
            best_us = _faster(best_us, entry.report)
        return tuple(turns)


async def _steps(jobs: JobService, team_id: str, job: Job) -> tuple[Step, ...]:
    return tuple([(await jobs.step(team_id, job.id, index)).step for index in range(job.steps_done)])


def _fell(step: Step, entry: EvaluatedCandidate | None, retracted: frozenset[str]) -> bool:
    """Whether an accepted step was refuted later, or its experiences retracted."""
    if step.verdict is not Verdict.ACCEPTED or entry is None:
        return False
    taught = {experience_id(entry.candidate.id, kind) for kind in ExperienceKind}
    return entry.report is None or not entry.report.accepted or bool(taught & retracted)


def _stands(step: Step, report: EvaluationReport) -> bool:
    return step.verdict is report.verdict and report.verdict in (Verdict.ACCEPTED, Verdict.REJECTED)


def _faster(best_us: float | None, report: EvaluationReport) -> float | None:
    if not report.accepted or report.latency is None:
        return best_us
    return report.latency.median_us if best_us is None else min(best_us, report.latency.median_us)


def _sft(job: Job, turns: Sequence[TrainingTurn]) -> Iterator[Document]:
    """One conversation: what led to the best kernel; only what was accepted is marked for training."""
    best = next((turn for turn in turns if turn.candidate.id == job.best_candidate_id), None)
    if best is None:
        return
    by_candidate = {turn.candidate.id: turn for turn in turns}
    lineage: list[TrainingTurn] = []
    place: TrainingTurn | None = best
    while place is not None:
        lineage.insert(0, place)
        place = by_candidate.get(place.candidate.parent_id or "")
    spoken = [turn for turn in lineage if turn.call is not None]
    messages = [message for turn in spoken for message in _exchange(turn, first=turn is spoken[0])]
    if any(message["role"] == "assistant" for message in messages):
        yield {**_about(job, TrainingFormat.SFT), "messages": list(messages), "reward": best.reward, **_figures(best)}


def _exchange(turn: TrainingTurn, *, first: bool) -> Iterator[Document]:
    call = turn.call
    if call is None:
        return
    for message in call.prompt:
        if message.role != "system" or first:
            yield {"role": message.role, "content": redact(message.content), "train": False}
    yield {
        "role": "assistant",
        "content": redact(call.reply),
        "train": turn.report.accepted,
        "reward": turn.reward,
        "verdict": turn.report.verdict.value,
    }


def _rl(job: Job, turns: Sequence[TrainingTurn]) -> Iterator[Document]:
    """Every usable call of every step that holds; the step's reward is each of its calls' reward."""
    acts = [_act(turn, call) for turn in turns for call in turn.step.calls if call.error is None]
    if acts:
        total = sum(turn.reward or 0.0 for turn in turns)
        yield {**_about(job, TrainingFormat.RL), "turns": list(acts), "return": total}


def _act(turn: TrainingTurn, call: ModelCall) -> Document:
    return {
        "step": turn.step.index,
        "role": call.role.value,
        "model": call.model,
        "messages": [{"role": item.role, "content": redact(item.content)} for item in call.prompt],
        "reply": redact(call.reply),
        "reward": turn.reward,
        "verdict": turn.report.verdict.value,
        **_figures(turn),
    }


def _preferences(job: Job, turns: Sequence[TrainingTurn]) -> Iterator[Document]:
    """The best answer from each start point against every answer that is worse beyond the noise."""
    groups: dict[str | None, list[TrainingTurn]] = defaultdict(list)
    for turn in turns:
        if turn.call is not None:
            groups[turn.candidate.parent_id].append(turn)
    for group in groups.values():
        chosen = min(group, key=lambda turn: (not turn.report.accepted, _median_us(turn)))
        for other in group:
            if _better(chosen, other):
                yield _pair(job, chosen, other)


def _pair(job: Job, chosen: TrainingTurn, rejected: TrainingTurn) -> Document:
    assert chosen.call is not None
    assert rejected.call is not None
    return {
        **_about(job, TrainingFormat.PREFERENCES),
        "prompt": [{"role": item.role, "content": redact(item.content)} for item in chosen.call.prompt],
        "chosen": {"content": redact(chosen.call.reply), "reward": chosen.reward, **_figures(chosen)},
        "rejected": {"content": redact(rejected.call.reply), "reward": rejected.reward, **_figures(rejected)},
    }


def _better(chosen: TrainingTurn, other: TrainingTurn) -> bool:
    """Accepted against rejected, or faster with intervals that do not meet."""
    if not chosen.report.accepted:
        return False
    if not other.report.accepted:
        return True
    fast, slow = chosen.report.latency, other.report.latency
    return fast is not None and slow is not None and fast.ci95_us[1] < slow.ci95_us[0]


def _median_us(turn: TrainingTurn) -> float:
    return turn.report.latency.median_us if turn.report.latency is not None else float("inf")


def _figures(turn: TrainingTurn) -> Document:
    latency = turn.report.latency
    return {
        "median_us": None if latency is None else latency.median_us,
        "speedup": turn.report.speedup.best_baseline,
    }


def _about(job: Job, form: TrainingFormat) -> Document:
    spec = job.spec
    return {
        "format": form.value,
        "version": _VERSION,
        "job_id": job.id,
        "problem": redact(spec.problem.name),
        "family": job.analysis.family if job.analysis is not None else None,
        "backend": spec.backend,
        "device": spec.device,
        "budget": to_data(spec.budget),
    }


_WRITERS = {TrainingFormat.SFT: _sft, TrainingFormat.RL: _rl, TrainingFormat.PREFERENCES: _preferences}

"""Events: what happened to a job, in order, for people who watch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
"""Anything JSON can hold."""


class EventKind(StrEnum):
    """Kinds of events; the payload's keys are listed beside each."""

    JOB_STATUS = "job.status"  # status, message
    JOB_VALIDATED = "job.validated"  # family, operators, bytes, flops, floor_us, baselines, device, seconds
    STEP_STARTED = "step.started"  # step, stage
    AGENT_STARTED = "agent.started"  # step, agent
    AGENT_DELTA = "agent.delta"  # step, agent, call, part, text
    AGENT_FINISHED = "agent.finished"  # step, agent, summary, tokens, seconds
    CANDIDATE_CREATED = "candidate.created"  # step, candidate_id, parent_id, summary
    EVALUATION_STARTED = "evaluation.started"  # step, candidate_id
    EVALUATION_FINISHED = "evaluation.finished"  # step, candidate_id, verdict, failed_gate, detail, median_us, speedup
    STEP_FINISHED = "step.finished"  # step, stage, verdict, reward, best_candidate_id, best_speedup, failure
    JOB_NOTICE = "job.notice"  # step, message: something works less well than it should, and the job goes on
    JOB_FINISHED = "job.finished"  # status, message, best_candidate_id, speedup, gain, rounds


@dataclass(frozen=True, kw_only=True)
class Event:
    """One entry of a job's log."""

    job_id: str
    seq: int
    """1, 2, 3, … within the job, without gaps; Server-Sent Events use it as `id`."""
    kind: EventKind
    data: dict[str, JsonValue]
    at: datetime

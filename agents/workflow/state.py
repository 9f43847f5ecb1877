"""The graph's state: references and small values only, because every superstep writes it to the database.

Sources, prompts, replies and reports live in the stores; the state names them. Values are plain JSON types, so that
the checkpoint serialiser needs no knowledge of ours.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from services.domain.candidates import Origin


def gather(known: list[dict[str, Any]], more: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the branches of a round brought so far; an empty list begins a new round."""
    return [*known, *more] if more else []


class WorkflowState(TypedDict, total=False):
    """Where a job's workflow stands. Nodes return the keys they change."""

    job_id: str
    validation: str
    """Artefact key of the validation report."""
    step: int
    """Index of the current step, from 0."""
    known: int
    """How many steps were recorded when its round began: all that its agents know of."""
    branch: int
    """Which of the round's candidates the step makes, from 0."""
    width: int
    """How many candidates the round makes at the same time."""
    share: dict[str, float | None] | None
    """What a branch may spend (tokens, dollars, device_s); None where the step has the whole budget to itself."""
    round: list[dict[str, Any]]
    """The states that the branches of a round begin with; empty for a round of one step."""
    branches: Annotated[list[dict[str, Any]], gather]
    """The states that the branches of the round ended with."""
    next_width: int
    """How wide the next round may be: a beam is narrowed when branches ran out of ideas or of their share."""
    stage: str
    """The step's stage as text."""
    started_at: str
    """When the step began, ISO 8601."""
    origin: str | None
    """Where the step's kernel comes from (`Origin`) if it comes ready; None where the agents write one."""
    start_step: int | None
    """Index of the step whose candidate this one starts from."""
    holdout: bool
    """Whether the step runs without memory, to measure what memory is worth."""
    recalled: list[tuple[str, float, float | None]]
    """Experiences in the context: id, similarity, value."""
    calls: list[str]
    """Artefact keys of the step's model calls so far."""
    attempt: int
    """0 for an agent's first call in the step, 1 for its repair turn."""
    plan: str | None
    """Artefact key of the plan."""
    candidate_id: str | None
    repeats: int | None
    """Index of the step whose very source the step's candidate is; it is not judged again."""
    verdict: str | None
    diagnosis: str | None
    """The Profiler's bottleneck class."""
    metrics: list[str]
    """The counters that the Profiler selected."""
    findings: str | None
    """What the Profiler concluded, bounded."""
    leads: bool
    """Whether the candidate is accepted and the fastest so far."""
    critique: str | None
    """The Judge's words, bounded."""
    doubt: str | None
    """Why the Judge, as a second opinion, holds an accepted candidate for a cheat."""
    failure: str | None
    """Why the step made no candidate."""
    stop: str | None
    """Why the job ends after this step; None to go on."""


class BranchOutput(TypedDict):
    """What a branch hands back to the round."""

    branches: Annotated[list[dict[str, Any]], gather]


def fresh_step(
    step: int, stage: str, start_step: int | None, started_at: str, origin: Origin | None = None
) -> WorkflowState:
    """The part of the state that a new step begins with, alone in its round."""
    return WorkflowState(
        step=step,
        known=step,
        branch=0,
        width=1,
        share=None,
        stage=stage,
        started_at=started_at,
        origin=origin.value if origin is not None else None,
        start_step=start_step,
        holdout=False,
        recalled=[],
        calls=[],
        attempt=0,
        plan=None,
        candidate_id=None,
        repeats=None,
        verdict=None,
        diagnosis=None,
        metrics=[],
        findings=None,
        leads=False,
        critique=None,
        doubt=None,
        failure=None,
        stop=None,
    )

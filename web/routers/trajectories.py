"""Training: data from recorded jobs, and evaluations in batches as a training environment."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, computed_field
from starlette.responses import StreamingResponse

from services.domain.errors import NotFoundError
from services.domain.jobs import EVALUATE_ONLY, Stage, TrainingFormat
from services.jobs.service import evaluation_spec
from services.team_memory.reward import reward
from web.audited import AuditedRoute, note_subject
from web.context import Services, Team, WebServices, WritingTeam
from web.errors import responses
from web.routers.requests import Wait
from web.schemas.base import Body, Name, Page, formerly
from web.schemas.candidates import EvaluationBody, EvaluationView

router = APIRouter(route_class=AuditedRoute)
NDJSON = "application/x-ndjson"
MAX_BATCH = 256
POLL_S = 0.25


class BatchItem(EvaluationBody):
    """One evaluation of a batch."""

    idempotency_key: Name | None = None
    """The same key and content again give the first one's evaluation."""


class BatchBody(Body):
    """Evaluations to be queued together."""

    evaluations: Annotated[tuple[BatchItem, ...], Field(min_length=1, max_length=MAX_BATCH)]


class RewardedView(EvaluationView):
    """An evaluation as a step of a training environment."""

    reward: float | None
    """+1 accepted, -1 rejected; null where it earns nothing: suspicious, the machine's fault, or not ended."""


class BatchView(Page[RewardedView]):
    """Evaluations in the order in which they were asked for."""

    pending: int
    """How many have not ended."""

    @computed_field(**formerly("the same as `items`"))  # type: ignore[prop-decorator]
    @property
    def evaluations(self) -> tuple[RewardedView, ...]:
        """The field's old name."""
        return self.items


@router.get(
    "/trajectories",
    tags=["training"],
    response_class=Response,
    responses={200: {"content": {NDJSON: {}}}, **responses(404, 422, 503)},
)
async def export_trajectories(
    team: Team,
    services: Services,
    form: Annotated[TrainingFormat, Query(alias="format")] = TrainingFormat.RL,
    job: Annotated[str | None, Query(max_length=200)] = None,
) -> StreamingResponse:
    """Multi-turn trajectories with rewards as JSON lines: only from verdicts that hold, without secrets and without
    what other teams' memories said."""
    lines = await services.trajectories.export(team, form, job_id=job)
    return StreamingResponse(lines, media_type=NDJSON)


@router.post("/evaluations/batch", status_code=202, tags=["evaluations"], responses=responses(409, 422, 503))
async def submit_evaluations(body: BatchBody, team: WritingTeam, services: Services, request: Request) -> BatchView:
    """Queue many evaluations; all are checked first, so that a mistake in one queues none."""
    specs = [evaluation_spec(item.spec(), item.candidate) for item in body.evaluations]
    for spec in specs:
        services.jobs.check(spec)
    ids = []
    for item, spec in zip(body.evaluations, specs, strict=True):
        job, _new = await services.jobs.submit(team, spec, idempotency_key=item.idempotency_key)
        ids.append(job.id)
    note_subject(request, " ".join(ids))
    return await _batch(team, services, ids)


@router.get("/evaluations", tags=["evaluations"], responses=responses(404, 422, 503))
async def wait_for_evaluations(
    team: Team,
    services: Services,
    ids: Annotated[list[str], Query(alias="id", min_length=1, max_length=MAX_BATCH)],
    wait_s: Wait = 0,
) -> BatchView:
    """Evaluations with report and reward; with `wait_s` it waits until all have ended (long poll)."""
    deadline = asyncio.get_running_loop().time() + wait_s
    while True:
        found = await _batch(team, services, ids)
        left = deadline - asyncio.get_running_loop().time()
        if not found.pending or left <= 0 or services.stopping.is_set():
            return found
        await asyncio.sleep(min(POLL_S, left))


async def _batch(team: str, services: WebServices, ids: list[str]) -> BatchView:
    views = tuple([await _view(team, services, item) for item in ids])
    return BatchView(items=views, pending=sum(not view.status.is_final for view in views))


async def _view(team: str, services: WebServices, evaluation_id: str) -> RewardedView:
    job = await services.jobs.get(team, evaluation_id)
    if EVALUATE_ONLY not in job.spec.tags:
        raise NotFoundError(f"no evaluation {evaluation_id}")
    candidates = await services.jobs.candidates(team, job.id) if job.status.is_final else ()
    report = candidates[0].report if candidates else None
    return RewardedView(
        id=job.id, status=job.status, message=job.message, report=report, reward=reward(Stage.DRAFT, report, None)
    )

"""Candidates, what changed between two of them, and evaluations without a search."""

from __future__ import annotations

import difflib
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.responses import PlainTextResponse

from services.domain.errors import NotFoundError
from services.domain.jobs import EVALUATE_ONLY, Job
from services.jobs.machine_code import read_listing, read_profiler_file
from services.jobs.service import evaluation_spec
from web.audited import AuditedRoute, note_subject
from web.context import Services, Team, WebServices, WritingTeam
from web.errors import responses
from web.schemas.candidates import CandidateView, EvaluationBody, EvaluationView

router = APIRouter(route_class=AuditedRoute)
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]


@router.get("/candidates/{candidate_id}", tags=["candidates"], responses=responses(404, 422, 503))
async def get_candidate(candidate_id: str, team: Team, services: Services) -> CandidateView:
    """One candidate with its source and report."""
    return CandidateView.of_entry(await services.jobs.candidate(team, candidate_id))


@router.get(
    "/candidates/{candidate_id}/diff",
    tags=["candidates"],
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/x-diff": {}}}, **responses(404, 422, 503)},
)
async def diff_candidates(
    candidate_id: str,
    team: Team,
    services: Services,
    against: Annotated[str | None, Query(max_length=200, description="default: its parent")] = None,
) -> PlainTextResponse:
    """A unified diff from another candidate to this one."""
    new = (await services.jobs.candidate(team, candidate_id)).candidate
    base = against or new.parent_id
    if base is None:
        raise NotFoundError(f"candidate {candidate_id} has no parent: name another one with ?against=")
    old = (await services.jobs.candidate(team, base)).candidate
    lines = difflib.unified_diff(
        old.source.splitlines(keepends=True), new.source.splitlines(keepends=True), f"{old.id}.py", f"{new.id}.py"
    )
    return PlainTextResponse("".join(lines), media_type="text/x-diff")


@router.get(
    "/candidates/{candidate_id}/listing",
    tags=["candidates"],
    response_class=PlainTextResponse,
    responses=responses(404, 422, 503),
)
async def get_listing(
    candidate_id: str,
    team: Team,
    services: Services,
    form: Annotated[Literal["machine", "ptx"], Query(description="`ptx` for kernels that go through it")] = "machine",
) -> PlainTextResponse:
    """The machine code of a candidate's own functions; 404 says why there is none, and what would enable it.

    Where lines are known, `; line 7` stands before what belongs to line 7 of the source."""
    report = (await services.jobs.candidate(team, candidate_id)).report
    return PlainTextResponse(await read_listing(team, report, services.artefacts, ptx=form == "ptx"))


@router.get(
    "/candidates/{candidate_id}/profile",
    tags=["candidates"],
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}, **responses(404, 422, 503)},
)
async def get_profiler_file(candidate_id: str, team: Team, services: Services) -> Response:
    """The profiler's own file (Nsight Compute's `.ncu-rep`, for its viewer); 404 says why there is none."""
    report = (await services.jobs.candidate(team, candidate_id)).report
    name, content = await read_profiler_file(team, report, services.artefacts)
    headers = {"Content-Disposition": f'attachment; filename="{candidate_id}-{name}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


@router.post("/evaluations", status_code=202, tags=["evaluations"], responses=responses(409, 422, 503))
async def submit_evaluation(
    body: EvaluationBody,
    team: WritingTeam,
    services: Services,
    request: Request,
    response: Response,
    idempotency_key: Key = None,
) -> EvaluationView:
    """Have a candidate judged, without any search: a job whose only round is the given candidate."""
    spec = evaluation_spec(body.spec(), body.candidate)
    job, _new = await services.jobs.submit(team, spec, idempotency_key=idempotency_key)
    response.headers["Location"] = f"/api/v1/evaluations/{job.id}"
    note_subject(request, job.id)
    return await _view(team, services, job)


@router.get("/evaluations/{evaluation_id}", tags=["evaluations"], responses=responses(404, 422, 503))
async def get_evaluation(evaluation_id: str, team: Team, services: Services) -> EvaluationView:
    """An evaluation; its report is null until it is there."""
    job = await services.jobs.get(team, evaluation_id)
    if EVALUATE_ONLY not in job.spec.tags:
        raise NotFoundError(f"no evaluation {evaluation_id}")
    return await _view(team, services, job)


async def _view(team: str, services: WebServices, job: Job) -> EvaluationView:
    candidates = await services.jobs.candidates(team, job.id)
    report = candidates[0].report if candidates else None
    return EvaluationView(id=job.id, status=job.status, message=job.message, report=report)

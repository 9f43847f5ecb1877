"""Jobs: submit, list, steer, and read what they made."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from services.domain.candidates import Population
from services.domain.deletion import Deletion
from services.domain.digests import JobCosts, RecordedStep, StepDigest
from services.domain.errors import NotFoundError
from services.domain.jobs import ExportFormat, Job, JobFilter, JobSpec, JobStatus
from services.jobs.service import ResultDocument
from web.audited import AuditedRoute, note_subject
from web.context import AdminTeam, Caller, Services, Team, WebServices, WritingTeam
from web.errors import responses
from web.schemas.base import Page, page
from web.schemas.candidates import CandidateSummary, CandidateView
from web.schemas.jobs import JobBody, JobPageView, JobView, ResumeBody

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=AuditedRoute)
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]


@router.post("", status_code=201, responses={200: {"model": JobView}, **responses(409, 422, 503)})
async def submit_job(
    body: JobBody,
    team: WritingTeam,
    services: Services,
    request: Request,
    response: Response,
    idempotency_key: Key = None,
) -> JobView:
    """Submit a job. With the same `Idempotency-Key` and body, the first one's job comes back (200)."""
    job, new = await services.jobs.submit(
        team, body.spec(compiler_draft=services.compiler_draft), idempotency_key=idempotency_key
    )
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    note_subject(request, job.id)
    return await _view(team, services, job)


@router.get("", responses=responses(422, 503))
async def list_jobs(
    team: Team,
    services: Services,
    status: Annotated[list[JobStatus], Query(max_length=16, description="any of these")] = [],  # noqa: B006 -- FastAPI copies it
    q: Annotated[str, Query(max_length=200, description="words in the id, the names or the tags")] = "",
    tag: Annotated[list[str], Query(max_length=32, description="all of these")] = [],  # noqa: B006
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=500)] = None,
) -> JobPageView:
    """Jobs, newest first."""
    wanted = JobFilter(statuses=frozenset(status), text=q, tags=tuple(tag))
    found = await services.jobs.list(team, wanted=wanted, limit=limit, cursor=cursor)
    speedups = await services.jobs.speedups(team, found.jobs)
    views = tuple(JobView.of(job, speedups.get(job.id)) for job in found.jobs)
    return JobPageView(items=views, next_cursor=found.next_cursor)


@router.get("/{job_id}", responses=responses(404, 410, 422, 503))
async def get_job(job_id: str, team: Team, services: Services) -> JobView:
    """One job."""
    return await _view(team, services, await services.jobs.get(team, job_id))


@router.post("/{job_id}/cancel", responses=responses(404, 409, 410, 422, 503))
async def cancel_job(job_id: str, team: WritingTeam, services: Services) -> JobView:
    """Stop a job; what it found stays."""
    return await _view(team, services, await services.jobs.cancel(team, job_id))


@router.post("/{job_id}/pause", responses=responses(404, 409, 410, 422, 503))
async def pause_job(job_id: str, team: WritingTeam, services: Services) -> JobView:
    """Pause a job after its current step."""
    return await _view(team, services, await services.jobs.pause(team, job_id))


@router.post("/{job_id}/resume", responses=responses(404, 409, 410, 422, 503))
async def resume_job(job_id: str, team: WritingTeam, services: Services, body: ResumeBody | None = None) -> JobView:
    """Let a paused or failed job go on, with another model or number of rounds where the body names them."""
    wanted = body or ResumeBody()
    job = await services.jobs.resume(team, job_id, model=wanted.model, rounds=wanted.rounds)
    return await _view(team, services, job)


@router.delete("/{job_id}", responses=responses(404, 409, 410, 422, 503))
async def delete_job(job_id: str, team: AdminTeam, caller: Caller, services: Services) -> Deletion:
    """Remove a job that has ended, with everything that came from it: candidates, steps, events, what it taught, and
    sources and artefacts that nothing else uses. A job that goes on answers 409, a deleted one 410."""
    return await services.jobs.delete(team, job_id, caller.actor)


@router.get("/{job_id}/result", responses=responses(404, 410, 422, 503))
async def get_result(job_id: str, team: Team, services: Services) -> ResultDocument:
    """The job's result document; paths are null, for nothing was exported."""
    return await services.jobs.result(team, job_id)


@router.get("/{job_id}/candidates", responses=responses(404, 410, 422, 503))
async def list_candidates(job_id: str, team: Team, services: Services) -> Page[CandidateSummary]:
    """A job's candidates in order of their steps."""
    return page(CandidateSummary.model_validate(digest) for digest in await services.jobs.digests(team, job_id))


@router.get("/{job_id}/population", responses=responses(404, 410, 422, 503))
async def get_population(job_id: str, team: Team, services: Services) -> Population:
    """The accepted candidates where the job's strategy sees them: on islands, and in cells of kernels alike."""
    job = await services.jobs.get(team, job_id)
    return services.populations(job.spec.strategy, await services.jobs.candidates(team, job_id))


@router.get("/{job_id}/children", responses=responses(404, 410, 422, 503))
async def list_children(job_id: str, team: Team, services: Services) -> Page[JobView]:
    """The jobs that work for this one and share its budget, oldest first."""
    found = await services.jobs.children(team, job_id)
    speedups = await services.jobs.speedups(team, found)
    return page(JobView.of(job, speedups.get(job.id)) for job in found)


@router.get("/{job_id}/spec", responses=responses(404, 410, 422, 503))
async def get_spec(job_id: str, team: Team, services: Services) -> JobSpec:
    """What was asked for, sources included: a body for `POST /jobs` to start from."""
    return (await services.jobs.get(team, job_id)).spec


@router.get("/{job_id}/steps", responses=responses(404, 410, 422, 503))
async def list_steps(job_id: str, team: Team, services: Services) -> Page[StepDigest]:
    """A job's steps in order, with their model calls but without prompts and replies."""
    return page(await services.jobs.step_digests(team, job_id))


@router.get("/{job_id}/steps/{index}", responses=responses(404, 410, 422, 503))
async def get_step(
    job_id: str, index: Annotated[int, Path(ge=0, lt=1 << 31)], team: Team, services: Services
) -> RecordedStep:
    """One step: each model call with prompt and reply, and the experiences it used with their values."""
    return await services.jobs.step(team, job_id, index)


@router.get("/{job_id}/costs", responses=responses(404, 410, 422, 503))
async def get_costs(job_id: str, team: Team, services: Services) -> JobCosts:
    """Tokens, dollars and time by agent and model, and the workers' time."""
    return await services.jobs.costs(team, job_id)


@router.get("/{job_id}/best", responses=responses(404, 410, 422, 503))
async def get_best(job_id: str, team: Team, services: Services) -> CandidateView:
    """The best accepted candidate so far, with source and report; 404 while there is none."""
    best = await services.jobs.best(team, job_id)
    if best is None:
        raise NotFoundError(f"job {job_id} has no accepted candidate")
    return CandidateView.of_entry(best)


@router.get(
    "/{job_id}/trajectory",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/jsonl": {}}}, **responses(404, 410, 422, 503)},
)
async def get_trajectory(job_id: str, team: Team, services: Services) -> StreamingResponse:
    """The job's steps as JSON lines."""
    lines = await services.jobs.trajectory(team, job_id)
    return StreamingResponse(lines, media_type="application/jsonl")


@router.get(
    "/{job_id}/bundle",
    response_class=Response,
    responses={200: {"content": {"application/zip": {}}}, **responses(404, 409, 410, 422, 503)},
)
async def get_bundle(
    job_id: str,
    team: Team,
    services: Services,
    form: Annotated[ExportFormat, Query(alias="format")] = ExportFormat.BUNDLE,
) -> Response:
    """A zip archive: `bundle` has the kernel, a test and a benchmark that run alone with torch, and all evidence;
    `package` is pip-installable, `kernel-builder` a Hugging Face source tree, `gpu-mode` one file for a leaderboard."""
    archive = await services.exporter.to_archive(team, job_id, form)
    name = job_id if form is ExportFormat.BUNDLE else f"{job_id}-{form.value}"
    headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    return Response(archive, media_type="application/zip", headers=headers)


async def _view(team: str, services: WebServices, job: Job) -> JobView:
    return JobView.of(job, (await services.jobs.speedups(team, [job])).get(job.id))

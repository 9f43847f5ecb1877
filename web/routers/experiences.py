"""The team's memory: look into it, measure what it does, take experiences back, carry them elsewhere."""

from __future__ import annotations

import io
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from services.domain.evaluations import Verdict
from services.domain.experiences import ExperienceFilter, ExperienceKind
from services.team_memory.service import ImportRefusedError
from web.audited import AuditedRoute
from web.context import Admin, Services, Team, Writer
from web.errors import problem_response, responses
from web.schemas.base import Page, page
from web.schemas.memory import (
    AuditView,
    EffectView,
    ExperiencePageView,
    ExperienceView,
    FoundExperienceView,
    ImportView,
    PracticeView,
    ProvenanceView,
    RetractBody,
    RetractionView,
    ShareView,
)

router = APIRouter(prefix="/experiences", tags=["experiences"], route_class=AuditedRoute)
NDJSON = "application/x-ndjson"
_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": {NDJSON: {"schema": {"type": "string"}}}}}
Key = Annotated[str | None, Query(max_length=200)]
Reader = Annotated[str, Path(max_length=200)]


@router.get("", responses=responses(404, 422, 503))
async def list_experiences(
    team: Team,
    services: Services,
    kind: ExperienceKind | None = None,
    family: Key = None,
    backend: Key = None,
    verdict: Verdict | None = None,
    job: Key = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> ExperiencePageView:
    """The team's experiences with their learned values, newest first."""
    wanted = ExperienceFilter(kind=kind, family=family, backend=backend, verdict=verdict, job_id=job)
    return ExperiencePageView.of(await services.experiences.page(team, wanted, limit=limit, cursor=cursor))


@router.get("/search", responses=responses(404, 422, 503))
async def search_experiences(
    team: Team,
    services: Services,
    q: Annotated[str, Query(min_length=1, max_length=4000)],
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> Page[FoundExperienceView]:
    """The nearest experiences to a text, those of teams that share theirs included."""
    return page(FoundExperienceView.found(item) for item in await services.experiences.search(team, q, limit))


@router.get("/effect", responses=responses(404, 503))
async def memory_effect(team: Team, services: Services, backend: Key = None) -> EffectView:
    """What memory does to success, rounds and speedup: steps with it against steps held out, 95 % intervals."""
    return EffectView.model_validate(await services.experiences.effect(team, backend))


@router.get("/effects", responses=responses(404, 503))
async def memory_effects(team: Team, services: Services) -> dict[str, EffectView]:
    """The same for each backend that the team has used."""
    found = await services.experiences.effects(team)
    return {backend: EffectView.model_validate(effect) for backend, effect in found.items()}


@router.get("/practices", responses=responses(404, 503))
async def learned_practices(team: Team, services: Services) -> Page[PracticeView]:
    """What jobs taught the team: every version of every practice, newest first, with its worth by its uses."""
    return page(PracticeView.of(item) for item in await services.experiences.practices(team))


@router.get("/shares", responses=responses(404, 503))
async def list_shares(team: Team, services: Services) -> Page[ShareView]:
    """Which teams recall this team's experiences, and whose experiences it recalls."""
    return page(ShareView.model_validate(share) for share in await services.experiences.shares(team))


@router.put("/shares/{reader}", status_code=204, responses=responses(404, 422, 503))
async def share_experiences(reader: Reader, caller: Admin, services: Services) -> None:
    """Let another team recall this team's experiences."""
    await services.experiences.share(caller.team_id, reader, caller.signed("api"))


@router.delete("/shares/{reader}", status_code=204, responses=responses(404, 422, 503))
async def unshare_experiences(reader: Reader, caller: Admin, services: Services) -> None:
    """Take that back; harmless where it was not granted."""
    await services.experiences.unshare(caller.team_id, reader, caller.signed("api"))


@router.get("/audit", responses=responses(404, 422, 503))
async def memory_audit(
    team: Team, services: Services, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> Page[AuditView]:
    """What was changed by hand, latest first."""
    return page(AuditView.model_validate(action) for action in await services.experiences.audit(team, limit))


@router.get("/export", response_class=Response, responses={200: {"content": {NDJSON: {}}}, **responses(404, 503)})
async def export_experiences(team: Team, services: Services) -> StreamingResponse:
    """The memory as JSON lines with vectors and values, without secrets."""
    return StreamingResponse(await services.experiences.export(team), media_type=NDJSON)


@router.post("/import", response_model=ImportView, responses=responses(404, 422, 503), openapi_extra=_BODY)
async def import_experiences(request: Request, caller: Writer, services: Services) -> Any:
    """Take in JSON lines that another memory exported; nothing when a line is refused (422 with every reason)."""
    memory = services.experiences
    try:
        new = await memory.import_(caller.team_id, io.BytesIO(await request.body()), caller.signed("api"))
    except ImportRefusedError as error:
        faults = [{"line": refusal.line, "reason": refusal.reason} for refusal in error.refusals]
        return problem_response(422, str(error), errors=faults)
    return ImportView(imported=new)


@router.get("/{experience_id}", responses=responses(404, 422, 503))
async def get_experience(experience_id: str, team: Team, services: Services) -> ExperienceView:
    """One experience with its value history and the steps that used it."""
    return ExperienceView.of_card(await services.experiences.show(team, experience_id))


@router.get("/{experience_id}/provenance", responses=responses(404, 422, 503))
async def get_provenance(experience_id: str, team: Team, services: Services) -> ProvenanceView:
    """What an experience was derived from and what came of it: a graph of bounded size, of what the team owns."""
    return ProvenanceView.model_validate(await services.experiences.provenance(team, experience_id))


@router.post("/{subject}/retract", responses=responses(404, 422, 503))
async def retract_experience(subject: str, body: RetractBody, caller: Admin, services: Services) -> RetractionView:
    """Take back an experience, or all that a candidate or evaluation taught, and undo every credit it gave."""
    retracted = await services.experiences.retract(caller.team_id, subject, body.reason, caller.signed(body.actor))
    return RetractionView(subject=subject, experiences=retracted)

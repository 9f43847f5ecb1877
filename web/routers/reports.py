"""A job's report as one page: for its team, and for anyone with a link."""

from __future__ import annotations

import html
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field

from services.domain.errors import NotFoundError
from web.audited import AuditedRoute, note_subject
from web.context import Services, Team, WritingTeam
from web.errors import responses
from web.schemas.base import Body, Page, View, page

router = APIRouter(prefix="/jobs/{job_id}", tags=["reports"], route_class=AuditedRoute)
public = APIRouter(tags=["reports"])
SHARED = "/shared/"
PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Of a page that loads nothing and runs nothing."""
_PAGE: dict[int | str, dict[str, Any]] = {200: {"content": {"text/html": {}}}}


class ReportShareBody(Body):
    """A new link."""

    days: Annotated[float, Field(gt=0, le=365, allow_inf_nan=False)] = 7
    """How long it works."""


class ReportShareView(View):
    """A link to a report, without its token."""

    id: str
    job_id: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


class NewReportShareView(ReportShareView):
    """A link that was just made: the only time that its address is told."""

    path: str
    """Address of the page on this server; needs no sign-in."""


@router.get("/report", response_class=HTMLResponse, responses={**_PAGE, **responses(404, 410, 422, 503)})
async def get_report(job_id: str, team: Team, services: Services) -> Response:
    """The job's report as one HTML file: no scripts, nothing loaded from elsewhere."""
    disposition = f'attachment; filename="{job_id}.html"'
    return _page(await services.exporter.to_page(team, job_id), {"Content-Disposition": disposition})


@router.post("/shares", status_code=201, responses=responses(404, 409, 410, 422, 503))
async def create_report_share(
    job_id: str, team: WritingTeam, services: Services, request: Request, body: ReportShareBody | None = None
) -> NewReportShareView:
    """Create a link that shows this job's report, and nothing else, without signing in."""
    share, token = await services.shares.create(team, job_id, (body or ReportShareBody()).days)
    note_subject(request, f"{job_id} {share.id}")
    return NewReportShareView(**ReportShareView.model_validate(share).model_dump(), path=f"{SHARED}{token}")


@router.get("/shares", responses=responses(404, 410, 422, 503))
async def list_report_shares(job_id: str, team: Team, services: Services) -> Page[ReportShareView]:
    """The job's links, newest first, including revoked and expired ones."""
    return page(ReportShareView.model_validate(share) for share in await services.shares.list(team, job_id))


@router.delete("/shares/{share_id}", responses=responses(404, 410, 422, 503))
async def revoke_report_share(
    job_id: str, share_id: str, team: WritingTeam, services: Services, request: Request
) -> ReportShareView:
    """Revoke a link at once; repeating this is harmless."""
    note_subject(request, f"{job_id} {share_id}")
    return ReportShareView.model_validate(await services.shares.revoke(team, job_id, share_id))


@public.get(SHARED + "{token}", response_class=HTMLResponse, include_in_schema=False)
async def shared_report(token: str, services: Services) -> Response:
    """The report behind a link, without signing in."""
    try:
        return _page(await services.shares.page(token))
    except NotFoundError as error:
        return _page(_CLOSED.format(message=html.escape(str(error))), status=404)


_UNKEPT = {"Cache-Control": "no-store", "X-Robots-Tag": "noindex"}


_CLOSED = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Link not available · Kernelwright</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 15vh auto; padding: 0 1rem }}</style>
</head>
<body>
<main>
<h1>Link not available</h1>
<p>{message}</p>
</main>
</body>
</html>
"""


def _page(text: str, headers: dict[str, str] | None = None, status: int = 200) -> Response:
    own = {"Content-Security-Policy": PAGE_POLICY, **_UNKEPT, **(headers or {})}
    return HTMLResponse(text, status_code=status, headers=own)

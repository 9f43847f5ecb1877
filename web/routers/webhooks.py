"""Webhooks: who is told of the team's events, and the log of what was told."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.domain.events import EventKind
from services.domain.jobs import JobStatus
from services.domain.webhooks import MOST_TAGS, DeliveryStatus, WebhookConditions
from web.audited import AuditedRoute, note_subject
from web.context import AdminTeam, Services
from web.errors import responses
from web.schemas.base import Body, Name, Page, View, page

router = APIRouter(prefix="/webhooks", tags=["webhooks"], route_class=AuditedRoute)


class ConditionsBody(Body):
    """When a webhook fires. All that is given must hold."""

    statuses: Annotated[tuple[JobStatus, ...], Field(max_length=16)] = ()
    """Any of these states of the job; for `job.status` and `job.finished`."""
    min_speedup: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    """Least speedup over the fastest baseline; for `job.finished`, `step.finished` and `evaluation.finished`."""
    faster: bool = False
    """Only kernels that are faster with their whole 95 % interval; for `job.finished` and `evaluation.finished`."""
    first_place: bool = False
    """Only jobs that take the first place on the leaderboard for their problem and device; for `job.finished`."""
    tags: Annotated[tuple[Name, ...], Field(max_length=MOST_TAGS)] = ()
    """All of these are the job's."""

    def conditions(self) -> WebhookConditions:
        """The domain's form."""
        return WebhookConditions(**self.model_dump())


class WebhookBody(Body):
    """A new webhook."""

    url: Annotated[str, Field(min_length=1, max_length=2000)]
    """Where messages are posted to."""
    kinds: Annotated[tuple[EventKind, ...], Field(min_length=1, max_length=16)] = (EventKind.JOB_FINISHED,)
    """What it is told of."""
    conditions: ConditionsBody = ConditionsBody()
    """Which of these events."""


class WebhookSwitch(Body):
    """A webhook on or off."""

    enabled: bool


class WebhookView(View):
    """A webhook, without its secret."""

    id: str
    url: str
    kinds: tuple[EventKind, ...]
    conditions: WebhookConditions
    enabled: bool
    note: str | None
    """Why the server switched it off, where it did."""
    created_at: datetime


class NewWebhookView(WebhookView):
    """A webhook that was just made: the only time that its secret is told."""

    secret: str
    """`whsec_…`, the key that its messages are signed with."""


class DeliveryView(View):
    """One message and how far it got."""

    id: str
    """Its `webhook-id`, the same at every attempt."""
    job_id: str | None
    kind: str
    status: DeliveryStatus
    attempts: int
    answer: int | None
    """HTTP status of the last attempt."""
    fault: str | None
    created_at: datetime
    due_at: datetime
    """When it is tried next, while it is pending."""
    ended_at: datetime | None
    body: str


@router.post("", status_code=201, responses=responses(404, 422, 503))
async def create_webhook(body: WebhookBody, team: AdminTeam, services: Services, request: Request) -> NewWebhookView:
    """Tell an address of the team's events from now on. Messages are signed as Standard Webhooks says."""
    made = await services.webhooks.create(team, body.url, body.kinds, body.conditions.conditions())
    note_subject(request, made.id)
    return NewWebhookView.model_validate(made)


@router.get("", responses=responses(404, 503))
async def list_webhooks(team: AdminTeam, services: Services) -> Page[WebhookView]:
    """The team's webhooks, oldest first."""
    return page(WebhookView.model_validate(webhook) for webhook in await services.webhooks.list(team))


@router.patch("/{webhook_id}", responses=responses(404, 422, 503))
async def switch_webhook(webhook_id: str, body: WebhookSwitch, team: AdminTeam, services: Services) -> WebhookView:
    """Switch a webhook on or off; while off it is told of nothing, and what happens meanwhile is not told later."""
    return WebhookView.model_validate(await services.webhooks.enable(team, webhook_id, enabled=body.enabled))


@router.delete("/{webhook_id}", status_code=204, responses=responses(404, 422, 503))
async def remove_webhook(webhook_id: str, team: AdminTeam, services: Services) -> Response:
    """Remove a webhook with its log."""
    await services.webhooks.remove(team, webhook_id)
    return Response(status_code=204)


@router.post("/{webhook_id}/test", status_code=202, responses=responses(404, 422, 503))
async def try_webhook(webhook_id: str, team: AdminTeam, services: Services) -> DeliveryView:
    """Send a message of type `webhook.test`."""
    return DeliveryView.model_validate(await services.webhooks.check(team, webhook_id))


@router.get("/{webhook_id}/deliveries", responses=responses(404, 422, 503))
async def list_deliveries(
    webhook_id: str, team: AdminTeam, services: Services, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> Page[DeliveryView]:
    """What was sent or is to be sent, newest first; ends are kept for 30 days."""
    return page(DeliveryView.model_validate(one) for one in await services.webhooks.deliveries(team, webhook_id, limit))


@router.post("/{webhook_id}/deliveries/{delivery_id}/resend", status_code=202, responses=responses(404, 422, 503))
async def resend_delivery(webhook_id: str, delivery_id: str, team: AdminTeam, services: Services) -> DeliveryView:
    """Send a message once more, under its own id."""
    return DeliveryView.model_validate(await services.webhooks.resend(team, webhook_id, delivery_id))

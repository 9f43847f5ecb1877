"""A job's events as Server-Sent Events, resumable by `Last-Event-ID`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException

from services.domain import codec
from services.domain.events import Event, EventKind
from services.ports import EventLog
from web.context import Services, Team
from web.errors import responses
from web.schemas import EventView

router = APIRouter(prefix="/jobs", tags=["jobs"])
SEEN_ALL = {"description": "The job has ended, and the caller has seen its last event."}


async def start_after(
    job_id: str,
    team: Team,
    services: Services,
    last_event_id: Annotated[int | None, Header(alias="Last-Event-ID", ge=0, lt=1 << 31)] = None,
    after: Annotated[int, Query(ge=0, lt=1 << 31)] = 0,
) -> int:
    """The last event the caller has seen; 204 when that was the job's last one, so that browsers stop reconnecting."""
    await services.jobs.get(team, job_id)
    seen = after if last_event_id is None else last_event_id
    last = await services.events.read(job_id, seen - 1, 1) if seen > 0 else ()
    ended = bool(last) and last[0].seq == seen and last[0].kind is EventKind.JOB_FINISHED
    if ended and not await services.events.read(job_id, seen, 1):
        raise HTTPException(204)
    return seen


@router.get(
    "/{job_id}/events", response_class=EventSourceResponse, responses={204: SEEN_ALL, **responses(404, 410, 422, 503)}
)
async def follow_events(
    job_id: str, services: Services, after: Annotated[int, Depends(start_after)]
) -> AsyncIterator[ServerSentEvent]:
    """Events after `Last-Event-ID` (or `?after=`), then new ones as they come; ends after `job.finished`."""
    async for event in gapless(services.events, job_id, after, services.stopping):
        yield ServerSentEvent(id=str(event.seq), event=event.kind.value, raw_data=codec.dumps(event))


@router.get("/{job_id}/log", responses=responses(404, 410, 422, 503))
async def read_log(
    job_id: str,
    team: Team,
    services: Services,
    after: Annotated[int, Query(ge=0, lt=1 << 31)] = 0,
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
) -> list[EventView]:
    """Events so far with a number above `after`, at once: for a first view, and where nothing can be streamed."""
    await services.jobs.get(team, job_id)
    return [EventView.of(event) for event in await services.events.read(job_id, after, limit)]


async def gapless(log: EventLog, job_id: str, after: int, stopping: asyncio.Event) -> AsyncIterator[Event]:
    """The log's events from `after + 1` on, each once and in order, until the job ends or the server stops."""
    seen = after
    async for event in _until(stopping, log.follow(job_id, after)):
        if event.seq > seen + 1:
            for missed in await log.read(job_id, seen, event.seq - seen - 1):
                yield missed
        if event.seq > seen:
            seen = event.seq
            yield event


async def _until(stopping: asyncio.Event, source: AsyncIterator[Event]) -> AsyncIterator[Event]:
    """What a source gives until it ends or the event is set."""
    stop = asyncio.ensure_future(stopping.wait())
    upcoming: asyncio.Future[Event] | None = None
    try:
        while True:
            upcoming = asyncio.ensure_future(anext(source))
            await asyncio.wait({stop, upcoming}, return_when=asyncio.FIRST_COMPLETED)
            if not upcoming.done():
                return
            try:
                yield upcoming.result()
            except StopAsyncIteration:
                return
    finally:
        stop.cancel()
        if upcoming is not None:
            upcoming.cancel()
            await asyncio.wait({upcoming})

"""A job's events as Server-Sent Events, resumable by `Last-Event-ID`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.exceptions import HTTPException

from services.domain import codec
from services.domain.events import Event, EventKind
from services.ports.jobs import EventLog
from web.context import Services, Team
from web.errors import responses
from web.schemas.base import NumberCursor, Page, number_of, page
from web.schemas.jobs import EventView

router = APIRouter(prefix="/jobs", tags=["jobs"])
_FIELDS: dict[str, dict[str, Any]] = {name: {"type": "string"} for name in ("data", "event", "id")}
_FIELDS["retry"] = {"type": "integer", "minimum": 0}
STREAM: dict[str, Any] = {"content": {"text/event-stream": {"itemSchema": {"type": "object", "properties": _FIELDS}}}}
UNBUFFERED = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""Proxies hand events on as they come."""
PING_S = 15.0
"""How long a stream may be silent before a comment says that it lives."""
MOST_AT_ONCE = 100
"""Events that are sent together at most, so that other requests get their turn."""
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
    "/{job_id}/events",
    response_class=Response,
    responses={200: STREAM, 204: SEEN_ALL, **responses(404, 410, 422, 503)},
)
async def follow_events(
    job_id: str, services: Services, after: Annotated[int, Depends(start_after)]
) -> EventSourceResponse:
    """Events after `Last-Event-ID` (or `?after=`), then new ones as they come; ends after `job.finished`."""
    found = batches(gapless(services.events, job_id, after), services.stopping)
    return EventSourceResponse(_written(found), headers=UNBUFFERED)


@router.get("/{job_id}/log", responses=responses(404, 410, 422, 503))
async def read_log(
    job_id: str,
    team: Team,
    services: Services,
    after: Annotated[int, Query(ge=0, lt=1 << 31)] = 0,
    cursor: NumberCursor = None,
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
) -> Page[EventView]:
    """Events so far with a number above `after`, at once: for a first view, and where nothing can be streamed."""
    await services.jobs.get(team, job_id)
    found = await services.events.read(job_id, after if cursor is None else number_of(cursor), limit)
    following = str(found[-1].seq) if len(found) == limit else None
    return page((EventView.model_validate(event) for event in found), following)


async def gapless(log: EventLog, job_id: str, after: int) -> AsyncIterator[Event]:
    """The log's events from `after + 1` on, each once and in order, until the job ends."""
    seen = after
    async for event in log.follow(job_id, after):
        if event.seq > seen + 1:
            for missed in await log.read(job_id, seen, event.seq - seen - 1):
                yield missed
        if event.seq > seen:
            seen = event.seq
            yield event


async def batches(source: AsyncIterator[Event], stopping: asyncio.Event) -> AsyncIterator[list[Event]]:
    """What a source gives until it ends or the event is set: together what is there at once, and an empty list where
    there was nothing for a while."""
    stop = asyncio.ensure_future(stopping.wait())
    upcoming = asyncio.ensure_future(_next(source))
    try:
        while not stop.done():
            await asyncio.wait({stop, upcoming}, timeout=PING_S, return_when=asyncio.FIRST_COMPLETED)
            batch: list[Event] = []
            while upcoming.done() and len(batch) < MOST_AT_ONCE:
                event = upcoming.result()
                if event is None:
                    yield batch
                    return
                batch.append(event)
                upcoming = asyncio.ensure_future(_next(source))
                await asyncio.sleep(0)  # what is at hand is there now
            yield batch
    finally:
        stop.cancel()
        upcoming.cancel()
        await asyncio.wait({upcoming})


async def _next(source: AsyncIterator[Event]) -> Event | None:
    """The next event; None at the end."""
    try:
        return await anext(source)
    except StopAsyncIteration:
        return None


async def _written(found: AsyncIterator[list[Event]]) -> AsyncIterator[bytes]:
    """A sign of life first: whoever does not get it at once knows that something on the way holds the stream back."""
    yield KEEPALIVE_COMMENT
    async for batch in found:
        yield b"".join(map(_as_sent, batch)) or KEEPALIVE_COMMENT


def _as_sent(event: Event) -> bytes:
    return format_sse_event(id=str(event.seq), event=event.kind.value, data_str=codec.dumps(event))

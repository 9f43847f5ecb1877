"""Replies as they are written, as events of their jobs, for people who watch."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from services.domain.errors import StorageError
from services.domain.events import EventKind, JsonValue

if TYPE_CHECKING:
    from services.adapters.llm.remote import ChatDelta, DeltaListener
    from services.ports.jobs import EventLog

log = logging.getLogger(__name__)


def delta_events(events: EventLog) -> DeltaListener:
    """A listener that appends every part of a reply to its job's log as `agent.delta`.

    The reply itself comes with the step: a part that cannot be stored is lost, and the call goes on."""

    async def tell(delta: ChatDelta) -> None:
        job_id, step, agent, call = delta.key.rsplit("/", 3)
        data: dict[str, JsonValue] = {
            "step": int(step),
            "agent": agent,
            "call": int(call),
            "part": delta.part,
            "text": delta.text,
        }
        try:
            await events.append(job_id, EventKind.AGENT_DELTA, data)
        except StorageError as error:
            log.warning("a part of a reply was not stored: %s", error)

    return tell

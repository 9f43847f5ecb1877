"""Replies as they are written, as events in every event log."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from kernelwright.wiring.reply_events import delta_events
from services.domain.errors import StorageError
from services.domain.events import Event, EventKind
from services.ports.jobs import EventLog
from tests.contracts.conftest import Stores
from tests.doubles import a_job
from tests.fakes.chat_bench import FAST, STRICT_PLAN, a_bench, every_adapter
from tests.fakes.chat_requests import a_request
from tests.fakes.chat_servers import Act, in_turn


async def deltas(stores: Stores) -> list[Event]:
    return [event for event in await stores.events.read("job-1", 0) if event.kind is EventKind.AGENT_DELTA]


@every_adapter
async def test_a_streamed_reply_is_in_the_log_part_by_part(stores: Stores, name: str) -> None:
    await stores.jobs.create(a_job())
    listener = delta_events(stores.events)
    whole = Act(text=STRICT_PLAN, pieces=20)
    async with a_bench(in_turn(replace(whole, drop_after=12), whole), replace(FAST, delta_chars=40), listener) as bench:
        await bench.model(name).complete(a_request(key="job-1/2/inspector/1"))
    parts = [event.data for event in await deltas(stores)]
    assert {(data["step"], data["agent"], data["call"]) for data in parts} == {(2, "inspector", 1)}
    last_start = max(index for index, data in enumerate(parts) if data["part"] == 0)
    assert last_start > 0, "the reply that broke off is void from the next part 0 on"
    assert "".join(str(data["text"]) for data in parts[last_start:]) == STRICT_PLAN


async def test_parts_of_replies_that_come_at_once_keep_their_order(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    listener = delta_events(stores.events)
    async with a_bench(in_turn(Act(text=STRICT_PLAN, pieces=20)), replace(FAST, delta_chars=10), listener) as bench:
        model = bench.model("compatible:local")
        await asyncio.gather(*(model.complete(a_request(key=f"job-1/{step}/planner/0")) for step in range(4)))
    for step in range(4):
        own = [event.data for event in await deltas(stores) if event.data["step"] == step]
        assert [data["part"] for data in own] == list(range(len(own)))
        assert "".join(str(data["text"]) for data in own) == STRICT_PLAN


async def test_a_log_that_is_out_of_reach_costs_the_parts_and_not_the_reply(caplog: pytest.LogCaptureFixture) -> None:
    class Away(EventLog):
        async def append(self, job_id: str, kind: EventKind, data: Any) -> Event:
            raise StorageError("the database is away")

        async def read(self, job_id: str, after: int = 0, limit: int = 500) -> tuple[Event, ...]:
            return ()

        def follow(self, job_id: str, after: int = 0) -> Any:
            raise NotImplementedError

    caplog.set_level(logging.WARNING)
    listener = delta_events(Away())
    async with a_bench(in_turn(Act(text=STRICT_PLAN)), replace(FAST, delta_chars=40), listener) as bench:
        reply = await bench.model("compatible:local").complete(a_request())
    assert reply.stop_reason == "stop"
    assert "a part of a reply was not stored: the database is away" in caplog.text

"""What every `EventLog` promises."""

from __future__ import annotations

import asyncio

from services.domain.events import Event, EventKind, JsonValue
from tests.contracts.conftest import Stores
from tests.doubles import a_job

STARTED = EventKind.STEP_STARTED
FINISHED = EventKind.JOB_FINISHED


async def collect(stores: Stores, after: int = 0) -> list[Event]:
    return [event async for event in stores.events.follow("job-1", after)]


async def test_an_event_comes_back_as_it_was_appended(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    data: dict[str, JsonValue] = {"step": 1, "nested": {"×": [None, True, 1.5, "NUL \0"]}}
    appended = await stores.events.append("job-1", STARTED, data)
    assert (await stores.events.read("job-1"))[-1] == appended
    assert (appended.seq, appended.data, appended.at) == (2, data, stores.clock.now())


async def test_concurrent_appends_leave_no_gap_and_no_duplicate(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    await asyncio.gather(*(stores.events.append("job-1", STARTED, {"n": n}) for n in range(50)))
    events = await stores.events.read("job-1")
    assert [event.seq for event in events] == list(range(1, 52))
    assert sorted(int(str(event.data["n"])) for event in events[1:]) == list(range(50))


async def test_jobs_count_their_events_apart(stores: Stores) -> None:
    await stores.jobs.create(a_job("job-1"))
    await stores.jobs.create(a_job("job-2"))
    await stores.events.append("job-1", STARTED, {})
    assert (await stores.events.append("job-2", STARTED, {})).seq == 2


async def test_reading_resumes_after_a_number_and_stops_at_the_limit(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    for number in range(5):
        await stores.events.append("job-1", STARTED, {"n": number})
    assert [event.seq for event in await stores.events.read("job-1", after=2, limit=3)] == [3, 4, 5]


async def test_a_follower_sees_old_and_new_events_and_ends_with_the_job(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    follower = asyncio.create_task(collect(stores))
    await asyncio.sleep(0.02)
    await stores.events.append("job-1", STARTED, {})
    await asyncio.sleep(0.02)
    await stores.events.append("job-1", FINISHED, {})
    events = await asyncio.wait_for(follower, 60)
    assert [event.seq for event in events] == [1, 2, 3]
    assert events[-1].kind is FINISHED


async def test_many_followers_all_see_everything(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    followers = [asyncio.create_task(collect(stores)) for _ in range(10)]
    await asyncio.gather(*(stores.events.append("job-1", STARTED, {"n": n}) for n in range(20)))
    await stores.events.append("job-1", FINISHED, {})
    for events in await asyncio.wait_for(asyncio.gather(*followers), 60):
        assert [event.seq for event in events] == list(range(1, 23))


async def test_a_follower_that_is_cancelled_while_an_event_arrives_ends(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    for turns in range(8):  # of the event loop, between the event and the cancellation
        follower = asyncio.create_task(collect(stores))
        await asyncio.sleep(0.02)
        await stores.events.append("job-1", STARTED, {})
        for _ in range(turns):
            await asyncio.sleep(0)
        follower.cancel()
        await asyncio.wait({follower}, timeout=60)
        assert follower.cancelled()


async def test_a_follower_resumes_where_it_was(stores: Stores) -> None:
    await stores.jobs.create(a_job())
    await stores.events.append("job-1", STARTED, {})
    await stores.events.append("job-1", FINISHED, {})
    assert [event.seq for event in await asyncio.wait_for(collect(stores, after=2), 60)] == [3]

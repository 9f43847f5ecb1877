"""Killed at any point, a job is taken up where it was: no finished step is repeated, nothing is made twice."""

from __future__ import annotations

import pytest

from services.domain.jobs import Budget, JobStatus
from tests.doubles import FrozenClock, a_job
from tests.unit.orchestrator.killing import CLEAN_CALLS, TTL_S, a_world, killed_after, resume, sweep
from tests.unit.orchestrator.world import Fuse, KilledError


async def test_a_job_killed_here_and_there_ends_as_if_nothing_had_happened() -> None:
    """A sample; the integration tier kills between any two operations."""
    await sweep(first=1, stride=22)


async def test_a_killed_job_keeps_the_prompts_of_calls_made_before() -> None:
    clean = a_world()
    await clean.run(a_job(budget=Budget(rounds=2)))
    operations, killed = 40, True
    while killed:
        world, killed = await killed_after(operations)
        await resume(world)

        for step, expected in zip(world.steps(), clean.steps(), strict=True):
            assert [(call.role, call.prompt, call.reply) for call in step.calls] == [
                (call.role, call.prompt, call.reply) for call in expected.calls
            ]
        operations += 29


async def test_a_job_is_killed_again_and_again_and_still_ends() -> None:
    world = a_world()
    await world.jobs.create(a_job(budget=Budget(rounds=2)))
    assert isinstance(world.clock, FrozenClock)
    for attempt in range(60):
        world.clock.advance(TTL_S + 1)
        try:
            job = await world.orchestrator(owner=f"o{attempt}", fuse=Fuse(50)).run_job("job-1")
        except KilledError:
            continue
        assert job.status is JobStatus.SOLVED
        assert len(world.steps()) == 2
        assert attempt > 2
        return
    pytest.fail("the job never ended")


async def test_the_lease_of_an_orchestrator_that_is_known_to_be_dead_is_not_waited_for() -> None:
    world, killed = await killed_after(60)
    assert killed
    assert world.database.held("job-1")
    assert isinstance(world.clock, FrozenClock)
    before = world.clock.now()

    job = await world.orchestrator(owner="second", gone=("first",)).run_job("job-1")

    assert job.status is JobStatus.SOLVED
    assert world.clock.now() == before
    assert len(world.model.requests) <= CLEAN_CALLS + 1


async def test_claims_takeovers_and_ends_are_logged_with_their_job(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="orchestrator")
    world, killed = await killed_after(60)
    assert killed
    await world.orchestrator(owner="second", gone=("first",)).run_job("job-1")
    claimed, taken_over, ended = (record.getMessage() for record in caplog.records)
    assert "was claimed by first (token 1)" in claimed
    assert "was taken over by second (token 2)" in taken_over
    assert ended.startswith("the job ended solved")

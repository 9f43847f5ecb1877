"""A provider that breaks every reply off, a job that fails and is resumed again and again: its budget holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from services.adapters.llm.settings import TokenPrice
from services.domain.jobs import Budget, Job, JobStatus
from tests.fakes.chat_bench import FAST, Bench, a_bench, every_adapter
from tests.fakes.chat_jobs import Place, a_useful_reply, a_working_model
from tests.fakes.chat_servers import Act, Seen
from tests.selection import with_full

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
PRICE = TokenPrice(input=1.0, output=10.0)
SETTINGS = replace(FAST, max_attempts=2, price=PRICE)
MOST_RESUMED = 40


def broken_off(_number: int, seen: Seen) -> Act:
    return Act(text=a_useful_reply(seen, 0), drop_after=2)


def most_output(seen: Seen) -> int:
    return int(seen.body.get("max_output_tokens") or seen.body["max_tokens"])


async def run_again(folder: Path, bench: Bench, name: str) -> tuple[Job, Place]:
    """What another process does: nothing is known but the database."""
    place = Place(folder, bench.registry.resolve)
    await place.stores.jobs.reopen("local", "job-1", model=name, rounds=2)
    return await place.orchestrator.run_job("job-1"), place


BUDGETS = (Budget(rounds=2, tokens=400_000), Budget(rounds=2, dollars=2.0))


@every_adapter
@pytest.mark.parametrize("budget", with_full(BUDGETS, BUDGETS[:1]), ids=str)
async def test_a_job_that_fails_and_is_resumed_never_passes_its_budget(
    name: str, budget: Budget, tmp_path: Path
) -> None:
    async with a_bench(broken_off, SETTINGS) as bench:
        place = Place(tmp_path, bench.registry.resolve)
        await place.database.upgrade()
        await place.submit(name, budget)
        job, resumed = await place.orchestrator.run_job("job-1"), 0
        while job.status is JobStatus.FAILED:
            await place.database.close()
            job, place = await run_again(tmp_path, bench, name)
            resumed += 1
            assert resumed < MOST_RESUMED, "the budget ends it"
        used = await place.used("job-1")
        await place.database.close()
        billed = sum(most_output(seen) for seen in bench.server.seen)
    assert job.status is JobStatus.UNSOLVED
    assert "budget" in str(job.message)
    assert "could be passed" in str(job.message)
    assert resumed >= 1
    assert used.calls >= len(bench.server.seen), "every request is charged"
    assert used.output_tokens >= billed, "with the most that the provider can have billed"
    assert budget.tokens is None or used.input_tokens + used.output_tokens <= budget.tokens
    assert budget.dollars is None or (used.dollars or 0.0) <= budget.dollars


@every_adapter
async def test_a_job_that_failed_starts_from_the_right_sum_with_a_model_that_works(name: str, tmp_path: Path) -> None:
    async with a_bench(broken_off, SETTINGS) as bench:
        place = Place(tmp_path, bench.registry.resolve)
        await place.database.upgrade()
        await place.submit(name, Budget(rounds=2))
        assert (await place.orchestrator.run_job("job-1")).status is JobStatus.FAILED
        lost = (await place.stores.jobs.kept_calls("local", "job-1"))[0]
        await place.database.close()
        failed = len(bench.server.seen)
        bench.server.script = a_working_model()
        job, place = await run_again(tmp_path, bench, name)
        steps = await place.stores.jobs.steps("local", "job-1")
        await place.database.close()
    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN), job.message
    assert [call.usage.calls for call in lost] == [failed]
    assert steps[0].calls[0] == lost[0], "the step that went on holds what was lost before"
    assert sum(call.usage.calls for step in steps for call in step.calls) == len(bench.server.seen)

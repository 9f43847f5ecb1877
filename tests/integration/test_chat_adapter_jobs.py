"""Whole jobs over the real stores, driven through each adapter. On a bad day: `tests/model_faults`."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.domain.jobs import Budget, JobStatus
from tests.fakes.chat_bench import a_bench, every_adapter
from tests.fakes.chat_jobs import Place, a_working_model
from tests.fakes.chat_servers import KEY, Act, Seen

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]


def everything_under(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@every_adapter
async def test_each_adapter_drives_a_job_to_its_end_and_no_key_reaches_the_disk(name: str, tmp_path: Path) -> None:
    async with a_bench(a_working_model()) as bench:
        place = Place(tmp_path, bench.registry.resolve)
        await place.database.upgrade()
        await place.submit(name, Budget(rounds=2))
        job = await place.orchestrator.run_job("job-1")
        used = await place.used("job-1")
        await place.database.close()
    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN), job.message
    assert used.calls == len(bench.server.seen) == 9, (
        "the second opinion accuses without a quotation, is asked again, and convicts nobody"
    )
    written = everything_under(tmp_path)
    assert b"ModelNew" in written
    assert KEY.encode() not in written


@every_adapter
async def test_a_job_whose_model_does_not_exist_ends_with_the_message_that_says_so(name: str, tmp_path: Path) -> None:
    async with a_bench(a_working_model()) as bench:
        place = Place(tmp_path, bench.registry.resolve)
        await place.database.upgrade()
        await place.submit(f"{name.partition(':')[0]}:no-such-model", Budget(rounds=2))
        job = await place.orchestrator.run_job("job-1")
        await place.database.close()
    assert job.status is JobStatus.FAILED
    assert "no model 'no-such-model'" in str(job.message)
    assert len(bench.server.seen) == 1


@every_adapter
async def test_an_empty_reply_is_asked_for_again_in_a_turn_that_says_something(name: str, tmp_path: Path) -> None:
    useful = a_working_model()

    def empty_at_first(number: int, seen: Seen) -> Act:
        return Act(text="") if number == 0 else useful(number, seen)

    async with a_bench(empty_at_first) as bench:
        place = Place(tmp_path, bench.registry.resolve)
        await place.database.upgrade()
        await place.submit(name, Budget(rounds=2))
        job = await place.orchestrator.run_job("job-1")
        step, _ = await place.stores.jobs.steps("local", "job-1")
        await place.database.close()
    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN), job.message
    first, second = step.calls[:2]
    assert (first.reply, first.error) == ("", "the model stopped with error")
    assert [message.role for message in second.prompt] == ["system", "user", "assistant", "user"]

"""What the program wrote before its modules moved is read by today's: checkpoints, messages, databases, settings.

`data/written_by_2a0d0be.sql.gz` is the SQLite database of a job whose orchestrator was killed in its second round, by
the program of commit 2a0d0be.
"""

from __future__ import annotations

import asyncio
import gzip
import sqlite3
import types
import typing
from pathlib import Path

import pytest

from agents.workflow.state import BranchOutput, WorkflowState
from kernelwright.settings import Settings
from services.adapters.queues import notifier
from services.domain.jobs import JobStatus
from services.domain.work import COMPILE
from storage.jobs.checkpoints import SqlCheckpointSaver
from tests.doubles import FakeQueue, a_report
from tests.integration.test_orchestrator_on_sqlite import Place
from tests.unit.orchestrator.world import Fuse
from workers.queue import health_check
from workers.queue.orders import WorkerContext
from workers.queue.tasks import CelerySettings, create_app

pytestmark = pytest.mark.integration

OURS = ("agents", "kernelwright", "orchestrator", "services", "storage", "web", "workers")
PLAIN = (str, int, float, bool, type(None))
SETTINGS = """
anthropic anthropic_api_key anthropic_base_url artefacts baselines_max_age_s claim_s compatible compatible_api_key
compatible_base_url compiled concurrency database_url docker_host drain_s embedder embedder_api_key embedder_base_url
embedder_timeout_s evaluation_timeout_s forbid_private_hosts holdout home host keep_artefacts_days keep_events_days
keep_trajectories_days lease_s log_format log_level manual_timeout_s memory_cap metrics_port oidc_client_id
oidc_client_secret oidc_issuer oidc_name openai openai_api_key openai_base_url port public_url queue rate_limit
redis_prefix redis_url sandbox sandbox_gpu sandbox_image sandbox_python sandbox_sockets sandbox_warm sign_in
team_concurrency team_rate_limit token traces_endpoint webhook_private_hosts
"""
"""Each is KERNELWRIGHT_… in somebody's `.env`."""


def is_plain(kind: typing.Any) -> bool:
    """Whether values of a type are JSON: no class of ours, whose module's name a checkpoint would hold."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return all(is_plain(part) for part in parts)
    if origin in (list, tuple):
        return all(is_plain(part) for part in parts)
    if origin is dict:
        return parts[0] is str and is_plain(parts[1])
    return kind in PLAIN or kind is typing.Any


def test_the_state_of_a_workflow_holds_plain_json() -> None:
    for state in (WorkflowState, BranchOutput):
        wrong = {name: kind for name, kind in typing.get_type_hints(state).items() if not is_plain(kind)}
        assert wrong == {}


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A folder with the database that the program of 2a0d0be has left."""
    dump = gzip.decompress((Path(__file__).parent / "data" / "written_by_2a0d0be.sql.gz").read_bytes()).decode()
    database = sqlite3.connect(tmp_path / "kernelwright.db")
    database.executescript(dump)
    database.close()
    return tmp_path


async def test_checkpoints_name_no_module_of_ours(earlier: Path) -> None:
    database = sqlite3.connect(earlier / "kernelwright.db")
    tables = ("checkpoints", "checkpoint_writes")
    rows = [row for table in tables for row in database.execute(f"SELECT * FROM {table}")]
    database.close()
    written = b"\n".join(value for row in rows for value in row if isinstance(value, bytes))
    assert b"job-1" in written
    assert [name for name in OURS if f"{name}.".encode() in written] == []


async def test_a_job_that_was_begun_before_goes_on_from_its_checkpoint(earlier: Path) -> None:
    place = Place(earlier)
    await place.database.upgrade()
    saver = SqlCheckpointSaver(place.database)
    found = await saver.aget_tuple({"configurable": {"thread_id": "job-1", "checkpoint_ns": ""}})
    assert found is not None
    assert found.checkpoint["channel_values"]["job_id"] == "job-1"
    done = [step.index for step in await place.stores.jobs.steps("local", "job-1")]
    assert done == [0]

    place.queue = FakeQueue([a_report(median_us=90.0)])
    job = await asyncio.wait_for(place.orchestrator("second", Fuse()).run_job("job-1"), 60)

    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN)
    assert len(place.queue.evaluated) == 1
    assert [step.index for step in await place.stores.jobs.steps("local", "job-1")] == [0, 1]
    events = await place.stores.events.read("job-1")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    await place.database.close()


def test_queued_messages_find_their_tasks_and_queues() -> None:
    def never() -> WorkerContext:
        raise AssertionError("no order is done here")

    app = create_app(CelerySettings(broker_url="memory://"), never)
    assert {"kernelwright.run_order", "kernelwright.job_ended", "kernelwright.answer"} <= set(app.tasks)
    assert (notifier.TASK, notifier.ENDED_TASK) == ("kernelwright.run_order", "kernelwright.job_ended")
    assert health_check.TASK == "kernelwright.answer"
    assert (notifier.device_queue("h200"), notifier.device_queue(COMPILE)) == ("device.h200", "compile")
    assert notifier.ENDED_QUEUE == "kernelwright.ended"


def test_every_setting_keeps_its_name() -> None:
    assert set(SETTINGS.split()) - set(Settings.model_fields) == set()
    assert Settings.model_config.get("env_prefix") == "KERNELWRIGHT_"

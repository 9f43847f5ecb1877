"""A worker with an account of its own at the broker: it does its work, and may do little else."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from amqp.exceptions import AccessRefused, NotAllowed
from kombu import Connection, Queue

from services.domain.evaluations import Verdict
from tests.docker_host import ROOT
from tests.doubles import a_report
from tests.faults.ground import RedisServer, UnavailableError, folder
from tests.integration.test_celery_queue import Setup, opened
from tests.integration.test_rabbitmq import SERVER
from tests.waiting import eventually
from workers.queue.health_check import ask

pytestmark = pytest.mark.integration
ACL = ROOT / "storage" / "roles" / "redis-worker.acl"
SCRIPT = ROOT / "storage" / "roles" / "rabbitmq-worker.sh"


async def does_its_work(setup: Setup) -> None:
    """Orders, the end of a job, and the health check."""
    evaluations = [setup.evaluation("ok", step) for step in range(3)]
    assert await asyncio.wait_for(asyncio.gather(*map(setup.queue.evaluate, evaluations)), 90) == [a_report()] * 3
    hanging = asyncio.create_task(setup.queue.evaluate(setup.evaluation("hang", job_id="job-2")))
    await eventually(lambda: any(line.startswith("hang") for line in setup.did()))
    await setup.queue.cancel("job-2")
    assert (await asyncio.wait_for(hanging, 60)).verdict is Verdict.INFRASTRUCTURE_ERROR
    await eventually(lambda: "freed job-2" in setup.did())
    died = await asyncio.wait_for(setup.queue.evaluate(setup.evaluation("die", 5)), 90)
    assert "died 3 times" in died.gates[0].detail
    assert await asyncio.to_thread(ask, setup.app, setup.device, 30.0) == f"{setup.device}@here"


@pytest.fixture
def server() -> Iterator[RedisServer]:
    try:
        with folder() as place:
            started = RedisServer(place)
            yield started
            started.kill()
    except UnavailableError as error:
        pytest.skip(str(error))


async def test_redis_lets_a_worker_do_its_work_and_little_else(server: RedisServer, tmp_path: Path) -> None:
    with redis.Redis.from_url(server.url) as operator:
        _, name, *rules = ACL.read_text().replace("PASSWORD", "secret").split()
        operator.execute_command("ACL", "SETUSER", name, *rules)
        operator.set("rate/team/red", "1")
        limited = server.url.replace("redis://", f"redis://{name}:secret@")
        async with opened(server.url, tmp_path, limited) as setup:
            await does_its_work(setup)
        refused = [(entry["reason"], entry["object"]) for entry in operator.acl_log()]
        assert refused == [], "the list of rights is what a worker uses"
    with redis.Redis.from_url(limited) as node:
        for command in (
            ("GET", "rate/team/red"),
            ("FLUSHALL",),
            ("CONFIG", "GET", "*"),
            ("KEYS", "*"),
            ("EVAL", "return 1", "0"),
            ("ACL", "LIST"),
            ("SHUTDOWN",),
            ("REPLICAOF", "127.0.0.1", "1"),
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                node.execute_command(*command)


@pytest.fixture
def host() -> Iterator[str]:
    """A virtual host with an account for workers; both have one name."""
    if shutil.which("rabbitmqctl") is None:
        pytest.skip("no rabbitmqctl: apt-get install rabbitmq-server")
    name = f"kw-{uuid.uuid4().hex[:8]}"
    if rabbitmqctl("add_vhost", name).returncode != 0:
        pytest.skip("rabbitmqctl reaches no server here")
    rabbitmqctl("add_user", name, "secret")
    rabbitmqctl("set_permissions", "-p", name, "guest", ".*", ".*", ".*")
    yield name
    rabbitmqctl("delete_vhost", name)
    rabbitmqctl("delete_user", name)


def rabbitmqctl(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["rabbitmqctl", "-q", *arguments], capture_output=True, text=True, check=False)


async def test_rabbitmq_lets_a_worker_do_its_work_and_little_else(host: str, tmp_path: Path) -> None:
    subprocess.run([SCRIPT, host, host], check=True)  # noqa: ASYNC221 - nothing else runs yet
    limited = f"amqp://{host}:secret@{SERVER.rpartition('@')[2]}"
    async with opened(f"{SERVER}/{host}", tmp_path, f"{limited}/{host}") as setup:
        await does_its_work(setup)
    for virtual_host, queue in ((host, "other"), (host, "kernelwright.answers"), ("/", "device.cpu")):
        with Connection(f"{limited}/{virtual_host}") as node, pytest.raises((AccessRefused, NotAllowed)):
            Queue(queue, channel=node.channel()).declare()

"""The parts apart: API, orchestrator and worker as processes of their own, with Redis between them."""

from __future__ import annotations

import json
import os
import signal
import uuid
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import redis

from tests.e2e.programs import SMALL, WELL, alive, descendants, run, running
from tests.ports import a_free_port
from tests.waiting import until

pytestmark = pytest.mark.e2e

BROKER = os.environ.get("KERNELWRIGHT_TEST_REDIS", "redis://127.0.0.1:6379/15")


@pytest.fixture
def broker() -> redis.Redis:
    client = redis.Redis.from_url(BROKER)
    try:
        client.ping()
    except redis.ConnectionError as error:
        pytest.skip(f"no Redis ({error}): set KERNELWRIGHT_TEST_REDIS to the address of a database for tests")
    return client


def sandboxes(pid: int) -> list[int]:
    """The zygote below a process, and what it has forked."""
    found = []
    for child in descendants(pid):
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b"workers.sandboxes" in command and alive(child):
            found.append(child)
    return found


def test_a_job_is_done_by_three_processes_and_its_referee_ends_with_it(tmp_path: Path, broker: redis.Redis) -> None:
    prefix, port, home = f"test-{uuid.uuid4().hex[:8]}-", a_free_port(), tmp_path / "home"
    problem = tmp_path / "scaled_silu.py"
    problem.write_text(SMALL)
    settings = {
        "KERNELWRIGHT_QUEUE": "celery",
        "KERNELWRIGHT_REDIS_URL": BROKER,
        "KERNELWRIGHT_REDIS_PREFIX": prefix,
        "KERNELWRIGHT_SERVER": f"http://127.0.0.1:{port}",
        "KERNELWRIGHT_LOG_FORMAT": "json",
    }
    with ExitStack() as programs:
        api = programs.enter_context(running("api", "--port", str(port), home=home, **settings))
        api.wait_for("http://127")
        orchestrator = programs.enter_context(running("orchestrator", home=home, **settings))
        orchestrator.wait_for("orchestrating jobs of ")
        worker = programs.enter_context(running("worker", home=home, **settings))
        worker.wait_for("ready")
        asked = run("doctor", "--check-orchestrator", home=home, **settings)
        assert asked.returncode == 0, asked.stdout + asked.stderr

        job_id = run("submit", problem, "--rounds", "2", "--baselines", "eager", home=home, **settings).stdout.strip()
        with running("watch", job_id, "--json", home=home, **settings) as watching:
            watching.wait_for("^round 1")
            assert len(sandboxes(worker.process.pid)) > 1, "a zygote and the referee it forked"
            assert descendants(orchestrator.process.pid) == [], "the orchestrator runs nobody's code"
            assert descendants(api.process.pid) == []
            code = watching.process.wait(120)
            assert watching.process.stdout is not None
            document = json.loads(watching.process.stdout.read())
        assert code == WELL.index(document["status"])
        assert document["rounds"] == 2
        assert "ModelNew" in run("best", job_id, home=home, **settings).stdout

        until(lambda: len(sandboxes(worker.process.pid)) == 1)
        server = f"http://127.0.0.1:{port}/api/v1"
        (shown,) = httpx.get(f"{server}/workers", timeout=30).json()["items"]
        assert shown["sheet"]["name"] == "cpu"
        assert shown["node"]["toolchain"] == shown["sheet"]["toolchain"]
        judged = httpx.get(f"{server}/candidates/{document['best']['candidate_id']}", timeout=30).json()["report"]
        assert shown["isolation"] == judged["environment"]["isolation"]
        said = [json.loads(line) for program in (api, orchestrator, worker) for line in program.lines]
        told = [line["event"] for line in said if line.get("job") == job_id]
        assert any("was claimed by" in event for event in told)
        assert any(event.startswith("the job ended") for event in told)
        assert any(event.startswith(f"GET /api/v1/jobs/{job_id}") for event in told)
        assert any(line["logger"].startswith("celery") for line in said)
        orchestrator.stop(signal.SIGTERM)
        assert run("doctor", "--check-orchestrator", home=home, **settings).returncode == 2
    left = list(broker.scan_iter(f"{prefix}*"))
    assert not [key for key in left if b"device.cpu" in key and broker.type(key) == b"list"], "no order is left"
    for key in left:
        broker.delete(key)
    broker.close()

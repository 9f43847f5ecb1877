"""The API as a process of its own, used by real clients over HTTP."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from services.client import Client
from tests.doubles import a_problem
from tests.e2e.programs import COMMAND_LIMIT_S
from tests.ports import a_free_port

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[2]
BODY = {"problem": {"name": "relu", "source": a_problem().source}}


@contextmanager
def an_api(home: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """`kernelwright api` over a database of its own, ready for requests."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kernelwright", "api", "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, "KERNELWRIGHT_HOME": str(home)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert re.search(rf"http://127\.0\.0\.1:{port} ", process.stderr.readline())
        yield process
    finally:
        process.kill()
        process.communicate()


def command(*arguments: str, port: int, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KERNELWRIGHT_SERVER": f"http://127.0.0.1:{port}", **settings}
    return subprocess.run(
        [sys.executable, "-m", "kernelwright", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=COMMAND_LIMIT_S,
        check=False,
    )


def test_a_watcher_survives_a_restart_of_the_server_and_sees_each_event_once(tmp_path: Path) -> None:
    port, seen = a_free_port(), []
    server = f"http://127.0.0.1:{port}"

    def watch(job_id: str) -> None:
        with Client(server) as watching:
            seen.extend([(event.id, event.kind) for event in watching.events(job_id)])

    with an_api(tmp_path, port) as process, Client(server) as client:
        job_id = client.submit(BODY)["id"]
        watcher = threading.Thread(target=watch, args=(job_id,), daemon=True)
        watcher.start()
        client.steer(job_id, "pause")
        process.kill()
        process.wait()
    with an_api(tmp_path, port), Client(server) as client:
        client.steer(job_id, "cancel")
        watcher.join(30)
    assert not watcher.is_alive()
    assert [number for number, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][1] == "job.finished"


def test_a_server_with_open_event_streams_stops_soon_when_told_to(tmp_path: Path) -> None:
    port = a_free_port()
    with an_api(tmp_path, port) as process, Client(f"http://127.0.0.1:{port}", give_up_s=0) as client:
        job_id = client.submit(BODY)["id"]
        stream = client.events(job_id)
        assert next(stream).id == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) in (0, -signal.SIGTERM)


def test_the_commands_submit_list_cancel_and_watch_over_http(tmp_path: Path) -> None:
    problem = tmp_path / "relu.py"
    problem.write_text(a_problem().source)
    port = a_free_port()
    with an_api(tmp_path, port):
        submitted = command("submit", str(problem), "--baselines", "eager", "--idempotency-key", "once", port=port)
        again = command("submit", str(problem), "--baselines", "eager", "--idempotency-key", "once", port=port)
        job_id = submitted.stdout.strip()
        assert re.fullmatch(r"job-[0-9a-f]+", job_id)
        assert again.stdout == submitted.stdout
        assert job_id in command("jobs", port=port).stdout
        assert command("best", job_id, port=port).returncode == 1
        opened = command("open", job_id, port=port, BROWSER="true")
        assert (opened.returncode, opened.stdout.strip()) == (0, f"http://127.0.0.1:{port}/jobs/{job_id}")
        assert command("cancel", job_id, port=port).stdout.strip() == "Cancelled"
        watched = command("watch", job_id, "--json", port=port)
        assert watched.returncode == 1
        assert '"status": "cancelled"' in watched.stdout
        assert "cancelled" in watched.stderr
        assert command("watch", "job-none", port=port).returncode == 2


def test_a_job_is_paused_and_resumed_from_the_command_line(tmp_path: Path) -> None:
    port = a_free_port()
    with an_api(tmp_path, port), Client(f"http://127.0.0.1:{port}") as client:
        job_id = client.submit(BODY)["id"]
        assert command("pause", job_id, port=port).stdout == "Paused\n"
        assert command("resume", job_id, port=port).stdout == "Resumed: it waits for an orchestrator\n"
        command("cancel", job_id, port=port)
        late = command("resume", job_id, port=port)
    refused = f"kernelwright: job {job_id} is cancelled: too late to resume it (to try again: kernelwright submit)\n"
    assert (late.returncode, late.stdout, late.stderr) == (1, "", refused)

"""`worker --device all`: what happens to the workers of a node's cards, with programs in their place."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kernelwright.cli import gpu_workers
from kernelwright.cli.gpu_workers import CardWorker, Crew
from tests.waiting import until

pytestmark = pytest.mark.integration


def worker(*script: str, name: str = "GPU 0") -> CardWorker:
    return CardWorker(name, ["sh", "-c", "; ".join(script)], dict(os.environ))


def test_workers_that_end_by_themselves_end_all_with_the_worst_code() -> None:
    assert Crew([worker("exit 0"), worker("exit 1")], again=False).run() == 1
    assert Crew([worker("exit 0"), worker("exit 0")], again=False).run() == 0


def test_a_worker_that_ends_is_started_again_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gpu_workers, "PAUSE_S", 0.05)
    starts = tmp_path / "starts"
    failing = worker(f"echo x >> {starts}", "exit 2", name="GPU 1")
    steady = worker("trap 'exit 0' TERM", f"touch {tmp_path}/up", "while :; do sleep 0.05; done")
    crew = Crew([steady, failing], again=True)
    ended: list[int] = []
    with caplog.at_level(logging.INFO):
        running = threading.Thread(target=lambda: ended.append(crew.run()))
        running.start()
        until(lambda: starts.exists() and len(starts.read_text().split()) >= 3 and (tmp_path / "up").exists())
        assert steady.lives
        crew.stop()
        running.join(60)
    assert ended == [2]
    assert "the worker on GPU 1 ended with exit code 2" in caplog.text


def test_when_every_worker_refuses_this_machine_nothing_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_workers, "PAUSE_S", 0.05)
    starts = tmp_path / "starts"
    refusing = f"echo x >> {starts}"
    assert Crew([worker(refusing, "exit 2"), worker(refusing, "exit 2")], again=True).run() == 2
    assert len(starts.read_text().split()) == 2


def test_workers_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    program = (
        "import os; from kernelwright.cli.gpu_workers import CardWorker, Crew\n"
        f"script = 'echo $$ > {tmp_path}/pid; exec sleep 60'\n"
        "Crew([CardWorker('GPU 0', ['sh', '-c', script], dict(os.environ))], again=True).run()"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as parent:
        until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip() != "")
        parent.send_signal(signal.SIGKILL)
    child = Path("/proc") / (tmp_path / "pid").read_text().strip()
    until(lambda: not child.exists() or ") Z" in (child / "stat").read_text())

"""Upgrade an installation of an earlier commit while its jobs run: `python -m tests.upgrade_from REVISION`.

API, orchestrator and worker of REVISION run from a checkout of their own, with SQLite and Redis between them
(`KERNELWRIGHT_TEST_REDIS`). One job is killed with its order in the queue, before any worker took it, another one in
its second round. Then today's programs are started on the same data, and both jobs have to end as if nothing had been.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import redis

from tests.e2e.programs import ROOT, SMALL, WELL, Program, run
from tests.ports import a_free_port

BROKER = os.environ.get("KERNELWRIGHT_TEST_REDIS", "redis://127.0.0.1:6379/15")
ROUNDS = 3
PARTS = {"api": "http://127", "orchestrator": "orchestrating jobs of ", "worker": "ready"}
"""What each program says once it works."""


def main(revision: str) -> None:
    """Print how both jobs ended."""
    with tempfile.TemporaryDirectory() as folder, _checkout(revision, Path(folder) / "earlier") as earlier:
        home, prefix, port = Path(folder) / "home", f"upgrade-{uuid.uuid4().hex[:8]}-", a_free_port()
        problem = Path(folder) / "scaled_silu.py"
        problem.write_text(SMALL)
        settings = {
            "KERNELWRIGHT_QUEUE": "celery",
            "KERNELWRIGHT_REDIS_URL": BROKER,
            "KERNELWRIGHT_REDIS_PREFIX": prefix,
            "KERNELWRIGHT_SERVER": f"http://127.0.0.1:{port}",
        }
        terms = ("--rounds", str(ROUNDS), "--baselines", "eager")
        with ExitStack() as programs:
            started = _start(programs, ("api", "orchestrator", "worker"), port, home, earlier, settings)
            begun = run("submit", problem, *terms, home=home, **settings).stdout.strip()
            with ExitStack() as watching:
                watched = Program("watch", begun, "--json", home=home, measured=False, root=ROOT, **settings)
                watching.callback(watched.close)
                watched.wait_for("^round 1")
            _kill(started)
        with ExitStack() as programs:
            started = _start(programs, ("api", "orchestrator"), port, home, earlier, settings)
            queued = run("submit", problem, *terms, home=home, **settings).stdout.strip()
            _wait_for_an_order(prefix)
            _kill(started)
        with ExitStack() as programs:
            _start(programs, tuple(PARTS), port, home, ROOT, settings)
            for name, job in (("in its second round", begun), ("with its order in the queue", queued)):
                done = run("watch", job, "--json", home=home, **settings)
                document = json.loads(done.stdout)
                sys.stdout.write(f"killed {name}: {document['status']}, {document['rounds']} rounds\n")
                assert document["status"] in WELL, document
                assert document["rounds"] == ROUNDS, document


@contextmanager
def _checkout(revision: str, folder: Path) -> Iterator[Path]:
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", folder, revision], cwd=ROOT, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, check=True)


def _start(
    programs: ExitStack, parts: tuple[str, ...], port: int, home: Path, root: Path, settings: dict[str, str]
) -> list[Program]:
    """Programs of the checkout at `root`, once each works."""
    started = []
    for part in parts:
        arguments = ("--port", str(port)) if part == "api" else ()
        program = Program(part, *arguments, home=home, measured=False, root=root, PYTHONPATH=str(root), **settings)
        programs.callback(program.close)
        program.wait_for(PARTS[part])
        started.append(program)
    return started


def _kill(programs: list[Program]) -> None:
    for program in programs:
        os.killpg(program.process.pid, signal.SIGKILL)
        program.process.wait()


def _wait_for_an_order(prefix: str, limit_s: float = 120.0) -> None:
    client, until = redis.Redis.from_url(BROKER), time.monotonic() + limit_s
    while not any(client.type(key) == b"list" for key in client.scan_iter(f"{prefix}*device*")):
        if time.monotonic() > until:
            raise AssertionError("no order was queued")
        time.sleep(0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])

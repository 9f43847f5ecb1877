"""An installation of real processes over servers of its own, and what must hold in it whatever is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.programs import ROOT, SMALL, descendants, environment
from tests.faults.ground import PostgresServer, RedisServer, kill
from tests.faults.nursery import Nursery
from tests.ports import a_free_port
from tests.waiting import LIMIT_S, until

ROUNDS = 2
TOKENS = 100_000
CLAIM_S, LEASE_S = 3.0, 3.0
WELL = ("solved", "no_gain")
FINAL = ("solved", "no_gain", "unsolved", "refused", "failed", "cancelled")


class Part:
    """A process of the installation."""

    def __init__(self, command: list[str], home: Path, settings: dict[str, str], output: Path) -> None:
        self._output = output.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env=environment(home, **settings),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL to it and all below it."""
        for pid in [self.process.pid, *descendants(self.process.pid)]:
            kill(pid)
        self.process.wait()

    def stop(self, timeout_s: float = 30) -> int:
        """SIGTERM; its exit code."""
        self.process.terminate()
        return self.process.wait(timeout_s)

    def close(self) -> None:
        """End it, kindly first."""
        if self.alive:
            self.process.terminate()
            try:
                self.process.wait(8)
            except subprocess.TimeoutExpired:
                self.kill()
        self._output.close()


class Installation:
    """An API, and as many orchestrators and workers as a fault needs."""

    def __init__(self, folder: Path, postgres: PostgresServer, redis: RedisServer) -> None:
        self.folder, self.postgres, self.redis = folder, postgres, redis
        self.log = folder / "faults.log"
        self.output = folder / "output.txt"
        self.parts: list[Part] = []
        self._workers: list[Part] = []
        self._orchestrators: list[Part] = []
        self.settings = {
            "KERNELWRIGHT_DATABASE_URL": postgres.url,
            "KERNELWRIGHT_QUEUE": "celery",
            "KERNELWRIGHT_REDIS_URL": redis.url,
            "KERNELWRIGHT_COMPILED": str(folder / "compiled"),
            "KERNELWRIGHT_CLAIM_S": str(CLAIM_S),
            "KERNELWRIGHT_LEASE_S": str(LEASE_S),
            "KERNELWRIGHT_DRAIN_S": "2",
            "KERNELWRIGHT_HOLDOUT": "0",
            "KERNELWRIGHT_EMBEDDER": "hashing",
            "FAULT_LOG": str(self.log),
            "FAULT_PHASE_S": "0.15",
        }
        self.client: httpx.Client | None = None

    def api(self, port: int | None = None) -> Part:
        """The real API; at the port of an earlier one, in its place."""
        port = port or a_free_port()
        part = self._part(["kernelwright", "api", "--port", str(port)])
        if self.client is not None:
            self.client.close()
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=40)
        self.root = f"http://127.0.0.1:{port}"
        until(lambda: self._answers(), "the API's first answer")
        return part

    def orchestrator(self, **more: str) -> Part:
        """An orchestrator with a scripted model."""
        part = self._part(["tests.faults.processes", "orchestrator"], **more)
        self._orchestrators.append(part)
        until(lambda: self.noted(part, "orchestrator ready"), "the orchestrator's start")
        return part

    def nursery(self) -> Nursery:
        """What brings forth many orchestrators in a short time."""
        return Nursery(self.folder / "home", self.settings, self.output)

    def worker(self, **more: str) -> Part:
        """A worker whose kernels do nothing."""
        part = self._begun_worker(**more)
        self._until_ready([part])
        return part

    def _begun_worker(self, **more: str) -> Part:
        part = self._part(["tests.faults.processes", "worker"], **more)
        self._workers.append(part)
        return part

    def node(self, token: str) -> Part:
        """A worker that reaches the API and nothing else."""
        away = {"KERNELWRIGHT_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none", "KERNELWRIGHT_REDIS_URL": ""}
        part = self._part(["tests.faults.processes", "node"], **away, KERNELWRIGHT_TOKEN=token, FAULT_SERVER=self.root)
        until(lambda: self.noted(part, "worker ready"), "the node's start")
        return part

    def _until_ready(self, workers: list[Part]) -> None:
        for part in workers:
            until(partial(self.noted, part, "worker ready"), "the worker's start")

    def compile_worker(self) -> Part:
        """A real worker that only compiles."""
        part = self._part(["kernelwright", "worker", "--device", "compile"])
        until(lambda: self._knows(part, "compile"), "the compile worker's registration")
        return part

    def _knows(self, part: Part, device: str) -> bool:
        assert part.alive, f"it ended with {part.process.returncode}:\n{self.output.read_text()[-3000:]}"
        return bool(self.postgres.rows("SELECT 1 FROM nodes WHERE device = %s", device))

    def workers(self, count: int) -> list[Part]:
        """So many workers whose phases take a moment; those of an earlier fault go on."""
        self._workers = [part for part in self._workers if part.alive]
        self._until_ready([self._begun_worker() for _ in range(len(self._workers), count)])
        for part in self._workers[count:]:
            part.close()
        self._workers = self._workers[:count]
        return self._workers

    def orchestrators(self, count: int) -> list[Part]:
        """So many orchestrators, and no others."""
        self._orchestrators = [part for part in self._orchestrators if part.alive]
        while len(self._orchestrators) < count:
            self.orchestrator()
        for part in self._orchestrators[count:]:
            part.close()
        self._orchestrators = self._orchestrators[:count]
        return self._orchestrators

    def submit(self, count: int = 1, **more: Any) -> list[str]:
        """Jobs that were acknowledged."""
        assert self.client is not None
        body = {
            "problem": {"source": SMALL, "name": "scaled_silu"},
            "budget": {"rounds": ROUNDS, "tokens": TOKENS},
            **more,
        }
        return [self.client.post("/jobs", json=body).raise_for_status().json()["id"] for _ in range(count)]

    def wait(self, jobs: list[str], limit_s: float = LIMIT_S) -> float:
        """Until all jobs are at their end; the seconds it took."""
        return until(lambda: self.open(jobs) == 0, f"the end of {len(jobs)} jobs", limit_s=limit_s)

    def some_ended(self, jobs: list[str]) -> bool:
        """Whether any job is at its end."""
        return self.open(jobs) < len(jobs)

    def open(self, jobs: list[str]) -> int:
        """How many of some jobs have not ended."""
        query = "SELECT count(*) FROM jobs WHERE id = ANY(%s) AND NOT status = ANY(%s)"
        return int(str(self.postgres.rows(query, jobs, list(FINAL))[0][0]))

    def lines(self) -> list[tuple[float, int, str, str]]:
        """What was noted: when, by which process, what, about what."""
        if not self.log.exists():
            return []
        found = [line.split(" ", 3) for line in self.log.read_text().splitlines()]
        return [(float(at), int(pid), what, about) for at, pid, what, about in found]

    def noted(self, part: Part, words: str) -> bool:
        """Whether a process wrote something down; fails where it died instead."""
        what, about = words.split(" ", 1)
        if any(line[1:] == (part.process.pid, what, about) for line in self.lines()):
            return True
        assert part.alive, f"it ended with {part.process.returncode}:\n{self.output.read_text()[-3000:]}"
        return False

    def in_phase(self, phase: str, after: float) -> tuple[float, int, str]:
        """The first entry into a phase after a time: when, in which process, and of which evaluation."""
        found: list[tuple[float, int, str]] = []

        def look() -> bool:
            found[:] = [(at, pid, about) for at, pid, what, about in self.lines() if what == phase and at > after]
            return bool(found)

        until(look, f"an evaluation in {phase}")
        return found[0]

    def check(self, jobs: list[str]) -> None:
        """What must hold after every fault. Raises `AssertionError`."""
        rows = self.postgres.rows("SELECT id, status, steps_done, message FROM jobs WHERE id = ANY(%s)", jobs)
        assert {row[0] for row in rows} == set(jobs), "an acknowledged job is lost"
        assert all(row[1] in WELL for row in rows), [row for row in rows if row[1] not in WELL]
        assert all(row[2] == ROUNDS for row in rows), "a budget was passed, or a round not taken"
        self._check_steps(jobs)
        self._check_once("SELECT candidate_id, count(*) FROM evaluations WHERE job_id = ANY(%s) GROUP BY 1", jobs)
        self._check_once(
            "SELECT entry::json->>'evaluation_id', count(*) FROM memory_log "
            "WHERE kind = 'outcome' AND entry::json->>'job_id' = ANY(%s) GROUP BY 1",
            jobs,
        )
        tokens = self.postgres.rows(
            "SELECT max(t) FROM (SELECT sum(input_tokens + output_tokens) t FROM model_calls WHERE job_id = ANY(%s) "
            "GROUP BY job_id) x",
            jobs,
        )
        assert int(str(tokens[0][0])) <= TOKENS
        finished = self.postgres.rows(
            "SELECT job_id, count(*) FROM events WHERE kind = 'job.finished' AND job_id = ANY(%s) GROUP BY 1", jobs
        )
        assert {row[0] for row in finished} == set(jobs), "a job whose end nobody was told of"
        assert all(row[1] == 1 for row in finished), "a job's end was told twice"

    def repeated_calls(self, jobs: list[str]) -> int:
        """How many model calls were made again, at most, for one job."""
        calls: Counter[str] = Counter(about for _, _, what, about in self.lines() if what == "model")
        again: Counter[str] = Counter()
        for key, count in calls.items():
            again[key.split("/")[0]] += count - 1
        return max((again[job] for job in jobs), default=0)

    def judged(self, jobs: list[str]) -> Counter[str]:
        """How often evaluations were begun, by candidate, of some jobs."""
        mine = {str(row[0]) for row in self.postgres.rows("SELECT id FROM evaluations WHERE job_id = ANY(%s)", jobs)}
        return Counter(about for _, _, what, about in self.lines() if what == "compile" and about in mine)

    def keep(self) -> None:
        """Append what was written and noted to the file that `KERNELWRIGHT_FAULTS_KEEP` names, for whoever asks why."""
        name = os.environ.get("KERNELWRIGHT_FAULTS_KEEP")
        if name is None:
            return
        with Path(name).open("ab") as kept:
            kept.writelines(source.read_bytes() if source.exists() else b"" for source in (self.output, self.log))

    def close(self) -> None:
        """End all processes."""
        for part in self.parts:
            if part.alive:
                part.process.terminate()
        for part in self.parts:
            part.close()
        if self.client is not None:
            self.client.close()

    def _part(self, command: list[str], **more: str) -> Part:
        part = Part(command, self.folder / "home", {**self.settings, **more}, self.output)
        self.parts.append(part)
        return part

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.root}/readyz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def _check_steps(self, jobs: list[str]) -> None:
        steps = self.postgres.rows(
            "SELECT job_id, array_agg(step ORDER BY step) FROM steps WHERE job_id = ANY(%s) GROUP BY 1", jobs
        )
        assert {row[0] for row in steps} == set(jobs)
        assert all(row[1] == list(range(ROUNDS)) for row in steps), "a step is missing or there twice"

    def _check_once(self, query: str, jobs: list[str]) -> None:
        rows = self.postgres.rows(query, jobs)
        assert len(rows) == ROUNDS * len(jobs), f"{len(rows)} instead of {ROUNDS * len(jobs)}: {query}"
        assert all(row[1] == 1 for row in rows), f"something was counted twice: {query}"


@contextmanager
def installed(folder: Path, postgres: PostgresServer, redis: RedisServer) -> Iterator[Installation]:
    """An installation with an API over an empty database."""
    postgres.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    redis.flush()
    place = Installation(folder, postgres, redis)
    try:
        upgrade = subprocess.run(
            [sys.executable, "-m", "kernelwright", "db", "upgrade"],
            cwd=ROOT,
            env=environment(folder / "home", **place.settings),
            capture_output=True,
            text=True,
            check=False,
        )
        assert upgrade.returncode == 0, upgrade.stderr
        place.api()
        yield place
    except BaseException:
        place.keep()
        raise
    finally:
        place.close()

"""The faults: each breaks something a number of times and says what it saw. What must hold is asserted on the way."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import httpx

from tests.faults.containment import BOMBS, KINDS, bombed
from tests.faults.disk import database_disk_full, embedded_disk_full
from tests.faults.docker_daemon import docker_killed
from tests.faults.ground import folder, kill, postgres_server, redis_server
from tests.faults.installation import CLAIM_S, FINAL, LEASE_S, ROUNDS, Installation, Part, installed
from tests.faults.orchestrators import PLACES, orchestrator_killed
from tests.faults.processes import PHASES
from tests.faults.searching import searched
from tests.waiting import LIMIT_S, until


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One line of the table."""

    fault: str
    times: int
    holds: str
    """What was seen to hold, with its worst figure."""
    seconds: float


@dataclass(kw_only=True)
class Tally:
    """The worst of some figures."""

    worst: dict[str, float] = field(default_factory=dict)

    def saw(self, what: str, figure: float) -> None:
        """Keep the largest."""
        self.worst[what] = max(self.worst.get(what, 0.0), figure)

    def __str__(self) -> str:
        return ", ".join(f"{what} {figure:.3g}" for what, figure in self.worst.items())


Fault = Callable[[Installation, int, Tally], str]


def child_killed(place: Installation, times: int, tally: Tally) -> str:
    """SIGKILL of a worker's child, in each phase in turn."""
    place.orchestrators(1)
    jobs: list[str] = []
    for phase in itertools.islice(itertools.cycle(PHASES), times):
        evaluation, struck = _struck(place, 1, phase, jobs, lambda _, pid: kill(pid))
        tally.saw("resumed after s", _resumed(place, evaluation, struck))
        assert tally.worst["resumed after s"] <= 5.0, f"killed in {phase}, {evaluation} {tally}"
        place.wait(jobs[-1:])
    place.check(jobs)
    return "all jobs end"


def _struck(
    place: Installation, workers: int, phase: str, jobs: list[str], strike: Callable[[list[Part], int], None]
) -> tuple[str, float]:
    """Strike at the child that is in a phase: which evaluation that hit, and when.

    A blow after the evaluation's end hits nothing (phases are short, a busy machine is late): another job is struck."""
    while True:
        there = place.workers(workers)
        began = time.time()
        jobs += place.submit()
        _, pid, evaluation = place.in_phase(phase, began)
        strike(there, pid)
        struck = time.time()
        if not _was_noted(place, ("judged", evaluation)):
            return evaluation, struck
        place.wait(jobs[-1:])


def worker_killed(place: Installation, times: int, tally: Tally) -> str:
    """SIGKILL of a whole worker; another one takes its order over."""
    place.orchestrators(1)
    jobs: list[str] = []
    for _ in range(times):
        evaluation, struck = _struck(
            place,
            2,
            "correctness",
            jobs,
            lambda workers, pid: next(part for part in workers if pid in _tree(part.process.pid)).kill(),
        )
        tally.saw("resumed after s", _resumed(place, evaluation, struck))
        assert tally.worst["resumed after s"] <= CLAIM_S + 30, str(tally)
        place.wait(jobs[-1:])
    place.check(jobs)
    return f"all jobs end, claim {CLAIM_S:.0f} s"


def worker_stopped(place: Installation, times: int, tally: Tally) -> str:
    """A worker's child sleeps past its claim; its late answer is refused."""
    place.orchestrators(1)
    place.workers(2)
    jobs: list[str] = []
    for _ in range(times):
        began = time.time()
        jobs += place.submit()
        _, pid, evaluation = place.in_phase("correctness", began)
        refused = _refusals(place)
        kill(pid, signal.SIGSTOP)
        tally.saw("resumed after s", _resumed(place, evaluation, time.time()))
        until(partial(_answered, place, evaluation), "the other worker's answer")
        kill(pid, signal.SIGCONT)
        until(partial(_refused_since, place, refused), "the refusal of a stale answer")
        place.wait(jobs[-1:])
    place.check(jobs)
    return "the stale answer is refused"


def two_orchestrators(place: Installation, times: int, tally: Tally) -> str:
    """Two orchestrators that look for the same jobs."""
    place.workers(2)
    place.orchestrators(0)
    for _ in range(2):
        # Nobody dies here: with leases as deployed, a slow machine is not taken for a dead orchestrator.
        place.orchestrator(KERNELWRIGHT_LEASE_S="15")
    jobs = place.submit(times)
    tally.saw("s for all", place.wait(jobs, LIMIT_S + 6 * times))
    place.check(jobs)
    tokens = place.postgres.rows("SELECT max(lease_token) FROM jobs WHERE id = ANY(%s)", jobs)[0][0]
    assert tokens == 1, "a job had two holders"
    assert place.repeated_calls(jobs) == 0
    place.orchestrators(0)
    return "one holder a job, no forked checkpoint"


def one_of_two_killed(place: Installation, times: int, tally: Tally) -> str:
    """SIGKILL of one of two orchestrators of a machine, with leases as deployed: the other need not wait for them."""
    place.workers(2)
    jobs: list[str] = []
    for _ in range(times):
        place.orchestrators(0)
        doomed = place.orchestrator(KERNELWRIGHT_LEASE_S="15", FAULT_MODEL_S="300")
        jobs += place.submit(3)
        until(partial(_holds_three, place, doomed), "the claim of three jobs")
        place.orchestrator(KERNELWRIGHT_LEASE_S="15")
        held = _held_by(place, doomed)
        doomed.kill()
        killed = time.monotonic()
        until(partial(_others_hold, place, doomed, held), "the takeover")
        tally.saw("taken over after s", time.monotonic() - killed)
        place.wait(jobs)
    place.check(jobs)
    place.orchestrators(0)
    assert tally.worst["taken over after s"] < 15, "its leases were waited for"
    return "all jobs end, leases of 15 s"


def _held_by(place: Installation, part: Part) -> list[str]:
    """The jobs whose leases an orchestrator has."""
    rows = place.postgres.rows("SELECT id FROM jobs WHERE lease_owner LIKE %s", f"%-{part.process.pid}-%-%")
    return [str(row[0]) for row in rows]


def _holds_three(place: Installation, part: Part) -> bool:
    return len(_held_by(place, part)) == 3


def _others_hold(place: Installation, dead: Part, jobs: list[str]) -> bool:
    """Whether none of some jobs waits for a dead orchestrator any more, and all are held or have ended."""
    query = "SELECT count(*) FROM jobs WHERE id = ANY(%s) AND (lease_owner IS NOT NULL OR status = ANY(%s))"
    return not _held_by(place, dead) and int(str(place.postgres.rows(query, jobs, list(FINAL))[0][0])) == len(jobs)


def compiler_killed(place: Installation, times: int, tally: Tally) -> str:
    """SIGKILL of the only compile worker while it has orders; device workers compile by themselves then."""
    place.orchestrators(1)
    place.workers(1)
    jobs: list[str] = []
    for _ in range(times):
        compiler = place.compile_worker()
        try:
            before = _compiled(place)
            jobs += place.submit(3)
            until(lambda: _compiled(place) > before, "a compilation ahead")  # noqa: B023
        finally:
            compiler.kill()
        place.postgres.execute("DELETE FROM nodes WHERE device = 'compile'")  # or 30 s later by itself
        jobs += place.submit(1)
        tally.saw("all ended after s", place.wait(jobs))
    place.check(jobs)
    return "candidates are compiled ahead while it lives, and every job ends without it"


def _compiled(place: Installation) -> int:
    query = "SELECT count(*) FROM work_orders WHERE kind = 'compilation' AND status = 'done'"
    return int(str(place.postgres.rows(query)[0][0]))


def redis_killed(pause_s: float) -> Fault:
    """Redis is killed while a worker is busy, and comes back after a while."""

    def fault(place: Installation, times: int, tally: Tally) -> str:
        place.orchestrators(1)
        workers = place.workers(2)
        jobs: list[str] = []
        for _ in range(times):
            began = time.time()
            batch = place.submit(5)
            place.in_phase("correctness", began)
            place.redis.kill()
            batch += place.submit(3)  # acknowledged while the broker is away
            time.sleep(pause_s)
            place.redis.start()
            tally.saw("all ended after s", place.wait(batch))
            assert all(part.alive for part in workers), "a worker did not outlive its broker"
            jobs += batch
        place.check(jobs)
        return "every job finishes, every worker lives"

    return fault


def redis_flushed(place: Installation, times: int, tally: Tally) -> str:
    """Redis forgets everything."""
    place.orchestrators(1)
    place.workers(1)
    jobs: list[str] = []
    for _ in range(times):
        batch = place.submit(6)
        until(partial(place.some_ended, batch), "the first job's end")
        place.redis.flush()
        tally.saw("all ended after s", place.wait(batch))
        jobs += batch
    place.check(jobs)
    return "every job finishes"


def postgres_stopped(pause_s: float) -> Fault:
    """PostgreSQL is stopped as if its plug was pulled, and comes back."""

    def fault(place: Installation, times: int, tally: Tally) -> str:
        assert place.client is not None
        place.orchestrators(1)
        place.workers(1)
        jobs: list[str] = []
        for _ in range(times):
            batch = place.submit(4)
            place.postgres.stop()
            until_s = time.monotonic() + pause_s
            while time.monotonic() < until_s:
                _refused_clearly(place.client.get(f"/jobs/{batch[0]}"))
                _refused_clearly(place.client.post("/jobs", json={"problem": {"source": "x", "name": "x"}}), 422)
                time.sleep(0.5)
            place.postgres.start()
            tally.saw("answers after s", until(partial(_answers, place.client), "an answer"))
            tally.saw("all ended after s", place.wait(batch))
            jobs += batch
        place.check(jobs)
        return "503 problem+json, no lost commit"

    return fault


def _refused_clearly(answer: httpx.Response, *also: int) -> None:
    assert answer.status_code in (503, *also), f"{answer.status_code}: {answer.text[:300]}"
    assert answer.headers["content-type"] == "application/problem+json"


def orchestrator_drained(place: Installation, times: int, tally: Tally) -> str:
    """An orchestrator is drained in the middle of its jobs; the next one takes them up."""
    place.workers(1)
    jobs: list[str] = []
    for _ in range(times):
        first = place.orchestrators(1)[0]
        batch = place.submit(4)
        until(partial(place.some_ended, batch), "the first job's end")
        began = time.monotonic()
        assert first.stop() == 0
        tally.saw("drained in s", time.monotonic() - began)
        place.orchestrators(1)
        place.wait(batch)
        jobs += batch
    place.check(jobs)
    assert place.repeated_calls(jobs) == 0, "a drained orchestrator leaves at a checkpoint"
    assert max(place.judged(jobs).values()) == 1, "what workers had begun was not begun again"
    return "no model call and no evaluation repeated"


def cancelled(place: Installation, times: int, tally: Tally) -> str:
    """A job is cancelled while a worker evaluates its candidate."""
    assert place.client is not None
    place.orchestrators(1)
    place.workers(0)
    place.worker(FAULT_PHASE_S="20")
    for _ in range(times):
        began = time.time()
        job = place.submit()[0]
        _, _, evaluation = place.in_phase("compile", began)
        asked = time.monotonic()
        place.client.post(f"/jobs/{job}/cancel").raise_for_status()
        until(partial(_was_noted, place, ("stopped", evaluation)), "the candidate's end")
        tally.saw("candidate stopped after s", time.monotonic() - asked)
        place.wait([job])
        assert place.client.get(f"/jobs/{job}").json()["status"] == "cancelled"
    place.workers(0)
    assert tally.worst["candidate stopped after s"] <= 3.0
    return "stopped within 3 s"


def _resumed(place: Installation, evaluation: str, after: float) -> float:
    """Seconds from a time until an evaluation was begun again."""
    found: list[float] = []

    def look() -> bool:
        found[:] = [
            at for at, _, what, about in place.lines() if (what, about) == ("compile", evaluation) and at > after
        ]
        return bool(found)

    until(look, "a second try")
    return found[0] - after


def _answered(place: Installation, order: str) -> bool:
    return bool(place.postgres.rows("SELECT 1 FROM work_orders WHERE id = %s AND status = 'done'", order))


def _refused_since(place: Installation, before: int) -> bool:
    return _refusals(place) > before


def _answers(client: httpx.Client) -> bool:
    return client.get("/jobs").status_code == 200


def _was_noted(place: Installation, words: tuple[str, str]) -> bool:
    return any(line[2:] == words for line in place.lines())


def _is_dead(part: Part) -> bool:
    return not part.alive


def _refusals(place: Installation) -> int:
    return place.output.read_text().count("came too late")


def _tree(pid: int) -> list[int]:
    from tests.e2e.programs import descendants

    return [pid, *descendants(pid)]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A fault with how often it happens: in the suite's full run, and in a quick one."""

    name: str
    fault: Fault
    full: int
    quick: int


ROWS = (
    Row(name="SIGKILL of a worker's child in compile, correctness, timing", fault=child_killed, full=50, quick=3),
    Row(name="SIGKILL of a whole worker", fault=worker_killed, full=20, quick=1),
    Row(name="a worker asleep past its claim", fault=worker_stopped, full=5, quick=1),
    Row(
        name="SIGKILL of the orchestrator, node boundaries and inside",
        fault=orchestrator_killed,
        full=10 * len(PLACES),
        quick=6,
    ),
    Row(name="two orchestrators, the same jobs", fault=two_orchestrators, full=100, quick=10),
    Row(name="SIGKILL of one of two orchestrators", fault=one_of_two_killed, full=10, quick=1),
    Row(name="SIGTERM of the orchestrator", fault=orchestrator_drained, full=5, quick=1),
    Row(name="cancel of a running candidate", fault=cancelled, full=10, quick=1),
    Row(name="SIGKILL of the compile worker", fault=compiler_killed, full=5, quick=1),
    Row(name="Redis killed for 3 s", fault=redis_killed(3), full=5, quick=1),
    Row(name="Redis killed for 60 s", fault=redis_killed(60), full=5, quick=0),
    Row(name="FLUSHALL", fault=redis_flushed, full=5, quick=1),
    Row(name="PostgreSQL stopped for 30 s", fault=postgres_stopped(30), full=5, quick=0),
    Row(name="PostgreSQL stopped for 3 s", fault=postgres_stopped(3), full=1, quick=1),
    Row(name="Docker daemon killed for 60 s", fault=docker_killed(60), full=3, quick=0),
    Row(name="Docker daemon killed for 5 s", fault=docker_killed(5), full=1, quick=1),
    Row(name="PostgreSQL's disk full", fault=database_disk_full, full=3, quick=1),
    Row(name="disk full, embedded", fault=embedded_disk_full, full=3, quick=1),
    *(
        Row(name=f"{bomb}, sandbox {sandbox}", fault=bombed(bomb, sandbox), full=10, quick=int(sandbox == "process"))
        for sandbox in KINDS
        for bomb in BOMBS
    ),
    *(Row(name=f"secrets searched, sandbox {kind}", fault=searched(kind), full=10, quick=1) for kind in KINDS),
)


def happen(row: Row, times: int, place: Installation) -> Outcome:
    """Break it so many times. Raises `AssertionError` where something does not hold."""
    began, tally = time.monotonic(), Tally()
    holds = row.fault(place, times, tally)
    figures = f"{holds} ({tally})" if tally.worst else holds
    return Outcome(fault=row.name, times=times, holds=figures, seconds=time.monotonic() - began)


@contextmanager
def ground() -> Iterator[Installation]:
    """An installation on servers of its own. Raises `UnavailableError`."""
    with (
        folder() as place,
        postgres_server() as postgres,
        redis_server() as redis,
        installed(place, postgres, redis) as installation,
    ):
        yield installation


__all__ = ["LEASE_S", "ROUNDS", "ROWS", "Outcome", "Row", "ground", "happen"]

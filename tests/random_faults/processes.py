"""A schedule on real processes: what happens in process at an operation happens here at a moment of a job's life.

Jobs are run by two orchestrators and two workers of their own, over a Redis and a PostgreSQL that are killed, emptied
and cut off. Whom a fault strikes is drawn from the schedule's seed. Afterwards everything is healed, all jobs end, and
the same must hold as after every fault of `tests.faults`.
"""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx

from tests.faults.ground import kill
from tests.faults.installation import CLAIM_S, LEASE_S, Installation, Part
from tests.faults.nursery import Born, Nursery
from tests.random_faults.schedule import OPERATIONS, Fault, Kind, Schedule
from tests.waiting import until

ORCHESTRATORS, WORKERS = 2, 2
LIFE_S = 4.0
"""So long a life's faults are spread over: about what a job of two rounds takes here."""
STALL_S = max(CLAIM_S, LEASE_S) + 1.5
MOST_SKEW_S = 40.0
END_S = 180.0
"""So long jobs may take after everything is healed, on a busy machine."""
FAKETIME = "/usr/lib/*/faketime/libfaketime.so.1"
CUT_OFF = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
)
READ_ONLY = "ALTER SYSTEM SET default_transaction_read_only = {}"


@dataclass(kw_only=True)
class Struck:
    """What really happened under a schedule."""

    happened: Counter[str] = field(default_factory=Counter)
    """Acts, as the table names them."""
    jobs: list[str] = field(default_factory=list)
    healed_s: float = 0.0
    """From the last healing to the end of all jobs."""


class ProcessGround:
    """An installation that a schedule is played on; serves one schedule after another."""

    def __init__(self, place: Installation) -> None:
        self._place = place
        self._nursery: Nursery = place.nursery()
        self._orchestrators: list[Born] = []
        self._workers: list[Part] = []
        self._timers: list[threading.Timer] = []

    def close(self) -> None:
        """End the orchestrators; the installation ends the rest."""
        self._nursery.close()

    @property
    def pids(self) -> dict[str, list[int]]:
        """Processes that run now, by what they are."""
        return {
            "orchestrators": [self._nursery.pid],
            "workers": [one.process.pid for one in self._workers if one.alive],
        }

    def play(self, schedule: Schedule) -> Struck:
        """A schedule from its jobs to their ends. Raises `AssertionError` for what must not be."""
        chance, struck = random.Random(schedule.seed), Struck()
        self.heal()
        until(partial(self._submitted, schedule.jobs, struck), "the acceptance of jobs after healing")
        try:
            for life in schedule.lives:
                self._live(life, schedule, chance, struck)
        finally:
            self.heal()
        struck.healed_s = self._place.wait(struck.jobs, END_S)
        self._place.check(struck.jobs)
        return struck

    def _submitted(self, count: int, struck: Struck) -> bool:
        """Submit what is missing; a refusal (503) in the first moments after healing is tried again, as clients do."""
        try:
            while len(struck.jobs) < count:
                struck.jobs += self._place.submit()
        except httpx.HTTPStatusError as error:
            if error.response.status_code != 503:
                raise
            return False
        return True

    def _live(self, life: tuple[Fault, ...], schedule: Schedule, chance: random.Random, struck: Struck) -> None:
        """The faults of a life, each at its share of the time that the life takes."""
        began = time.monotonic()
        for fault in sorted(life, key=lambda one: one.at):
            due = began + LIFE_S * fault.at / (OPERATIONS * schedule.jobs)
            time.sleep(max(0.0, due - time.monotonic()))
            for _ in range(fault.times if fault.kind in _REPEATED else 1):
                struck.happened[self.strike(fault, chance)] += 1
        time.sleep(max(0.0, began + LIFE_S - time.monotonic()))
        self.replace_dead()

    def strike(self, fault: Fault, chance: random.Random) -> str:
        """Let a fault happen once, now; what it came to."""
        return self._acts(chance)[fault.kind](fault)

    def _acts(self, chance: random.Random) -> dict[Kind, Callable[[Fault], str]]:
        return {
            Kind.KILL: partial(self._kill, chance),
            Kind.STALL: partial(self._stall, chance),
            Kind.DATABASE: self._cut_off,
            Kind.LOST_ANSWER: self._restart_database,
            Kind.BROKER: partial(self._break_broker, chance),
            Kind.CLOCK: self._skew,
            Kind.DISK: self._refuse_writes,
        }

    def _kill(self, chance: random.Random, _fault: Fault) -> str:
        """SIGKILL of an orchestrator, a worker or a worker's child."""
        act = chance.choice(["orchestrator killed", "worker killed", "worker's child killed"])
        if act == "orchestrator killed":
            chance.choice(self._orchestrators).kill()
        elif act == "worker killed":
            chance.choice(self._workers).kill()
        else:
            kill(self._child(chance))
        return act

    def _stall(self, chance: random.Random, _fault: Fault) -> str:
        """SIGSTOP past leases and claims, then SIGCONT, while everything else goes on."""
        act = chance.choice(["orchestrator suspended", "worker's child suspended"])
        pid = chance.choice(self._orchestrators).pid if act == "orchestrator suspended" else self._child(chance)
        kill(pid, signal.SIGSTOP)
        self._later(STALL_S, partial(kill, pid, signal.SIGCONT))
        return act

    def _cut_off(self, _fault: Fault) -> str:
        """Every connection is terminated, whatever it is doing."""
        self._place.postgres.execute(CUT_OFF)
        return "database connections terminated"

    def _restart_database(self, _fault: Fault) -> str:
        """PostgreSQL dies as if its plug were pulled: a commit may have happened and not been answered."""
        self._place.postgres.stop()
        self._place.postgres.start()
        return "PostgreSQL killed and restarted"

    def _break_broker(self, chance: random.Random, fault: Fault) -> str:
        """Redis goes away for a while, or forgets everything."""
        if chance.random() < 0.5:
            self._place.redis.flush()
            return "FLUSHALL"
        self._place.redis.kill()
        time.sleep(min(2.0, fault.seconds / 10))
        self._place.redis.start()
        return "Redis killed and restarted"

    def _skew(self, fault: Fault) -> str:
        """An orchestrator whose clock is ahead takes part for a while."""
        library = next(iter(Path("/").glob(FAKETIME.lstrip("/"))), None)
        if library is None:
            return "clock ahead (not tried: apt-get install faketime)"
        ahead = min(fault.seconds, MOST_SKEW_S)
        clock = {"LD_PRELOAD": str(library), "FAKETIME": f"+{ahead:.0f}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        skewed = self._place.orchestrator(**clock)
        self._later(LIFE_S, skewed.kill)
        return "orchestrator with a clock ahead"

    def _refuse_writes(self, _fault: Fault) -> str:
        """The database refuses writes for a moment, as one does whose disk is full."""
        self._read_only("on")
        self._later(0.5, partial(self._read_only, "off"))
        return "database refuses writes"

    def _read_only(self, how: str) -> None:
        with contextlib.suppress(Exception):  # it may be down at this very moment; healing says it again
            self._place.postgres.execute(READ_ONLY.format(how))
            self._place.postgres.execute("SELECT pg_reload_conf()")

    def _child(self, chance: random.Random) -> int:
        """A worker's child, which takes orders; the worker itself where it has none at this moment."""
        worker = chance.choice(self._workers)
        return next(iter(_children(worker.process.pid)), worker.process.pid)

    def _later(self, seconds: float, act: Callable[[], object]) -> None:
        timer = threading.Timer(seconds, act)
        timer.start()
        self._timers.append(timer)

    def heal(self) -> None:
        """Everything runs again, and nothing is due any more."""
        for timer in self._timers:
            timer.join()
        self._timers.clear()
        self._read_only("off")
        self.replace_dead()

    def replace_dead(self) -> None:
        """As many orchestrators and workers as there were."""
        self._workers = self._place.workers(WORKERS)
        self._orchestrators = [one for one in self._orchestrators if one.alive]
        while len(self._orchestrators) < ORCHESTRATORS:
            born = self._nursery.orchestrator()
            until(partial(self._ready, born), "the start of an orchestrator")
            self._orchestrators.append(born)

    def _ready(self, one: Born) -> bool:
        assert one.alive, f"it ended:\n{self._place.output.read_text()[-3000:]}"
        return any(line[1:] == (one.pid, "orchestrator", "ready") for line in self._place.lines())


_REPEATED = {Kind.DATABASE, Kind.KILL}
"""Kinds whose number of operations is a number of acts here; the others last for a while anyway."""


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]

"""Programs that grab, flood, hang and look around, in a sandbox beside a neighbour that works; nothing may get out."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from services.ports.sandboxes import ExitStatus, Sandbox, SandboxLimits
from tests.contracts.sandboxes import SANDBOXES, Bench, Inside, bench_of, processes_of
from tests.docker_host import PLACE, docker_address, toolchain_image
from tests.waiting import until
from workers.sandboxes.docker.container_spec import ContainerSpec
from workers.sandboxes.docker.sandbox import DockerSandbox
from workers.sandboxes.plan import Level

if TYPE_CHECKING:
    from tests.faults.installation import Installation
    from tests.faults.rows import Fault, Tally

KINDS = {"process": f"process-{Level.PRIVILEGED if os.geteuid() == 0 else Level.USER}", "docker": "docker"}
OUTPUT_BYTES = 1 << 20
WATCHED_S = 2.0
"""So long a neighbour is watched, alone and beside a bomb."""

NEIGHBOUR = """
while True:
    channel.receive(timeout_s=120)
    total = 0
    for number in range(20_000):
        total += number * number
    channel.send({"result": total})
"""
"""A candidate that is called again and again: about a millisecond of work a call."""


@dataclass(frozen=True, kw_only=True)
class Bomb:
    """A hostile program, what it may use, and how its end must look."""

    code: str
    limits: SandboxLimits
    contained: Callable[[ExitStatus], bool]
    warm_s: float = 0.0
    """Until it does its worst."""


def _timed_out(status: ExitStatus) -> bool:
    return status.timed_out


def _stopped(status: ExitStatus) -> bool:
    return status.timed_out or status.exhausted == "processes"


def _out_of_memory(status: ExitStatus) -> bool:
    return status.out_of_memory and not status.timed_out


def _cut(status: ExitStatus) -> bool:
    return status.output_cut and status.output == "x" * OUTPUT_BYTES


BOMBS = {
    "fork bomb": Bomb(
        code="""
import os
channel.send({"result": os.getuid()})
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
        limits=SandboxLimits(wall_s=3.0, processes=64),
        contained=_stopped,
    ),
    "memory bomb": Bomb(
        code="""
import os
channel.send({"result": os.getuid()})
held = []
while True:
    held.append(bytearray(os.urandom(4096)) * 1024)
""",
        limits=SandboxLimits(wall_s=30.0, memory_bytes=384 << 20),
        contained=_out_of_memory,
    ),
    "1 GB of output": Bomb(
        code="""
import os
channel.send({"result": os.getuid()})
for _ in range(1024):
    os.write(1, b"x" * (1 << 20))
""",
        limits=SandboxLimits(wall_s=60.0, output_bytes=OUTPUT_BYTES),
        contained=_cut,
    ),
    "busy loop": Bomb(
        code="""
import os
channel.send({"result": os.getuid()})
for _ in range(3):
    os.fork()
while True:
    pass
""",
        limits=SandboxLimits(wall_s=3.0, processes=64),
        contained=_timed_out,
    ),
    "hang in a system call": Bomb(
        code="""
import os, signal
from tests.waiting import until
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
reading, writing = os.pipe()
channel.send({"result": os.getuid()})
os.read(reading, 1)
""",
        limits=SandboxLimits(wall_s=3.0),
        contained=_timed_out,
    ),
}


def bombed(kind: str, sandbox: str) -> Fault:
    """A bomb goes off in a worker's sandbox; a neighbour is called in the sandbox of a worker with cores of its own."""
    bomb = BOMBS[kind]

    def fault(place: Installation, times: int, tally: Tally) -> str:
        del place  # its processes are neighbours too
        pairs: list[tuple[list[float], list[float]]] = []
        ours, theirs = _halves(sorted(os.sched_getaffinity(0)))
        with ExitStack() as stack:
            stack.enter_context(on_cores(theirs))
            bench = stack.enter_context(_own_bench(sandbox))
            assert bench.result_of("import os\nresult = sorted(os.sched_getaffinity(0))") == sorted(theirs)
            stack.enter_context(on_cores(ours))
            neighbour = stack.enter_context(_own_bench(sandbox)).run(NEIGHBOUR, SandboxLimits(wall_s=3600.0))
            for _ in range(times):
                alone = calls_of(neighbour, lambda began: time.monotonic() - began < WATCHED_S)
                pairs.append((alone, _explode(bench, theirs, bomb, neighbour)))
            assert bench.result_of("result = 6 * 7") == 42, "the sandbox serves no more"
        for name, calls in zip(("neighbour's p95 ms alone", "beside it"), zip(*pairs, strict=True), strict=True):
            tally.saw(name, percentile([took for part in calls for took in part], 0.95) * 1e3)
        # A processor that other guests of its host share is slow for minutes and fast for minutes: pairs feel it less.
        ratios = [percentile(beside, 0.95) / percentile(alone, 0.95) for alone, beside in pairs]
        tally.saw("the middle of their ratios, one a time", statistics.median(ratios))
        return "contained" + (", output cut at 1 MB and marked" if bomb.contained is _cut else "")

    return fault


def _explode(bench: Bench, cores: set[int], bomb: Bomb, neighbour: Inside) -> list[float]:
    """One bomb to its end; how long the neighbour's calls took meanwhile, in seconds."""
    with on_cores(cores):
        struck = bench.run(bomb.code, bomb.limits)
    uid = struck.answer(60.0)
    calls = calls_of(neighbour, lambda _began: struck.process.wait(0.0) is None)
    status = struck.end(90.0)
    assert bomb.contained(status), f"not contained: {status}"
    assert len(status.output) <= OUTPUT_BYTES
    if uid != os.getuid():
        until(lambda: not processes_of(uid), "the end of all its processes")
    return calls


def calls_of(neighbour: Inside, going_on: Callable[[float], bool]) -> list[float]:
    """Seconds that each call took, one after another, while a condition holds."""
    began, took = time.monotonic(), []
    while going_on(began):
        asked = time.monotonic()
        neighbour.channel.send({"call": 1})
        neighbour.answer(60.0)
        took.append(time.monotonic() - asked)
        time.sleep(0.002)
    return took


def _halves(cores: list[int]) -> tuple[set[int], set[int]]:
    """The cores of two workers; of one core, both have it."""
    middle = len(cores) // 2
    return set(cores[middle:]), set(cores[:middle] or cores)


@contextmanager
def on_cores(cores: set[int]) -> Iterator[None]:
    """As a worker that was started with `taskset`."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def _own_bench(sandbox: str) -> Iterator[Bench]:
    """A sandbox that nobody shares, on the cores of this moment."""
    if sandbox != "docker":
        with benches(sandbox) as bench:
            yield bench
        return
    made = DockerSandbox(
        ContainerSpec(image=toolchain_image(), host_python=True), PLACE / "sandboxes", address=docker_address(), warm=1
    )
    try:
        made.start()
        made.wait_warm()
        with contextmanager(bench_of)(made) as bench:
            yield bench
    finally:
        made.close()


@contextmanager
def benches(sandbox: str) -> Iterator[Bench]:
    """A sandbox of a kind; skips where this machine does not give it."""
    made: Sandbox = SANDBOXES[KINDS[sandbox]]()
    try:
        with contextmanager(bench_of)(made) as bench:
            yield bench
    finally:
        made.close()


def percentile(values: list[float], share: float) -> float:
    """Of some values; 0 where there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

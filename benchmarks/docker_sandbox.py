"""What containers cost: from the pool to the first call, and evaluations a minute beside the process sandbox.

Usage: python -m benchmarks.docker_sandbox [--forks 20] [--candidates 6] [--rounds 2] [--one-shot]

Prints ratios of one run on one machine; the same candidates (honest kernels of tests/integrity) in the same order, the
sandboxes taking turns, a job's first validation left out. Needs a Docker host, or root and dockerd.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from services.domain.errors import SandboxError
from services.ports.sandboxes import Sandbox
from tests.contracts.sandboxes import LIMITS
from tests.docker_host import PLACE, docker_address, toolchain_image
from tests.integrity.conftest import SHEET
from tests.integrity.test_candidates import Declared, all_declared, judge
from workers.backends.cpp import CppBackend, runtime_view
from workers.evaluation.evaluator import Evaluator
from workers.ipc.wire import Channel
from workers.sandboxes.docker.container_spec import ContainerSpec
from workers.sandboxes.docker.sandbox import DockerSandbox
from workers.sandboxes.process import ProcessSandbox


def docker_sandbox(*, warm: int, one_shot: bool = False) -> DockerSandbox:
    spec = ContainerSpec(image=toolchain_image(), host_python=True)
    sandbox = DockerSandbox(spec, PLACE / "sandboxes", address=docker_address(), warm=warm, one_shot=one_shot)
    sandbox.start()
    sandbox.wait_warm()
    return sandbox


def first_call_s(sandbox: Sandbox) -> float:
    """From asking for a process to the answer of a call in it."""
    started = time.monotonic()
    process = sandbox.fork("workers.sandboxes.probe:describe", LIMITS)
    channel = Channel(process.socket)
    channel.receive(timeout_s=30.0)
    elapsed = time.monotonic() - started
    process.kill()
    channel.close()
    return elapsed


def report_first_calls(forks: int) -> None:
    fresh, used, warming = [], [], []
    for number in range(forks):
        started = time.monotonic()
        sandbox = docker_sandbox(warm=1)
        warming.append(time.monotonic() - started)
        try:
            sandbox.dedicate(f"job-{number}")
            fresh.append(first_call_s(sandbox))
            used += [first_call_s(sandbox) for _ in range(3)]
        finally:
            sandbox.close()
    process = ProcessSandbox()
    process.explain()
    beside = [first_call_s(process) for _ in range(3 * forks)]
    process.close()
    for name, times in (
        ("start of a container until it is warm", warming),
        ("pool to first call, new container", fresh),
        ("pool to first call, job's own container", used),
        ("process sandbox", beside),
    ):
        print(f"{name:42} median {statistics.median(times):.3f} s, worst {max(times):.3f} s ({len(times)})")


@contextmanager
def evaluator(sandbox: Sandbox) -> Iterator[Evaluator]:
    with tempfile.TemporaryDirectory() as directory:
        state = Path(directory)
        backends = {"cpp": CppBackend(sandbox, state)}
        made = Evaluator(sandbox, backends, SHEET, views={"cpp": runtime_view}, memory_bytes=2 << 30)
        try:
            yield made
        finally:
            made.close()


def evaluation_s(bench: Evaluator, candidates: Sequence[Declared]) -> list[float]:
    times = []
    for candidate in candidates:
        started = time.monotonic()
        report = judge(bench, candidate)
        times.append(time.monotonic() - started)
        if report.verdict.value != candidate.verdict:
            print(f"  {candidate.name}: {report.verdict.value} instead of {candidate.verdict}")
    return times


def report_throughput(names: Sequence[str], candidates: Sequence[Declared], rounds: int) -> None:
    makers: dict[str, Callable[[], Sandbox]] = {
        "process": ProcessSandbox,
        "docker": lambda: docker_sandbox(warm=3),
        "docker, one-shot": lambda: docker_sandbox(warm=3, one_shot=True),
    }
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names:
            sandbox = makers[name]()
            try:
                with evaluator(sandbox) as bench:
                    judge(bench, candidates[0])  # the job's referee and baselines start here
                    times[name] += evaluation_s(bench, candidates)
            finally:
                sandbox.close()
        print(f"round {number + 1}: " + ", ".join(f"{name} {sum(times[name]):.1f} s" for name in names), flush=True)
    base = sum(times["process"])
    for name in names:
        total = sum(times[name])
        rate = 60 * len(times[name]) / total
        print(f"{name:20} {rate:6.1f} evaluations a minute, {base / total:5.1%} of the process sandbox's throughput")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forks", type=int, default=10)
    parser.add_argument("--candidates", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--one-shot", action="store_true", help="also one-shot containers")
    given = parser.parse_args()
    honest = all_declared("honest")
    problem = Counter(one.problem for one in honest).most_common(1)[0][0]  # a job has one problem
    candidates = [one for one in honest if one.problem == problem][: given.candidates]
    print(f"{len(candidates)} candidates of the problem {problem}")
    try:
        if given.forks:
            report_first_calls(given.forks)
        names = ["process", "docker", *(["docker, one-shot"] if given.one_shot else [])]
        report_throughput(names, candidates, given.rounds)
    except SandboxError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()

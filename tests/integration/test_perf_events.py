"""The sampler sees every thread of a process, does not disturb it, and bears with its being stopped."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from workers.sampler.handle import SamplerHandle, missing_permission
from workers.sampler.perf_events import PerfSampler

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        bool(missing_permission()), reason="this machine lets nobody sample (kernel.perf_event_paranoid, CAP_PERFMON)"
    ),
]
BUSY = """
import sys, threading, hashlib
def work():
    while True:
        hashlib.sha256(bytes(1 << 20)).digest()
print(1, flush=True)
sys.stdin.readline()
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
work()
"""


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def until_sampled(sampler: PerfSampler, samples: int, threads: int = 1) -> None:
    """Wait for so many; the test's time limit ends what never comes."""
    while len(found := sampler.samples()) < samples or len({one.thread for one in found}) < threads:
        time.sleep(0.01)


def test_threads_that_start_later_are_sampled_too(busy: subprocess.Popen[str]) -> None:
    sampler = PerfSampler([busy.pid])
    go(busy)
    until_sampled(sampler, 50, threads=3)
    assert {one.process for one in sampler.samples()} == {busy.pid}
    sampler.close()


def test_a_process_may_be_stopped_and_continued_a_hundred_times(busy: subprocess.Popen[str]) -> None:
    sampler = PerfSampler([busy.pid])
    go(busy)
    until_sampled(sampler, 20)
    for _ in range(100):
        os.kill(busy.pid, signal.SIGSTOP)
        os.kill(busy.pid, signal.SIGCONT)
    before = len(sampler.samples())
    until_sampled(sampler, before + 20)
    assert busy.poll() is None
    sampler.close()


def test_a_stopped_process_gives_no_samples(busy: subprocess.Popen[str]) -> None:
    sampler = PerfSampler([busy.pid])
    go(busy)
    until_sampled(sampler, 20)
    os.kill(busy.pid, signal.SIGSTOP)
    os.waitpid(busy.pid, os.WUNTRACED)
    time.sleep(0.05)
    before = len(sampler.samples())
    time.sleep(0.05)
    assert len(sampler.samples()) == before
    sampler.close()


def test_sampling_can_be_paused(busy: subprocess.Popen[str]) -> None:
    sampler = PerfSampler([busy.pid])
    go(busy)
    until_sampled(sampler, 20, threads=3)
    sampler.switch(on=False)
    before = len(sampler.samples())
    time.sleep(0.05)
    assert len(sampler.samples()) == before
    sampler.switch(on=True)
    until_sampled(sampler, before + 20)
    sampler.close()


def test_times_are_on_the_clock_that_calls_are_timed_by(busy: subprocess.Popen[str]) -> None:
    started = time.perf_counter()
    sampler = PerfSampler([busy.pid])
    go(busy)
    until_sampled(sampler, 20)
    ended = time.perf_counter()
    assert all(started <= one.time_ns / 1e9 <= ended for one in sampler.samples()[:20])
    sampler.close()


def test_a_handle_without_a_process_says_why() -> None:
    handle = SamplerHandle.start(None, ())
    assert "process number" in handle.why
    assert handle.samples_between([(0.0, 1e9)]).samples == 0
    handle.switch(on=True)
    handle.close()

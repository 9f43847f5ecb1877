import os
import time

from workers.profilers.perf_counters import PerfProfiler, parse
from workers.profilers.usage import cpu_seconds, pid_of_descriptor


def test_counters_are_read_from_perf_and_missing_ones_left_out() -> None:
    text = "123;;cycles:u;1;100.00;;\n<not supported>;;cache-misses;0;0;;\n456;;instructions;1;100;;\n"
    assert parse(text) == {"cycles": 123.0, "instructions": 456.0}


def test_a_missing_perf_is_explained() -> None:
    works, why = PerfProfiler("no-such-perf").available()
    assert not works
    assert "not installed" in why
    assert PerfProfiler("no-such-perf").metrics(os.getpid(), 0.01) == {}


def test_processor_time_grows_with_work() -> None:
    before = cpu_seconds(os.getpid())
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    after = cpu_seconds(os.getpid())
    assert before is not None
    assert after is not None
    assert after - before > 0.03


def test_an_unknown_process_has_no_time() -> None:
    assert cpu_seconds(2**22 + 12345) is None


def test_a_descriptor_tells_its_process() -> None:
    descriptor = os.pidfd_open(os.getpid())
    try:
        assert pid_of_descriptor(descriptor) == os.getpid()
    finally:
        os.close(descriptor)

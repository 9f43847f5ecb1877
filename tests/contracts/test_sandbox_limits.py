"""What any `Sandbox` must do about processes that loop, hoard, flood, or leave children behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.ports.sandboxes import Sandbox, SandboxLimits
from tests.contracts.sandboxes import LIMITS, SANDBOXES, Bench, bench_of, processes_of

pytestmark = pytest.mark.contracts


@pytest.fixture(scope="module", params=sorted(SANDBOXES))
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    made = SANDBOXES[request.param]()
    yield made
    made.close()


@pytest.fixture
def bench(sandbox: Sandbox) -> Iterator[Bench]:
    yield from bench_of(sandbox)


def test_limits_are_set(bench: Bench) -> None:
    code = "import resource as r; result = [r.getrlimit(n) for n in (r.RLIMIT_CORE, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE)]"
    assert bench.result_of(code) == [[0, 0], [LIMITS.file_bytes] * 2, [1024, 1024]]


def test_a_fork_bomb_is_contained_and_killed(bench: Bench) -> None:
    code = """
import os
channel.send({"result": os.getuid()})
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    inside = bench.run(code, SandboxLimits(wall_s=60, processes=40))
    uid = inside.answer()
    time.sleep(1.0)
    assert isinstance(uid, int)
    if os.geteuid() == 0:
        assert 1 < len(processes_of(uid)) <= 40
    inside.process.kill()
    if uid != os.getuid():
        assert processes_of(uid) == []
    assert bench.result_of("result = 'still working'") == "still working"


FORK_BOMB = """
import os
channel.send({"result": os.getuid()})
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
THREAD_BOMB = """
import os, threading, time
channel.send({"result": os.getuid()})
threading.stack_size(1 << 16)
while True:
    try:
        threading.Thread(target=time.sleep, args=(600,)).start()
    except RuntimeError:
        time.sleep(0.01)
"""
DISK_BOMB = """
import os
channel.send({"result": os.getuid()})
number = 0
while True:
    try:
        with open(f"{os.environ['TMPDIR']}/{number}", "wb") as file:
            file.write(b"x" * (1 << 20))
    except OSError:
        pass
    number += 1
"""
LONG = SandboxLimits(wall_s=120.0, processes=40, memory_bytes=1 << 30, file_bytes=64 << 20)


@pytest.mark.parametrize(("bomb", "cause"), [(FORK_BOMB, "processes"), (THREAD_BOMB, "processes"), (DISK_BOMB, "disk")])
def test_a_bomb_that_stands_at_a_limit_is_killed_for_it_long_before_its_time_is_over(
    bench: Bench, bomb: str, cause: str
) -> None:
    inside = bench.run(bomb, LONG)
    uid = inside.answer()
    status = inside.end(60.0)
    assert (status.exhausted, status.timed_out) == (cause, False)
    assert cause.removesuffix("es") in str(status.exhaustion)
    if uid != os.getuid():
        assert processes_of(uid) == []
    assert bench.result_of("result = 'still working'") == "still working"


def test_who_comes_near_a_limit_for_a_moment_or_stays_below_it_is_left_alone(bench: Bench) -> None:
    code = """
import os, threading, time
def touch(count, seconds):
    threads = [threading.Thread(target=time.sleep, args=(seconds,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
touch(38, 0.5)
touch(20, 5.0)
path = os.environ["TMPDIR"] + "/large"
with open(path, "wb") as file:
    file.write(b"x" * (40 << 20))
time.sleep(4)
result = "done"
"""
    assert bench.run(code, LONG).answer(60.0) == "done"


def test_a_memory_hog_is_stopped_and_reported(bench: Bench) -> None:
    limits = SandboxLimits(wall_s=60, memory_bytes=256 << 20)
    status = bench.run("x = []\nwhile True: x.append(bytearray(1 << 24))", limits).end(60.0)
    assert status.out_of_memory
    assert status.code != 0
    assert not status.timed_out


def test_a_torch_memory_hog_is_stopped_and_reported(bench: Bench) -> None:
    limits = SandboxLimits(wall_s=60, memory_bytes=512 << 20)
    status = bench.run("import torch\nx = []\nwhile True: x.append(torch.ones(1 << 23))", limits).end(60.0)
    assert status.out_of_memory
    assert status.code != 0


def test_a_gigabyte_of_output_is_cut_and_blocks_nothing(bench: Bench) -> None:
    limits = SandboxLimits(wall_s=60, output_bytes=100_000)
    code = "import os\nfor _ in range(1024): os.write(1, b'x' * (1 << 20))\nresult = 'printed'"
    inside = bench.run(code, limits)
    assert inside.answer(60.0) == "printed"
    status = inside.end()
    assert status.output_cut
    assert status.output == "x" * 100_000


def test_output_that_is_no_text_is_kept_readable(bench: Bench) -> None:
    status = bench.run(r"import os; os.write(1, b'\xff\xfe caf\xc3\xa9 \x00')").end()
    assert "café" in status.output
    assert not status.output_cut


def test_an_endless_loop_ends_at_the_wall_limit(bench: Bench) -> None:
    assert bench.run("while True: pass", SandboxLimits(wall_s=1.0)).end(30.0).timed_out


def test_the_cpu_limit_ends_a_process(bench: Bench) -> None:
    status = bench.run("while True: pass", SandboxLimits(wall_s=60.0, cpu_s=1.0)).end(40.0)
    assert status.signal in {signal.SIGXCPU, signal.SIGKILL}
    assert not status.timed_out


DAEMON = """
import os, time
channel.send({"result": os.getuid()})
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        open(os.environ["TMPDIR"] + "/alive", "w").close()
        time.sleep(600)
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize("ending", ["kill", "exit", "timeout"])
def test_a_daemonised_grandchild_dies_with_its_sandbox(bench: Bench, ending: str) -> None:
    code = DAEMON + {"kill": "time.sleep(600)", "exit": "os._exit(5)", "timeout": "time.sleep(600)"}[ending]
    before = set(processes_of(os.getuid()))
    inside = bench.run(code, SandboxLimits(wall_s=2.0 if ending == "timeout" else 60.0))
    uid = inside.answer()
    if ending == "kill":
        time.sleep(0.5)
        inside.process.kill()
    status = inside.end(30.0)
    assert status.timed_out is (ending == "timeout")
    assert (status.code == 5) is (ending == "exit")
    if isinstance(uid, int) and uid != os.getuid() and os.geteuid() == 0:
        assert processes_of(uid) == []
    else:
        left = set(processes_of(os.getuid())) - before
        assert not [pid for pid in left if b"\0/alive" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_killing_twice_is_harmless_and_waiting_again_says_the_same(bench: Bench) -> None:
    inside = bench.run("import time; time.sleep(600)")
    inside.process.kill()
    inside.process.kill()
    assert inside.end() == inside.end()
    assert inside.end().signal == signal.SIGKILL


def test_waiting_for_a_running_process_gives_none(bench: Bench) -> None:
    inside = bench.run("import time; time.sleep(600)")
    assert inside.process.wait(0.05) is None

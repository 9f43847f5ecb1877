"""The program as its users start it: real processes with a home of their own."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import kernelwright_rt
from services.domain.devices import DeviceSheet
from services.domain.errors import StorageError
from workers.devices.sheets import (
    instruction_set,
    processor_model,
    sheet_path,
    usable_cores,
    version_of,
    write_sheet,
)

COMMAND_LIMIT_S = 200
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "problems"
CANDIDATES = ROOT / "tests" / "integrity"

SMALL = """import torch


class Model(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return torch.nn.functional.silu(x) * self.scale


def get_inputs():
    return [torch.randn(128, 512)]


def get_init_inputs():
    return [0.75]
"""
"""A problem that a worker knows everything about within seconds."""


WELL = ("solved", "no_gain")
"""How a job with a right kernel ends; how fast it is depends on who else uses this machine."""


def check_export(exported: str, source: str) -> None:
    """An exported kernel is the candidate's own text, unchanged, and a class around its `ModelNew`."""
    own = source.rstrip("\n")
    assert own
    assert exported.startswith(own)
    added = [node for node in ast.parse(exported[len(own) :]).body if isinstance(node, ast.ClassDef)]
    assert [ast.unparse(base) for base in added[-1].bases] == [added[-1].name] == ["ModelNew"]


def environment(home: Path, **more: str) -> dict[str, str]:
    """This process's environment without settings of Kernelwright or of model providers, and with a home.

    Jobs begin without the compiler's code, whose making has tests of its own."""
    secret = re.compile(r"KERNELWRIGHT_|OPENAI_|ANTHROPIC_")
    kept = {name: value for name, value in os.environ.items() if not secret.match(name)}
    return {**kept, "KERNELWRIGHT_HOME": str(home), "KERNELWRIGHT_COMPILER_DRAFT": "false", **more}


def give_a_sheet(home: Path) -> None:
    """Put a device sheet into a home, so that not every program measures the machine before its first evaluation.

    Its figures are out of any kernel's reach: what another process does beside this one raises no suspicion. What
    measuring gives is asked in `tests/integration/test_devices.py`, and a whole run with it in `test_run.py`."""
    if shutil.which("g++") is None:
        return
    toolchain = f"{kernelwright_rt.toolchain()}; torch {version_of('torch')}"
    sheet = DeviceSheet(
        name="cpu",
        model=processor_model(),
        units=usable_cores(),
        copy_bandwidth_gb_s=200.0,
        cache_bandwidth_gb_s=2000.0,
        cache_bytes=32 << 20,
        peak_gflop_s=2000.0,
        launch_us=1.0,
        instruction_set=instruction_set(),
        toolchain=toolchain,
    )
    with contextlib.suppress(StorageError):
        write_sheet(sheet_path(home, toolchain), sheet)


def run(*arguments: str | Path, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """One command to its end."""
    return run_within(COMMAND_LIMIT_S, *arguments, home=home, measured=False, **more)


def run_within(
    limit_s: float, *arguments: str | Path, home: Path, measured: bool = False, **more: str
) -> subprocess.CompletedProcess[str]:
    """One command to its end, which may take so many seconds; it measures the device itself where `measured`."""
    if not measured:
        give_a_sheet(home)
    return subprocess.run(
        [sys.executable, "-m", "kernelwright", *map(str, arguments)],
        cwd=ROOT,
        env=environment(home, **more),
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )


class Program:
    """A command that is running, of the checkout at `root`; its standard error is read as it comes. It measures the
    device where `measured`."""

    def __init__(
        self, *arguments: str | Path, home: Path, measured: bool = False, root: Path = ROOT, **more: str
    ) -> None:
        if not measured:
            give_a_sheet(home)
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kernelwright", *map(str, arguments)],
            cwd=root,
            env=environment(home, **more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, pattern: str, timeout_s: float = 120) -> re.Match[str]:
        """The first line that a pattern is found in; the program's whole output where it does not come."""
        deadline = time.monotonic() + timeout_s
        while True:
            ended = self.process.poll() is not None and not self._reader.is_alive()
            for line in list(self.lines):
                if found := re.search(pattern, line):
                    return found
            if ended or time.monotonic() > deadline:
                raise AssertionError(f"no line like {pattern!r} in:\n" + "".join(self.lines))
            time.sleep(0.02)

    def stop(self, number: signal.Signals, timeout_s: float = 120) -> int:
        """Send a signal to the program alone and wait for its end; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout_s)

    def close(self) -> None:
        """Kill it, if it still runs."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self._reader.join(10)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)


@contextmanager
def running(*arguments: str | Path, home: Path, **more: str) -> Iterator[Program]:
    """A program for the time of a test."""
    program = Program(*arguments, home=home, measured=False, root=ROOT, **more)
    try:
        yield program
    finally:
        program.close()


def descendants(pid: int) -> list[int]:
    """Processes below one, sandboxes of other users included."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

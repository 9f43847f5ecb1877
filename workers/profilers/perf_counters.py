"""Hardware counters of CPUs by `perf stat`, where the kernel permits it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from workers.profilers.usage import tree

EVENTS = ("cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses")
PARANOIA = Path("/proc/sys/kernel/perf_event_paranoid")
TRIAL_S = 10.0


class PerfProfiler:
    """Counters of a process over some time, by `perf stat -p`."""

    def __init__(self, program: str = "perf") -> None:
        self._program = program
        self._answer: tuple[bool, str] | None = None

    def available(self) -> tuple[bool, str]:
        """Whether this machine counts for us; tried once with a process that does nothing."""
        if self._answer is None:
            self._answer = self._try()
        return self._answer

    def metrics(self, pid: int, seconds: float) -> dict[str, float]:
        """Counters of `pid` and everything below it; empty where they are not permitted or the process ended."""
        if not self.available()[0]:
            return {}
        processes = ",".join(str(process) for process in tree(pid))
        return self._count(["-p", processes, "--", "sleep", f"{seconds:.3f}"], seconds + TRIAL_S)

    def _try(self) -> tuple[bool, str]:
        if shutil.which(self._program) is None:
            return False, f"`{self._program}` is not installed"
        if self._count(["--", "true"], TRIAL_S).get("cycles", 0.0) > 0:
            return True, ""
        return False, f"the kernel or hypervisor permits no hardware counters here (perf_event_paranoid {paranoia()})"

    def _count(self, target: list[str], limit_s: float) -> dict[str, float]:
        command = [self._program, "stat", "-x", ";", "-e", ",".join(EVENTS), *target]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return {}
        return parse(done.stderr)


def parse(text: str) -> dict[str, float]:
    """Counters in `perf stat -x ;` output; those not counted are left out."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        fields = line.split(";")
        if len(fields) < 3:
            continue
        name = fields[2].split(":")[0]
        try:
            found[name] = float(fields[0])
        except ValueError:
            continue
    return found


def paranoia() -> str:
    """The kernel's setting of who may count; `unknown` where it does not say."""
    try:
        return PARANOIA.read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"

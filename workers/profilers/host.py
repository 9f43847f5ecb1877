"""What the host did while figures were taken: they mean less on a busy machine, and a report says how busy it was."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass
from pathlib import Path

STEAL, IDLE, WAITING = 7, 3, 4
"""Places in the first line of /proc/stat."""


@dataclass(frozen=True, kw_only=True)
class HostClock:
    """Clock ticks of all cores so far."""

    ticks: tuple[int, ...]

    @classmethod
    def now(cls) -> HostClock:
        """Empty where the kernel does not say."""
        try:
            fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
        except (OSError, IndexError):
            fields = []
        return cls(ticks=tuple(map(int, fields)))

    def since(self) -> dict[str, float]:
        """`load_1m` (processes that want a core), `busy_share` and `steal_share` of all cores' time since then (steal
        is what the hypervisor gave to others), `mhz`; what cannot be read is left out."""
        found = {"load_1m": os.getloadavg()[0]}
        passed = [after - before for before, after in zip(self.ticks, HostClock.now().ticks, strict=False)]
        total = sum(passed)
        if len(passed) > STEAL and total > 0:
            found["busy_share"] = 1.0 - (passed[IDLE] + passed[WAITING]) / total
            found["steal_share"] = passed[STEAL] / total
        clocks = _clocks_mhz()
        if clocks:
            found["mhz"] = statistics.fmean(clocks)
        return {name: round(value, 4) for name, value in found.items()}


def _clocks_mhz() -> list[float]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
